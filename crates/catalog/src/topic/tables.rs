//! Rows of tables as cells.

use super::{Table, Topic};
use crate::artifact::{ARTIFACTS, HASHES, Numbering};
use crate::behaviour::BEHAVIOURS;
use crate::containerd::{CONTAINERD_FOR, CONTAINERD_SERIES};
use crate::flag::flags;
use crate::gate::{GateChange, gates};
use crate::hns::HNS_FEATURES;
use crate::image::IMAGE_RULES;
use crate::patch::PATCH_FLOORS;
use crate::pause::PAUSES;
use crate::skew::SKEWS;
use crate::support::SUPPORT;
use crate::update::{KNOWN_BAD, UPDATE_FLOORS};
use crate::windows::{WINDOWS, windows_of_build};

/// Cells of one row from whatever can be shown.
macro_rules! cells {
    ($($cell:expr),+ $(,)?) => { vec![$($cell.to_string()),+] };
}

pub(super) fn table(topic: Topic) -> Table {
    let (columns, rows) = match topic {
        Topic::Kubernetes => support(),
        Topic::Windows => windows(),
        Topic::Images => images(),
        Topic::Pause => pause(),
        Topic::Containerd => containerd(),
        Topic::ContainerdReleases => containerd_releases(),
        Topic::Skew => skew(),
        Topic::Flags => flag_rows(),
        Topic::Gates => gate_rows(),
        Topic::Changes => changes(),
        Topic::Patches => patches(),
        Topic::Hns => hns(),
        Topic::Updates => updates(),
        Topic::KnownBad => known_bad(),
        Topic::Artifacts => artifacts(),
        Topic::Hashes => hashes(),
    };
    Table { columns, rows }
}

type Shown = (&'static [&'static str], Vec<Vec<String>>);

/// What a cell shows where there is nothing.
const NOTHING: &str = "-";

fn or_nothing<T: ToString>(value: Option<T>) -> String {
    value.map_or_else(|| NOTHING.to_owned(), |value| value.to_string())
}

/// `2019 (17763), 2022 (20348)`
fn builds(builds: &[u32]) -> String {
    let named = builds.iter().map(|build| match windows_of_build(*build) {
        Some(release) => {
            let year = release.name.trim_start_matches("Server ");
            format!("{year} ({build})")
        }
        None => build.to_string(),
    });
    named.collect::<Vec<_>>().join(", ")
}

fn support() -> Shown {
    let rows = SUPPORT
        .iter()
        .map(|row| cells![row.minors, builds(row.builds), row.note, row.source]);
    (&["kubernetes", "windows", "note", "source"], rows.collect())
}

fn windows() -> Shown {
    let rows = WINDOWS.iter().map(|row| {
        let runtime = if row.containerd {
            "containerd"
        } else {
            "docker"
        };
        cells![
            row.name,
            row.build,
            row.channel,
            or_nothing(row.nanoserver),
            or_nothing(row.servercore),
            runtime,
            row.node_label(),
            row.source
        ]
    });
    let columns = &[
        "name",
        "build",
        "channel",
        "nanoserver",
        "servercore",
        "runtime",
        "label",
        "source",
    ];
    (columns, rows.collect())
}

fn images() -> Shown {
    let rows = IMAGE_RULES.iter().map(|row| {
        let image = match row.oldest_image {
            Some(oldest) => format!("{oldest} up to the host's"),
            None => "the host's only".to_owned(),
        };
        cells![row.host_from, image, row.source]
    });
    (
        &["host build from", "image build", "source"],
        rows.collect(),
    )
}

fn pause() -> Shown {
    let rows = PAUSES
        .iter()
        .map(|row| cells![row.minors, row.tag, builds(row.builds), row.source]);
    (
        &["kubernetes", "pause", "built for", "source"],
        rows.collect(),
    )
}

fn containerd() -> Shown {
    let rows = CONTAINERD_FOR.iter().map(|row| {
        let minima: Vec<_> = row.minima.iter().map(|one| format!("{one}+")).collect();
        let below = or_nothing(row.below);
        cells![row.minors, minima.join(", "), below, row.take, row.source]
    });
    let columns = &[
        "kubernetes",
        "recommended",
        "below",
        "casement takes",
        "source",
    ];
    (columns, rows.collect())
}

fn containerd_releases() -> Shown {
    let rows = CONTAINERD_SERIES.iter().map(|row| {
        cells![
            format!("{}.{}", row.series.0, row.series.1),
            row.config_version,
            if row.bin_dirs { "bin_dirs" } else { "bin_dir" },
            row.sandbox,
            row.maintained,
            row.source
        ]
    });
    let columns = &[
        "containerd",
        "config version",
        "cni folder",
        "pause",
        "maintained",
        "source",
    ];
    (columns, rows.collect())
}

