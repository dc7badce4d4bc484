//! `swap`: none of it, now and after a boot.
//!
//! Lines of fstab(5) that would bring it back are commented out with a mark of
//! casement's, which is all that is needed to put them back, whatever else was
//! written to the file meanwhile. A swap area that comes from elsewhere (a
//! partition that systemd finds by its type, zram) is off until the next boot;
//! its unit can be masked with a `systemdUnit`.

use serde::{Deserialize, Serialize};

use crate::{Change, Diff, HostPath};

/// Swap that should be off: the kubelet does not start beside it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SwapOff {}

/// An area that the kernel swaps to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SwapArea {
    /// The file or device.
    pub path: HostPath,
    /// What the kernel takes first; below zero where it has chosen itself.
    pub priority: i32,
}

/// Swap as found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SwapFacts {
    /// What is in use.
    pub areas: Vec<SwapArea>,
    /// What fstab says; none if there is no such file.
    pub table: Option<String>,
}

/// Stands before a line that was commented out.
const MARK: &str = "#casement-swap-off# ";

impl SwapOff {
    /// What is to change.
    #[must_use]
    pub fn diff(&self, facts: &SwapFacts) -> Diff {
        let areas = facts.areas.iter();
        let mut changes: Vec<Change> = areas
            .map(|area| Change::field("swap", format!("on `{}`", area.path), "off"))
            .collect();
        let lines = facts.table.iter().flat_map(|table| table.lines());
        for line in lines.filter(|line| brings_swap(line)) {
            changes.push(Change::field("fstab", line, "commented out"));
        }
        Diff::from_changes(changes, || "off, and nothing in fstab".to_owned())
    }

    /// A table without lines that bring swap.
    #[must_use]
    pub fn taken_out(table: &str) -> String {
        by_line(table, |line| {
            let mark = if brings_swap(line) { MARK } else { "" };
            format!("{mark}{line}")
        })
    }

    /// The table with the lines that [`taken_out`](Self::taken_out) commented.
    #[must_use]
    pub fn put_back(table: &str) -> String {
        by_line(table, |line| {
            line.strip_prefix(MARK).unwrap_or(line).to_owned()
        })
    }
}

/// Lines of other kinds, and the way in which the last one ends, stay.
fn by_line(table: &str, turned: impl Fn(&str) -> String) -> String {
    let lines: Vec<String> = table.split('\n').map(turned).collect();
    lines.join("\n")
}

/// The third field of a line of fstab is its type.
fn brings_swap(line: &str) -> bool {
    !line.trim_start().starts_with('#') && line.split_whitespace().nth(2) == Some("swap")
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "\
# <file system> <mount point> <type> swap
UUID=1 / ext4 errors=remount-ro 0 1
/swapfile\tnone\tswap\tsw 0 0
  /dev/sda2 none swap sw,pri=5 0 0
# /old none swap sw 0 0
LABEL=swap /swap ext4 defaults 0 0";

    #[test]
    fn lines_that_bring_swap_are_commented_out_and_come_back() {
        let out = SwapOff::taken_out(TABLE);
        assert!(
            out.contains("\n#casement-swap-off# /swapfile\tnone"),
            "{out}"
        );
        assert_eq!(out.matches(MARK).count(), 2);
        assert_eq!(SwapOff::taken_out(&out), out);
        assert_eq!(SwapOff::put_back(&out), TABLE);
        assert_eq!(SwapOff::put_back(TABLE), TABLE);
    }

    #[test]
    fn both_what_is_on_and_what_will_be_are_named() {
        let mut facts = SwapFacts {
            areas: vec![SwapArea {
                path: "/swapfile".parse().unwrap(),
                priority: -2,
            }],
            table: Some(TABLE.to_owned()),
        };
        let Diff::Changes(changes) = (SwapOff {}).diff(&facts) else {
            panic!("swap was overlooked");
        };
        assert_eq!(changes.len(), 3);
        assert_eq!(changes[0].to_string(), "swap: on `/swapfile` → off");
        facts.areas.clear();
        facts.table = Some(SwapOff::taken_out(TABLE));
        assert!((SwapOff {}).diff(&facts).is_right());
        facts.table = None;
        assert!((SwapOff {}).diff(&facts).is_right());
    }
}
