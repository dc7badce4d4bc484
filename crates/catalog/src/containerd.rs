//! containerd: its lines of releases, and what each Kubernetes asks of it.

use semver::Version;

use crate::minor::{Minor, Minors};
use crate::release::Release;

/// A line of containerd releases.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Series {
    /// Major and minor number.
    pub series: (u64, u64),
    /// The `version` of its own `config.toml`; older ones are read too.
    pub config_version: u8,
    /// Whether the CNI folders of the configuration are a list (`bin_dirs`).
    pub bin_dirs: bool,
    /// The pause image that it takes when none is configured.
    pub sandbox: &'static str,
    /// Until when its makers mend it.
    pub maintained: &'static str,
    /// Where it says so.
    pub source: &'static str,
}

/// The lines, oldest first.
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
        source: "containerd/containerd:RELEASES.md, version/version.go, internal/cri/config/config.go at the line's tags",
    }
}

/// What Kubernetes releases ask of containerd.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContainerdFor {
    /// The Kubernetes releases.
    pub minors: Minors,
    /// The oldest recommended release of each line, newest line first; lines after
    /// the first are welcome too.
    pub minima: &'static [Release],
    /// The first release with which no API is shared.
    pub below: Option<Release>,
    /// What casement takes when nothing is said.
    pub take: Release,
    /// Where it says so.
    pub source: &'static str,
}

const OLD_TABLE: &str = "containerd/containerd:RELEASES.md at v1.7.35";
const MIDDLE_TABLE: &str = "containerd/containerd:RELEASES.md at v2.0.0";
const NEW_TABLE: &str = "containerd/containerd:RELEASES.md at v2.4.2";

/// The long-term line of today, of which the catalog knows hashes.
const LONG_TERM: Release = Release::new(2, 3, 4);
/// The last line that speaks CRI v1alpha2, and the last that old releases list.
const LAST_ONE: Release = Release::new(1, 7, 35);

/// All of them, oldest first.
pub const CONTAINERD_FOR: &[ContainerdFor] = &[
    ContainerdFor {
        minors: Minors::new(21, 22),
        minima: &[v(1, 7, 0), v(1, 6, 0), v(1, 5, 0)],
        // These kubelets speak CRI v1alpha2 only, which containerd 2 dropped.
        below: Some(v(2, 0, 0)),
        take: LAST_ONE,
        source: OLD_TABLE,
    },
    ContainerdFor {
        minors: Minors::new(23, 23),
        minima: &[v(1, 7, 0), v(1, 6, 0), v(1, 5, 0)],
        below: None,
        take: LAST_ONE,
        source: OLD_TABLE,
    },
    ContainerdFor {
        minors: Minors::new(24, 25),
        minima: &[v(1, 7, 0), v(1, 6, 4)],
        below: None,
        take: LAST_ONE,
        source: OLD_TABLE,
    },
    ContainerdFor {
        minors: Minors::new(26, 28),
        minima: &[v(1, 7, 0), v(1, 6, 15)],
        below: None,
        take: LAST_ONE,
        source: OLD_TABLE,
    },
    ContainerdFor {
        minors: Minors::new(29, 29),
        minima: &[v(1, 7, 11), v(1, 6, 27)],
        below: None,
        take: LAST_ONE,
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

/// The line that a release belongs to; the newest known line for newer ones.
pub fn containerd_series(version: &Version) -> Option<&'static Series> {
    let line = (version.major, version.minor);
    let lines = CONTAINERD_SERIES.iter().rev();
    let oldest = CONTAINERD_SERIES.first()?;
    (line >= oldest.series)
        .then(|| lines.into_iter().find(|known| known.series <= line))
        .flatten()
}

/// What a Kubernetes release asks of containerd.
pub fn containerd_for(minor: Minor) -> Option<&'static ContainerdFor> {
    CONTAINERD_FOR.iter().find(|row| row.minors.contains(minor))
}

/// What casement takes for a Kubernetes release when nothing is said.
pub fn recommended_containerd(minor: Minor) -> Option<Release> {
    containerd_for(minor).map(|row| row.take)
}

/// How a containerd suits a Kubernetes release.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContainerdFit {
    /// It is recommended.
    Recommended,
    /// It is older than this, the oldest that is recommended of its line or of all.
    TooOld(Release),
    /// From this release on the two share no API.
    TooNew(Release),
    /// Its line is not among the recommended ones, though older and newer ones are.
    Unlisted,
    /// The tables do not cover the Kubernetes release.
    Unknown,
}

/// How a containerd suits a Kubernetes release.
pub fn containerd_fit(minor: Minor, containerd: &Version) -> ContainerdFit {
    let Some(row) = containerd_for(minor) else {
        return ContainerdFit::Unknown;
    };
    let at_least = |release: &Release| *containerd >= release.version();
    if let Some(below) = row.below.filter(at_least) {
        return ContainerdFit::TooNew(below);
    }
    let line = (containerd.major, containerd.minor);
    let minimum = row.minima.iter().find(|minimum| minimum.line() == line);
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
    fn kubernetes_1_36_has_left_containerd_1_behind() {
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
    fn the_version_of_the_configuration_follows_the_line() {
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
            "newer lines keep the last form"
        );
        assert_eq!(version(v(1, 5, 0)), None);
        let folders =
            |release: Release| containerd_series(&release.version()).map(|line| line.bin_dirs);
        assert_eq!(folders(v(2, 0, 0)), Some(false));
        assert_eq!(folders(v(2, 1, 0)), Some(true));
    }

    #[test]
    fn what_is_taken_is_recommended() {
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
