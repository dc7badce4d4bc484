//! Programs and the releases that know a setting.
//!
//! Parses the common table format of flags and configuration fields.

use std::fmt;

use crate::artifact::System;
use crate::minor::Minor;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Program {
    Kubelet,
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
/// Unknown flags stop the program. Unknown fields stop the kubelet; kube-proxy
/// ignores them with a warning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Known {
    Yes,
    /// Added in this release.
    NotYet(Minor),
    /// Removed in this release.
    NoLonger(Minor),
    OnlyOn(System),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Lifetime {
    /// `None` if the oldest covered release has the setting.
    pub added: Option<Minor>,
    pub removed: Option<Minor>,
}

impl Lifetime {
    pub(crate) fn known(self, minor: Minor, system: System, only: Option<System>) -> Known {
        match (self.added, self.removed, only) {
            (Some(added), ..) if minor < added => Known::NotYet(added),
            (_, Some(removed), _) if minor >= removed => Known::NoLonger(removed),
            (.., Some(only)) if only != system => Known::OnlyOn(only),
            _ => Known::Yes,
        }
    }
}

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

pub(crate) fn lines(text: &'static str) -> impl Iterator<Item = &'static str> {
    text.lines().filter(|line| !line.starts_with('#'))
}

pub(crate) fn split(line: &'static str, count: usize) -> Option<(Vec<&'static str>, &'static str)> {
    let (mut words, mut rest) = (Vec::new(), line);
    for _ in 0..count {
        let (word, after) = rest.split_once(' ')?;
        words.push(word);
        rest = after.trim_start();
    }
    Some((words, rest))
}