fn skew() -> Shown {
    let rows = SKEWS.iter().map(|row| {
        cells![
            row.part, row.to, row.minors, row.older, row.newer, row.source
        ]
    });
    let columns = &["part", "against", "releases", "older", "newer", "source"];
    (columns, rows.collect())
}

fn flag_rows() -> Shown {
    let moved = flags().iter();
    let rows = moved.map(|row| {
        cells![
            row.program,
            format!("--{}", row.name),
            row.system.map_or("any", |system| system.name()),
            or_nothing(row.added_in()),
            or_nothing(row.removed_in()),
            row.instead().unwrap_or(NOTHING),
            row.source
        ]
    });
    let columns = &[
        "program",
        "flag",
        "system",
        "since",
        "removed in",
        "instead",
        "source",
    ];
    (columns, rows.collect())
}

fn gate_rows() -> Shown {
    let shown = |change: &GateChange| {
        let at = change.at.map(|at| format!("{at} ")).unwrap_or_default();
        match change.state {
            Some(state) => {
                let default = if state.default { "on" } else { "off" };
                let locked = if state.locked { ", locked" } else { "" };
                format!("{at}{} {default}{locked}", state.stage)
            }
            None => format!("{at}removed"),
        }
    };
    let rows = gates().iter().map(|row| {
        let history: Vec<_> = row.changes.iter().map(shown).collect();
        cells![row.name, history.join("; "), row.source]
    });
    (&["gate", "history", "source"], rows.collect())
}

fn changes() -> Shown {
    let rows = BEHAVIOURS
        .iter()
        .map(|row| cells![row.minors, row.what, row.source]);
    (&["kubernetes", "what", "source"], rows.collect())
}

fn patches() -> Shown {
    let rows = PATCH_FLOORS
        .iter()
        .map(|row| cells![row.version, row.what, row.source]);
    (&["mended in", "what", "source"], rows.collect())
}

fn hns() -> Shown {
    let rows = HNS_FEATURES.iter().map(|row| {
        let (last, updates) = match row.since {
            [updates @ .., last] => (Some(last), updates),
            [] => (None, &[][..]),
        };
        let updates = updates
            .iter()
            .map(|since| format!("{0}.{1}-{0}.x", since.0, since.1));
        let last = last.map(|since| format!("{}.{}+", since.0, since.1));
        let since: Vec<_> = updates.chain(last).collect();
        cells![
            format!("{:?}", row.feature),
            since.join(", "),
            row.what,
            row.source
        ]
    });
    (&["feature", "hns", "what", "source"], rows.collect())
}

fn updates() -> Shown {
    let rows = UPDATE_FLOORS.iter().map(|row| {
        let build = format!("{}.{}", row.build, row.revision);
        cells![
            builds(&[row.build]),
            build,
            row.update,
            row.purpose,
            row.source
        ]
    });
    let columns = &["windows", "at least", "update", "for", "source"];
    (columns, rows.collect())
}

fn known_bad() -> Shown {
    let rows = KNOWN_BAD.iter().map(|row| {
        cells![
            builds(&[row.build]),
            format!("{}.{}", row.build, row.from),
            row.brought_by,
            format!("{}.{}", row.build, row.until),
            row.mended_by,
            row.purpose,
            row.what,
            row.source
        ]
    });
    let columns = &[
        "windows",
        "from",
        "brought by",
        "mended in",
        "mended by",
        "for",
        "what",
        "source",
    ];
    (columns, rows.collect())
}

fn artifacts() -> Shown {
    let rows = ARTIFACTS.iter().map(|row| {
        let version = match row.numbering {
            Numbering::Kubernetes => "as Kubernetes",
            Numbering::KubernetesMinor => "as Kubernetes, .0",
            Numbering::Containerd => "as the table containerd says",
            Numbering::Own(version) => version,
        };
        let programs = row.programs.join(", ");
        cells![row.name, row.system, version, programs, row.url, row.source]
    });
    let columns = &["artifact", "system", "version", "programs", "url", "source"];
    (columns, rows.collect())
}

fn hashes() -> Shown {
    let rows = HASHES
        .iter()
        .map(|row| cells![row.name, row.system, row.version, row.sha256, row.source]);
    let columns = &["artifact", "system", "version", "sha256", "source"];
    (columns, rows.collect())
}
