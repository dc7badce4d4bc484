//! Which images a Windows host runs in process isolation.
//!
//! Hyper-V isolation runs older images too; upstream Kubernetes does not test it,
//! and it is not in this table.

use crate::windows::WINDOWS;

/// The images that hosts from one build on accept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageRule {
    /// The first host build of the rule; it holds up to the next rule's.
    pub host_from: u32,
    /// The oldest image build; none where it must equal the host's.
    pub oldest_image: Option<u32>,
    /// Where it says so.
    pub source: &'static str,
}

/// The rules, oldest first.
pub const IMAGE_RULES: &[ImageRule] = &[
    ImageRule {
        host_from: 0,
        oldest_image: None,
        source: "microsoft/hcsshim:osversion/platform_compat_windows.go",
    },
    ImageRule {
        host_from: 20348,
        oldest_image: Some(20348),
        source: "containerd/platforms:platform_windows_compat.go",
    },
    // Not a floor of its own: Server 2025 runs images of Server 2022.
    ImageRule {
        host_from: 26100,
        oldest_image: Some(20348),
        source: "containerd/platforms:platform_windows_compat.go",
    },
];

/// Whether a host runs an image. Revisions do not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImageFit {
    /// It does.
    Runs,
    /// The image is newer than the host.
    TooNew,
    /// The image is older than this build, the oldest that the host runs.
    TooOld {
        /// The host's own build, where it runs no other.
        oldest: u32,
    },
}

/// Whether a host of one build runs an image of another in process isolation.
pub fn image_fit(host: u32, image: u32) -> ImageFit {
    let rule = IMAGE_RULES.iter().rev().find(|rule| rule.host_from <= host);
    let oldest = rule.and_then(|rule| rule.oldest_image).unwrap_or(host);
    match image {
        image if image > host => ImageFit::TooNew,
        image if image < oldest => ImageFit::TooOld { oldest },
        _ => ImageFit::Runs,
    }
}

/// The build that a tag names: `ltsc2022`, `1809`, `8.0-nanoserver-ltsc2022`,
/// `4.8-windowsservercore-ltsc2019`, `v1.36.4-windows-amd64-1809`. None for a tag
/// that can move from one build to another.
pub fn build_of_tag(tag: &str) -> Option<u32> {
    let named = |word: &str| {
        let release = WINDOWS.iter().find(|release| {
            let tags = [release.nanoserver, release.servercore];
            tags.into_iter().flatten().any(|tag| tag == word)
        });
        release.map(|release| release.build)
    };
    // `1.2004` is a version, not Windows Server 2004: only whole words count, and
    // a version number is not a word of its own.
    let word = tag.rsplit('-').find_map(named);
    let version = || {
        let words = tag.rsplit(['-', ':']);
        let mut builds = words.filter_map(|word| word.strip_prefix("10.0."));
        let build = builds.next()?.split('.').next()?.parse().ok()?;
        WINDOWS
            .iter()
            .any(|row| row.build == build)
            .then_some(build)
    };
    word.or_else(version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn server_2025_runs_images_of_2022_and_2022_none_of_2019() {
        assert_eq!(image_fit(26100, 20348), ImageFit::Runs);
        assert_eq!(image_fit(26100, 26100), ImageFit::Runs);
        let too_old = ImageFit::TooOld { oldest: 20348 };
        assert_eq!(image_fit(20348, 17763), too_old);
        assert_eq!(image_fit(26100, 17763), too_old);
        assert_eq!(image_fit(20348, 26100), ImageFit::TooNew);
    }

    #[test]
    fn before_2022_the_builds_are_equal() {
        assert_eq!(image_fit(17763, 17763), ImageFit::Runs);
        assert_eq!(image_fit(17763, 17134), ImageFit::TooOld { oldest: 17763 });
        assert_eq!(image_fit(17763, 20348), ImageFit::TooNew);
    }

    #[test]
    fn a_tag_names_a_build_only_as_a_whole_word() {
        let builds = [
            ("ltsc2022", Some(20348)),
            ("1809", Some(17763)),
            ("8.0-nanoserver-ltsc2025", Some(26100)),
            ("4.8-windowsservercore-ltsc2019", Some(17763)),
            ("v1.36.4-windows-amd64-1809", Some(17763)),
            ("10.0.20348.2762", Some(20348)),
            ("10.0.17763.1-amd64", Some(17763)),
            ("4.8", None),
            ("1.2004", None),
            ("10.0.1", None),
            ("latest", None),
        ];
        for (tag, build) in builds {
            assert_eq!(build_of_tag(tag), build, "{tag}");
        }
    }
}
