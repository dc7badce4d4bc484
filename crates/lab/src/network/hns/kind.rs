//! Network types and HNS versions.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum NetworkKind {
    Nat,
    Ics,
    Internal,
    Transparent,
    L2Bridge,
    L2Tunnel,
    Private,
    Overlay,
}

impl NetworkKind {
    const ALL: [(Self, &'static str); 8] = [
        (Self::Nat, "NAT"),
        (Self::Ics, "ICS"),
        (Self::Internal, "Internal"),
        (Self::Transparent, "Transparent"),
        (Self::L2Bridge, "L2Bridge"),
        (Self::L2Tunnel, "L2Tunnel"),
        (Self::Private, "Private"),
        (Self::Overlay, "Overlay"),
    ];

    /// Case-insensitive.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL
            .iter()
            .find(|(_, known)| known.eq_ignore_ascii_case(name))
            .map(|(kind, _)| *kind)
    }

    /// The spelling that flannel and the CNI plugins compare with.
    pub fn name(self) -> &'static str {
        Self::ALL
            .iter()
            .find(|(kind, _)| *kind == self)
            .map_or("", |(_, name)| name)
    }

    /// Whether the network moves the host's NIC into a virtual switch.
    pub fn is_external(self) -> bool {
        matches!(
            self,
            Self::Transparent | Self::L2Bridge | Self::L2Tunnel | Self::Overlay
        )
    }

    /// Whether HNS chooses a subnet if the caller specifies none.
    pub fn picks_subnet(self) -> bool {
        matches!(self, Self::Nat | Self::Ics | Self::Internal)
    }
}

/// Callers derive the supported features from the version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct HnsVersion {
    pub major: u32,
    pub minor: u32,
}

impl HnsVersion {
    /// Windows Server 2019 since July 2020.
    pub const WS2019: Self = Self::new(9, 3);
    /// Windows Server 2022 in 2024.
    pub const WS2022: Self = Self::new(13, 3);
    /// Windows Server 2025 at release.
    pub const WS2025: Self = Self::new(15, 4);

    pub const fn new(major: u32, minor: u32) -> Self {
        Self { major, minor }
    }

    /// The version in a Windows build, for example 20348.
    pub fn of_build(build: u32) -> Self {
        match build {
            ..=17763 => Self::WS2019,
            17764..=20348 => Self::WS2022,
            _ => Self::WS2025,
        }
    }

    /// Policy types that all supported Windows Server releases have are not listed.
    pub fn supports_policy(self, kind: &str) -> bool {
        let since = match kind.to_ascii_lowercase().as_str() {
            "vxlanport" => Self::new(10, 3),
            "setpolicy" => Self::new(13, 0),
            "l4wfpproxy" => Self::new(13, 2),
            "tieracl" => Self::new(14, 0),
            "networkacl" => Self::new(15, 0),
            _ => return true,
        };
        self >= since
    }

    /// The 64-bit number in v1 documents.
    pub fn packed(self) -> u64 {
        u64::from(self.major) << 32 | u64::from(self.minor)
    }
}
