//! Which Windows Server releases each Kubernetes release supports.

use crate::minor::{Minor, Minors};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SupportRow {
    pub minors: Minors,
    pub builds: &'static [u32],
    pub note: &'static str,
    pub source: &'static str,
}

const INTRODUCTION: &str = "kubernetes/website:concepts/windows/intro.md of each release branch";

pub const SUPPORT: &[SupportRow] = &[
    row(
        Minors::new(9, 13),
        &[14393, 16299, 17134],
        "beta; Docker only",
    ),
    row(
        Minors::new(14, 17),
        &[17763],
        "Windows nodes are stable; Docker only",
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
    row(Minors::new(24, 34), &[17763, 20348], "dockershim removed"),
    row(
        Minors::since(35),
        &[20348, 26100],
        "Server 2019 no longer documented",
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

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WindowsSupport {
    Supported,
    Until(Minor),
    Since(Minor),
    Never,
}

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
