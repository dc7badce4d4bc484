//! Windows Server releases with their builds and image tags.

use std::fmt;
use std::str::FromStr;

/// How long Microsoft supports a release.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServicingChannel {
    /// Ten years.
    LongTerm,
    /// 18 months; none of them is supported any more.
    SemiAnnual,
    /// Two years.
    Annual,
}

impl fmt::Display for ServicingChannel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::LongTerm => "long-term",
            Self::SemiAnnual => "semi-annual",
            Self::Annual => "annual",
        })
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WindowsRelease {
    pub name: &'static str,
    pub build: u32,
    pub channel: ServicingChannel,
    /// Tag of `mcr.microsoft.com/windows/nanoserver`.
    pub nanoserver: Option<&'static str>,
    /// Tag of `mcr.microsoft.com/windows/servercore`.
    pub servercore: Option<&'static str>,
    /// Before Server 2019 only Docker and the HNS v1 API are supported.
    pub containerd: bool,
    /// Whether kube-proxy can use direct server return on an overlay without checking for
    /// updates first.
    pub direct_server_return: bool,
    /// Tag of the nanoserver image from which a host builds its pause image, for releases
    /// without a published one.
    pub pause_base: Option<&'static str>,
    pub source: &'static str,
}

impl WindowsRelease {
    /// The value of the Node label `node.kubernetes.io/windows-build`.
    pub fn node_label(&self) -> String {
        format!("10.0.{}", self.build)
    }
}

const BUILDS: &str = "microsoft/hcsshim:osversion/windowsbuilds.go";
const GUIDE: &str = "kubernetes/website:concepts/windows/user-guide.md";
const DOCKER_ONLY: &str =
    "microsoft/hcsshim:osversion/windowsbuilds.go; kubernetes/kubernetes#69823";

pub const WINDOWS: &[WindowsRelease] = &[
    WindowsRelease {
        // nanoserver (`sac2016`) is out of support and not listed.
        servercore: Some("ltsc2016"),
        pause_base: Some("sac2016"),
        ..early("Server 2016", 14393, ServicingChannel::LongTerm)
    },
    WindowsRelease {
        nanoserver: Some("1709"),
        servercore: Some("1709"),
        pause_base: Some("1709"),
        ..early("Server 1709", 16299, ServicingChannel::SemiAnnual)
    },
    WindowsRelease {
        nanoserver: Some("1803"),
        servercore: Some("1803"),
        pause_base: Some("1803"),
        ..early("Server 1803", 17134, ServicingChannel::SemiAnnual)
    },
    // nanoserver has no `ltsc2019` tag.
    long_term("Server 2019", 17763, "1809", "ltsc2019"),
    semi_annual("Server 1903", 18362, "1903"),
    semi_annual("Server 1909", 18363, "1909"),
    semi_annual("Server 2004", 19041, "2004"),
    semi_annual("Server 20H2", 19042, "20H2"),
    WindowsRelease {
        direct_server_return: true,
        ..long_term("Server 2022", 20348, "ltsc2022", "ltsc2022")
    },
    WindowsRelease {
        containerd: true,
        source: BUILDS,
        ..early("Server 23H2", 25398, ServicingChannel::Annual)
    },
    WindowsRelease {
        direct_server_return: true,
        ..long_term("Server 2025", 26100, "ltsc2025", "ltsc2025")
    },
];

const fn early(name: &'static str, build: u32, channel: ServicingChannel) -> WindowsRelease {
    WindowsRelease {
        name,
        build,
        channel,
        nanoserver: None,
        servercore: None,
        containerd: false,
        direct_server_return: false,
        pause_base: None,
        source: DOCKER_ONLY,
    }
}

const fn semi_annual(name: &'static str, build: u32, tag: &'static str) -> WindowsRelease {
    WindowsRelease {
        nanoserver: Some(tag),
        servercore: Some(tag),
        containerd: true,
        source: BUILDS,
        ..early(name, build, ServicingChannel::SemiAnnual)
    }
}

const fn long_term(
    name: &'static str,
    build: u32,
    nanoserver: &'static str,
    servercore: &'static str,
) -> WindowsRelease {
    WindowsRelease {
        nanoserver: Some(nanoserver),
        servercore: Some(servercore),
        containerd: true,
        source: GUIDE,
        ..early(name, build, ServicingChannel::LongTerm)
    }
}

pub fn windows_of_build(build: u32) -> Option<&'static WindowsRelease> {
    WINDOWS.iter().find(|release| release.build == build)
}

/// Accepts a year or version: `2022`, `1809`, `20H2`.
pub fn windows_of_year(year: &str) -> Option<&'static WindowsRelease> {
    let named = |release: &&WindowsRelease| {
        release.name.strip_prefix("Server ") == Some(year) || release.nanoserver == Some(year)
    };
    WINDOWS.iter().find(named)
}

/// Accepts the `os` of a host: `windows-2022`.
pub fn windows_of_os(os: &str) -> Option<&'static WindowsRelease> {
    windows_of_year(os.strip_prefix("windows-")?)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Build {
    pub number: u32,
    /// Incremented by updates, such as 2762.
    pub revision: Option<u32>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a valid Windows build (examples: 20348, 20348.2762, 10.0.20348.2762)")]
pub struct InvalidBuild(pub String);

impl FromStr for Build {
    type Err = InvalidBuild;

    fn from_str(text: &str) -> Result<Self, InvalidBuild> {
        let wrong = || InvalidBuild(text.to_owned());
        let numbers = text.strip_prefix("10.0.").unwrap_or(text);
        let (number, revision) = match numbers.split_once('.') {
            Some((number, revision)) => (number, Some(revision)),
            None => (numbers, None),
        };
        let revision = revision.map(|text| text.parse().map_err(|_| wrong()));
        Ok(Self {
            number: number.parse().map_err(|_| wrong())?,
            revision: revision.transpose()?,
        })
    }
}

impl fmt::Display for Build {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.revision {
            Some(revision) => write!(f, "{}.{revision}", self.number),
            None => write!(f, "{}", self.number),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nanoserver_of_2019_is_1809_and_servercore_ltsc2019() {
        let release = windows_of_year("2019").unwrap();
        assert_eq!(release.nanoserver, Some("1809"));
        assert_eq!(release.servercore, Some("ltsc2019"));
        assert_eq!(release.node_label(), "10.0.17763");
        assert_eq!(windows_of_year("1809"), Some(release));
        assert_eq!(windows_of_build(17763), Some(release));
    }

    #[test]
    fn containerd_requires_2019() {
        for release in WINDOWS {
            assert_eq!(release.containerd, release.build >= 17763, "{release:?}");
        }
    }

    #[test]
    fn builds_ascend_and_names_differ() {
        let pairs = WINDOWS.iter().zip(WINDOWS.iter().skip(1));
        for (one, next) in pairs {
            assert!(one.build < next.build, "{} and {}", one.name, next.name);
        }
    }

    #[test]
    fn parses_every_form_of_a_build() {
        let full: Build = "10.0.20348.2762".parse().unwrap();
        assert_eq!(full.to_string(), "20348.2762");
        assert_eq!("20348.2762".parse(), Ok(full));
        let bare: Build = "26100".parse().unwrap();
        assert_eq!(bare.revision, None);
        for wrong in ["", "10.0.", "20348.", "20348.1.2", "ltsc2022"] {
            assert_eq!(wrong.parse::<Build>(), Err(InvalidBuild(wrong.to_owned())));
        }
    }
}
