//! Which releases of Windows Server a Kubernetes release supports as nodes.

use crate::minor::{Minor, Minors};

/// The Windows builds that a span of Kubernetes releases supports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SupportRow {
    /// The Kubernetes releases.
    pub minors: Minors,
    /// The builds.
    pub builds: &'static [u32],
    /// What else is to be known.
    pub note: &'static str,
    /// Where it says so.
    pub source: &'static str,
}

const INTRODUCTION: &str = "kubernetes/website:concepts/windows/intro.md of each release branch";

/// All spans, oldest first.
pub const SUPPORT: &[SupportRow] = &[
    row(
        Minors::new(9, 13),
        &[14393, 16299, 17134],
        "beta; Docker only",
    ),
    row(
        Minors::new(14, 17),
        &[17763],
        "Windows nodes become stable; Docker only",
    ),
    row(
        Minors::new(18, 18),
        &[17763, 18362, 18363],
        "containerd is alpha",
    ),
    row(
        Minors::new(19, 20),
        &[17763, 18363, 19041],
        "1.20: containerd is stable",
    ),
    row(Minors::new(21, 22), &[17763, 19041, 19042], ""),
    row(Minors::new(23, 23), &[17763, 19042, 20348], ""),
    row(Minors::new(24, 34), &[17763, 20348], "dockershim is gone"),
    row(
        Minors::since(35),
        &[20348, 26100],
        "Server 2019 left the documents",
    ),
];

const fn row(minors: Minors, builds: &'static [u32], note: &'static str) -> SupportRow {
    SupportRow {
        minors,
        builds,
        note,
        source: INTRODUCTION,
    }
}

/// Whether a Kubernetes release supports a Windows build.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WindowsSupport {
    /// It does.
    Supported,
    /// Kubernetes did so up to this release.
    Until(Minor),
    /// Kubernetes does so from this release on.
    Since(Minor),
    /// No release does.
    Never,
}

/// Whether a Kubernetes release supports a Windows build as a node.
pub fn windows_support(minor: Minor, build: u32) -> WindowsSupport {
    let with = || SUPPORT.iter().filter(|row| row.builds.contains(&build));
    if with().any(|row| row.minors.contains(minor)) {
        return WindowsSupport::Supported;
    }
    let later = with().map(|row| row.minors.from).find(|from| *from > minor);
    let earlier = with().filter_map(|row| row.minors.to).max();
    match (later, earlier) {
        (Some(since), _) => WindowsSupport::Since(since),
        (None, Some(until)) => WindowsSupport::Until(until),
        (None, None) => WindowsSupport::Never,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use WindowsSupport::{Never, Since, Supported, Until};

    #[test]
    fn server_2019_ends_with_1_34_and_2025_begins_with_1_35() {
        let is = |minor, build| windows_support(Minor::new(minor), build);
        assert_eq!(is(34, 17763), Supported);
        assert_eq!(is(35, 17763), Until(Minor::new(34)));
        assert_eq!(is(34, 26100), Since(Minor::new(35)));
        assert_eq!(is(36, 26100), Supported);
        assert_eq!(is(22, 20348), Since(Minor::new(23)));
        assert_eq!(is(36, 14393), Until(Minor::new(13)));
        assert_eq!(is(36, 25398), Never);
    }
}
