//! containerd release series, and which of them each Kubernetes release supports.

use semver::Version;

use crate::minor::{Minor, Minors};
use crate::release::Release;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Series {
    pub series: (u64, u64),
    /// The native `version` of `config.toml`; older versions are accepted too.
    pub config_version: u8,
    /// Whether CNI directories are a list (`bin_dirs`).
    pub bin_dirs: bool,
    /// The default pause image.
    pub sandbox: &'static str,
    pub maintained: &'static str,
    pub source: &'static str,
}

pub const CONTAINERD_SERIES: &[Series] = &[
    series((1, 6), 2, "3.6", "ended 2025-08-23"),
    series((1, 7), 2, "3.8", "ended 2026-09"),
    series((2, 0), 3, "3.10", "2027-03"),
    series((2, 1), 3, "3.10", "ended 2026-07-03"),
    series((2, 2), 3, "3.10.1", "ended 2026-11-06"),
    series((2, 3), 4, "3.10.2", "2028-04-30"),
    series((2, 4), 4, "3.10.2", "2027-05-16"),
];

const fn series(
    series: (u64, u64),
    config_version: u8,
    sandbox: &'static str,
    maintained: &'static str,
) -> Series {
    Series {
        series,
        config_version,
        bin_dirs: series.0 > 2 || series.0 == 2 && series.1 >= 1,
        sandbox,
        maintained,
        source: "containerd/containerd:RELEASES.md, version/version.go, internal/cri/config/config.go at the tags of the series",
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContainerdFor {
    pub minors: Minors,
    /// The oldest recommended release of each series, newest series first.
    pub minima: &'static [Release],
    /// The first release without a common CRI version.
    pub below: Option<Release>,
    /// The default of casement.
    pub take: Release,
    pub source: &'static str,
}

const OLD_TABLE: &str = "containerd/containerd:RELEASES.md at v1.7.35";
const MIDDLE_TABLE: &str = "containerd/containerd:RELEASES.md at v2.0.0";
const NEW_TABLE: &str = "containerd/containerd:RELEASES.md at v2.4.2";

/// The current long-term series, whose hashes are in the catalog.
const LONG_TERM: Release = Release::new(2, 3, 4);
/// The last series with CRI v1alpha2, and the last in the old tables.
const LAST_1_X: Release = Release::new(1, 7, 35);

pub const CONTAINERD_FOR: &[ContainerdFor] = &[
    ContainerdFor {
        minors: Minors::new(21, 22),
        minima: &[v(1, 7, 0), v(1, 6, 0), v(1, 5, 0)],
        // These kubelets only support CRI v1alpha2, which containerd 2 removed.
        below: Some(v(2, 0, 0)),
        take: LAST_1_X,
        source: OLD_TABLE,
    },
    ContainerdFor {
        minors: Minors::new(23, 23),
        minima: &[v(1, 7, 0), v(1, 6, 0), v(1, 5, 0)],
        below: None,
        take: LAST_1_X,
        source: OLD_TABLE,
    },
    ContainerdFor {
        minors: Minors::new(24, 25),
        minima: &[v(1, 7, 0), v(1, 6, 4)],
        below: None,
        take: LAST_1_X,
        source: OLD_TABLE,
    },
    ContainerdFor {
        minors: Minors::new(26, 28),
        minima: &[v(1, 7, 0), v(1, 6, 15)],
        below: None,
        take: LAST_1_X,
        source: OLD_TABLE,
    },
    ContainerdFor {
        minors: Minors::new(29, 29),
        minima: &[v(1, 7, 11), v(1, 6, 27)],
        below: None,
        take: LAST_1_X,
        source: MIDDLE_TABLE,
    },
    ContainerdFor {
        source: MIDDLE_TABLE,
        ..recent(30, &[v(2, 0, 0), v(1, 7, 13), v(1, 6, 28)])
    },
    ContainerdFor {
        source: MIDDLE_TABLE,
        ..recent(31, &[v(2, 0, 0), v(1, 7, 20), v(1, 6, 34)])
    },
    recent(32, &[v(2, 1, 0), v(2, 0, 1), v(1, 7, 24), v(1, 6, 36)]),
    recent(33, &[v(2, 1, 0), v(2, 0, 4), v(1, 7, 24), v(1, 6, 36)]),
    recent(34, &[v(2, 1, 3), v(2, 0, 6), v(1, 7, 28), v(1, 6, 39)]),
    recent(35, &[v(2, 2, 0), v(2, 1, 5), v(1, 7, 28)]),
    recent(36, &[v(2, 3, 0), v(2, 2, 0)]),
];

const fn v(major: u64, minor: u64, patch: u64) -> Release {
    Release::new(major, minor, patch)
}

const fn recent(minor: u16, minima: &'static [Release]) -> ContainerdFor {
    ContainerdFor {
        minors: Minors::new(minor, minor),
        minima,
        below: None,
        take: LONG_TERM,
        source: NEW_TABLE,
    }
}

/// Newer versions belong to the newest known series.
pub fn containerd_series(version: &Version) -> Option<&'static Series> {
    let series = (version.major, version.minor);
    let all = CONTAINERD_SERIES.iter().rev();
    let oldest = CONTAINERD_SERIES.first()?;
    (series >= oldest.series)
        .then(|| all.into_iter().find(|known| known.series <= series))
        .flatten()
}

pub fn containerd_for(minor: Minor) -> Option<&'static ContainerdFor> {
    CONTAINERD_FOR.iter().find(|row| row.minors.contains(minor))
}

