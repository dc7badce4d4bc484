//! Which images a Windows host can run with process isolation.
//!
//! Hyper-V isolation can also run older images, but upstream Kubernetes does not
//! test it; it is not covered here.

use crate::windows::WINDOWS;

/// The images that hosts from a certain build on accept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageRule {
    /// Valid up to the `host_from` of the next rule.
    pub host_from: u32,
    /// `None`: the image build must equal the host build.
    pub oldest_image: Option<u32>,
    pub source: &'static str,
}

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
    // Server 2025 also runs images of Server 2022.
    ImageRule {
        host_from: 26100,
        oldest_image: Some(20348),
        source: "containerd/platforms:platform_windows_compat.go",
    },
];

/// Revisions are ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImageFit {
    Runs,
    TooNew,
    TooOld {
        /// The host build if it must be equal.
        oldest: u32,
    },
}

/// Process isolation only.
pub fn image_fit(host: u32, image: u32) -> ImageFit {
    let rule = IMAGE_RULES.iter().rev().find(|rule| rule.host_from <= host);
    let oldest = rule.and_then(|rule| rule.oldest_image).unwrap_or(host);
    match image {
        image if image > host => ImageFit::TooNew,
        image if image < oldest => ImageFit::TooOld { oldest },
        _ => ImageFit::Runs,
    }
}

/// The build in a tag: `ltsc2022`, `1809`, `8.0-nanoserver-ltsc2022`,
/// `4.8-windowsservercore-ltsc2019`, `v1.36.4-windows-amd64-1809`. `None` for a tag
/// that can move between builds.
pub fn build_of_tag(tag: &str) -> Option<u32> {
    let named = |word: &str| {
        let release = WINDOWS.iter().find(|release| {
            let tags = [release.nanoserver, release.servercore];
            tags.into_iter().flatten().any(|tag| tag == word)
        });
        release.map(|release| release.build)
    };
    // Only whole words count: `1.2004` is a version, not Windows Server 2004.
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
    fn before_2022_builds_must_be_equal() {
        assert_eq!(image_fit(17763, 17763), ImageFit::Runs);
        assert_eq!(image_fit(17763, 17134), ImageFit::TooOld { oldest: 17763 });
        assert_eq!(image_fit(17763, 20348), ImageFit::TooNew);
    }

    #[test]
    fn tag_names_a_build_only_as_a_whole_word() {
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
