//! The pause image of each Kubernetes release.

use crate::minor::{Minor, Minors};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pause {
    /// The Kubernetes releases whose kubeadm uses this tag.
    pub minors: Minors,
    pub tag: &'static str,
    pub builds: &'static [u32],
    pub source: &'static str,
}

pub const PAUSES: &[Pause] = &[
    row(
        Minors::new(21, 21),
        "3.4.1",
        &[17763, 18362, 18363, 19041, 19042],
    ),
    row(
        Minors::new(22, 22),
        "3.5",
        &[17763, 18362, 18363, 19041, 19042],
    ),
    row(
        Minors::new(23, 23),
        "3.6",
        &[17763, 18362, 18363, 19041, 19042, 20348],
    ),
    row(Minors::new(24, 24), "3.7", &[17763, 19042, 20348]),
    row(Minors::new(25, 25), "3.8", &[17763, 19042, 20348]),
    row(Minors::new(26, 30), "3.9", &[17763, 20348]),
    row(Minors::new(31, 33), "3.10", &[17763, 20348]),
    row(Minors::new(34, 35), "3.10.1", &[17763, 20348]),
    row(Minors::since(36), "3.10.2", &[17763, 20348, 26100]),
];

const fn row(minors: Minors, tag: &'static str, builds: &'static [u32]) -> Pause {
    Pause {
        minors,
        tag,
        builds,
        source: "kubernetes/kubernetes:cmd/kubeadm/app/constants/constants.go, build/pause/CHANGELOG.md",
    }
}

pub fn pause(minor: Minor) -> Option<&'static Pause> {
    PAUSES.iter().find(|pause| pause.minors.contains(minor))
}

pub fn pause_of_tag(tag: &str) -> Option<&'static Pause> {
    PAUSES.iter().find(|pause| pause.tag == tag)
}

/// The oldest pause image for a Windows build that is not older than the one of the
/// release.
pub fn pause_with_build(minor: Minor, build: u32) -> Option<&'static Pause> {
    let mut newer = PAUSES
        .iter()
        .filter(|pause| pause.minors.to.is_none_or(|to| to >= minor));
    newer.find(|pause| pause.builds.contains(&build))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_3_10_2_supports_server_2025() {
        let with: Vec<_> = PAUSES
            .iter()
            .filter(|pause| pause.builds.contains(&26100))
            .map(|pause| pause.tag)
            .collect();
        assert_eq!(with, ["3.10.2"]);
        let tag = |minor, build| pause_with_build(Minor::new(minor), build).map(|pause| pause.tag);
        assert_eq!(tag(34, 26100), Some("3.10.2"));
        assert_eq!(tag(34, 20348), Some("3.10.1"));
        assert_eq!(tag(34, 19042), None);
        assert_eq!(tag(22, 20348), Some("3.6"));
    }

    #[test]
    fn tags_match_kubeadm() {
        let tag = |minor| pause(Minor::new(minor)).map(|pause| pause.tag);
        assert_eq!(tag(21), Some("3.4.1"));
        assert_eq!(tag(30), Some("3.9"));
        assert_eq!(tag(31), Some("3.10"));
        assert_eq!(tag(35), Some("3.10.1"));
        assert_eq!(tag(36), Some("3.10.2"));
        assert_eq!(tag(20), None);
        assert_eq!(
            pause_of_tag("3.9").map(|pause| pause.minors.from),
            Some(Minor::new(26))
        );
    }
}