pub fn recommended_containerd(minor: Minor) -> Option<Release> {
    containerd_for(minor).map(|row| row.take)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContainerdFit {
    Recommended,
    /// Older than this minimum of its series, or of all series.
    TooOld(Release),
    /// No common CRI version from this release on.
    TooNew(Release),
    /// Not a recommended series, although older and newer ones are.
    Unlisted,
    /// The tables do not cover the Kubernetes release.
    Unknown,
}

pub fn containerd_fit(minor: Minor, containerd: &Version) -> ContainerdFit {
    let Some(row) = containerd_for(minor) else {
        return ContainerdFit::Unknown;
    };
    let at_least = |release: &Release| *containerd >= release.version();
    if let Some(below) = row.below.filter(at_least) {
        return ContainerdFit::TooNew(below);
    }
    let series = (containerd.major, containerd.minor);
    let minimum = row.minima.iter().find(|minimum| minimum.line() == series);
    match (minimum, row.minima.first(), row.minima.last()) {
        (Some(minimum), ..) if !at_least(minimum) => ContainerdFit::TooOld(*minimum),
        (Some(_), ..) => ContainerdFit::Recommended,
        (None, Some(newest), _) if at_least(newest) => ContainerdFit::Recommended,
        (None, _, Some(oldest)) if !at_least(oldest) => ContainerdFit::TooOld(*oldest),
        _ => ContainerdFit::Unlisted,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ContainerdFit::{Recommended, TooNew, TooOld, Unknown, Unlisted};

    #[test]
    fn kubernetes_1_36_requires_containerd_2() {
        let fit = |minor, version: Release| containerd_fit(Minor::new(minor), &version.version());
        assert_eq!(fit(36, v(1, 7, 35)), TooOld(v(2, 2, 0)));
        assert_eq!(fit(36, v(2, 2, 0)), Recommended);
        assert_eq!(fit(36, v(2, 4, 2)), Recommended);
        assert_eq!(fit(35, v(1, 7, 27)), TooOld(v(1, 7, 28)));
        assert_eq!(fit(35, v(2, 0, 9)), Unlisted);
        assert_eq!(fit(22, v(2, 3, 4)), TooNew(v(2, 0, 0)));
        assert_eq!(fit(20, v(1, 7, 0)), Unknown);
    }

    #[test]
    fn config_version_depends_on_the_series() {
        let version = |release: Release| {
            containerd_series(&release.version()).map(|line| line.config_version)
        };
        assert_eq!(version(v(1, 7, 35)), Some(2));
        assert_eq!(version(v(2, 0, 7)), Some(3));
        assert_eq!(version(v(2, 2, 9)), Some(3));
        assert_eq!(version(v(2, 3, 0)), Some(4));
        assert_eq!(
            version(v(2, 9, 0)),
            Some(4),
            "newer series use the latest version"
        );
        assert_eq!(version(v(1, 5, 0)), None);
        let folders =
            |release: Release| containerd_series(&release.version()).map(|line| line.bin_dirs);
        assert_eq!(folders(v(2, 0, 0)), Some(false));
        assert_eq!(folders(v(2, 1, 0)), Some(true));
    }

    #[test]
    fn default_is_recommended() {
        for minor in Minor::covered() {
            let take = recommended_containerd(minor).unwrap();
            assert_eq!(
                containerd_fit(minor, &take.version()),
                Recommended,
                "{minor}"
            );
        }
    }
}
