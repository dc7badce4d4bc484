//! The cells of each table.

use super::{Table, Topic};
use crate::artifact::{ARTIFACTS, HASHES, Numbering};
use crate::behavior::BEHAVIORS;
use crate::containerd::{CONTAINERD_FOR, CONTAINERD_SERIES};
use crate::feature_gate::{GateChange, feature_gates};
use crate::field::config_fields;
use crate::flag::flags;
use crate::hns::HNS_FEATURES;
use crate::image::IMAGE_RULES;
use crate::patch::PATCH_FLOORS;
use crate::pause::PAUSES;
use crate::skew::SKEWS;
use crate::support::SUPPORT;
use crate::update::{KNOWN_BAD, UPDATE_FLOORS};
use crate::windows::{WINDOWS, windows_of_build};

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
        Topic::Fields => field_rows(),
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

type Rows = (&'static [&'static str], Vec<Vec<String>>);

const NONE: &str = "-";

fn or_dash<T: ToString>(value: Option<T>) -> String {
    value.map_or_else(|| NONE.to_owned(), |value| value.to_string())
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

fn support() -> Rows {
    let rows = SUPPORT
        .iter()
        .map(|row| cells![row.minors, builds(row.builds), row.note, row.source]);
    (&["kubernetes", "windows", "note", "source"], rows.collect())
}

fn windows() -> Rows {
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
            or_dash(row.nanoserver),
            or_dash(row.servercore),
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

fn images() -> Rows {
    let rows = IMAGE_RULES.iter().map(|row| {
        let image = match row.oldest_image {
            Some(oldest) => format!("{oldest} to host build"),
            None => "host build only".to_owned(),
        };
        cells![row.host_from, image, row.source]
    });
    (
        &["host build from", "image build", "source"],
        rows.collect(),
    )
}

fn pause() -> Rows {
    let rows = PAUSES
        .iter()
        .map(|row| cells![row.minors, row.tag, builds(row.builds), row.source]);
    (
        &["kubernetes", "pause", "built for", "source"],
        rows.collect(),
    )
}

fn containerd() -> Rows {
    let rows = CONTAINERD_FOR.iter().map(|row| {
        let minima: Vec<_> = row.minima.iter().map(|one| format!("{one}+")).collect();
        let below = or_dash(row.below);
        cells![row.minors, minima.join(", "), below, row.take, row.source]
    });
    let columns = &[
        "kubernetes",
        "recommended",
        "incompatible from",
        "default",
        "source",
    ];
    (columns, rows.collect())
}

fn containerd_releases() -> Rows {
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
        "cni directory",
        "pause",
        "maintained",
        "source",
    ];
    (columns, rows.collect())
}

fn skew() -> Rows {
    let rows = SKEWS.iter().map(|row| {
        cells![
            row.part, row.to, row.minors, row.older, row.newer, row.source
        ]
    });
    let columns = &[
        "component",
        "against",
        "releases",
        "older",
        "newer",
        "source",
    ];
    (columns, rows.collect())
}

fn flag_rows() -> Rows {
    let rows = flags().iter().map(|row| {
        cells![
            row.program,
            format!("--{}", row.name),
            row.system.map_or("any", |system| system.name()),
            or_dash(row.added_in()),
            or_dash(row.removed_in()),
            row.instead().unwrap_or(NONE),
            row.source
        ]
    });
    let columns = &[
        "program",
        "flag",
        "system",
        "since",
        "removed in",
        "replacement",
        "source",
    ];
    (columns, rows.collect())
}

fn field_rows() -> Rows {
    let rows = config_fields().iter().map(|row| {
        let since = or_dash(row.added_in());
        let removed = or_dash(row.removed_in());
        cells![row.program, row.name, since, removed, row.source]
    });
    let columns = &["program", "field", "since", "removed in", "source"];
    (columns, rows.collect())
}

fn gate_rows() -> Rows {
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
    let rows = feature_gates().iter().map(|row| {
        let history: Vec<_> = row.changes.iter().map(shown).collect();
        cells![row.name, history.join("; "), row.source]
    });
    (&["gate", "history", "source"], rows.collect())
}

fn changes() -> Rows {
    let rows = BEHAVIORS
        .iter()
        .map(|row| cells![row.minors, row.what, row.source]);
    (&["kubernetes", "description", "source"], rows.collect())
}

fn patches() -> Rows {
    let rows = PATCH_FLOORS
        .iter()
        .map(|row| cells![row.version, row.what, row.source]);
    (&["fixed in", "description", "source"], rows.collect())
}

fn hns() -> Rows {
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
    (&["feature", "hns", "description", "source"], rows.collect())
}

fn updates() -> Rows {
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

fn known_bad() -> Rows {
    let rows = KNOWN_BAD.iter().map(|row| {
        cells![
            builds(&[row.build]),
            format!("{}.{}", row.build, row.from),
            row.introduced_by,
            format!("{}.{}", row.build, row.until),
            row.fixed_by,
            row.purpose,
            row.what,
            row.source
        ]
    });
    let columns = &[
        "windows",
        "from",
        "introduced by",
        "fixed in",
        "fixed by",
        "for",
        "description",
        "source",
    ];
    (columns, rows.collect())
}

fn artifacts() -> Rows {
    let rows = ARTIFACTS.iter().map(|row| {
        let version = match row.numbering {
            Numbering::Kubernetes => "same as Kubernetes",
            Numbering::KubernetesMinor => "Kubernetes minor, .0",
            Numbering::Containerd => "see topic containerd",
            Numbering::Own(version) => version,
        };
        let programs = row.programs.join(", ");
        cells![row.name, row.system, version, programs, row.url, row.source]
    });
    let columns = &["artifact", "system", "version", "programs", "url", "source"];
    (columns, rows.collect())
}

fn hashes() -> Rows {
    let rows = HASHES
        .iter()
        .map(|row| cells![row.name, row.system, row.version, row.sha256, row.source]);
    let columns = &["artifact", "system", "version", "sha256", "source"];
    (columns, rows.collect())
}
