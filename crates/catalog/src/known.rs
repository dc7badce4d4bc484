//! Programs, and the releases of theirs that know a setting.
//!
//! Flags and configuration fields are text tables of one form; this module reads
//! it.

use std::fmt;

use crate::artifact::System;
use crate::minor::Minor;

/// A program whose settings are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Program {
    /// kubelet
    Kubelet,
    /// kube-proxy
    KubeProxy,
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Kubelet => "kubelet",
            Self::KubeProxy => "kube-proxy",
        })
    }
}

/// Whether a program knows a setting.
///
/// A flag that it does not know stops a program. So does an unknown field a kubelet;
/// kube-proxy leaves it out with a warning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Known {
    /// It does.
    Yes,
    /// This release is the first that does.
    NotYet(Minor),
    /// This release was the first that did not any more.
    NoLonger(Minor),
    /// Only on the other system.
    ElsewhereOnly(System),
}

/// When a program knows a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Lifetime {
    /// The first release with it; none where the oldest covered release has it.
    pub added: Option<Minor>,
    /// The first release without it.
    pub removed: Option<Minor>,
}

impl Lifetime {
    /// Whether a release has it on a system, `only` being the one that has it.
    pub(crate) fn known(self, minor: Minor, system: System, only: Option<System>) -> Known {
        match (self.added, self.removed, only) {
            (Some(added), ..) if minor < added => Known::NotYet(added),
            (_, Some(removed), _) if minor >= removed => Known::NoLonger(removed),
            (.., Some(only)) if only != system => Known::ElsewhereOnly(only),
            _ => Known::Yes,
        }
    }
}

/// One line of a table.
pub(crate) struct Line {
    pub program: Program,
    pub name: &'static str,
    pub system: Option<System>,
    pub lifetime: Lifetime,
}

/// `kubelet  network-plugin  any  -, 1.24 removed`
pub(crate) fn parse(line: &'static str) -> Option<Line> {
    let (words, history) = split(line, 3)?;
    let [program, name, system] = words.as_slice() else {
        return None;
    };
    let mut changes = history.split(", ");
    let added = match changes.next()? {
        "-" => None,
        minor => Some(minor.parse().ok()?),
    };
    let removed = match changes.next() {
        Some(change) => Some(change.strip_suffix(" removed")?.parse().ok()?),
        None => None,
    };
    Some(Line {
        program: match *program {
            "kubelet" => Program::Kubelet,
            "kube-proxy" => Program::KubeProxy,
            _ => return None,
        },
        name,
        system: match *system {
            "any" => None,
            "windows" => Some(System::Windows),
            "linux" => Some(System::Linux),
            _ => return None,
        },
        lifetime: Lifetime { added, removed },
    })
}

/// The lines of a table that are no comment.
pub(crate) fn lines(text: &'static str) -> impl Iterator<Item = &'static str> {
    text.lines().filter(|line| !line.starts_with('#'))
}

/// The first words of a line, and the rest.
pub(crate) fn split(line: &'static str, count: usize) -> Option<(Vec<&'static str>, &'static str)> {
    let (mut words, mut rest) = (Vec::new(), line);
    for _ in 0..count {
        let (word, after) = rest.split_once(' ')?;
        words.push(word);
        rest = after.trim_start();
    }
    Some((words, rest))
}
