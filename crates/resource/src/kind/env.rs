//! `env` and `pathEntry`: the machine-wide environment.

use serde::{Deserialize, Serialize};

use crate::{Change, Diff, HostPath};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Env {
    /// Not case-sensitive on Windows.
    pub name: String,
    pub value: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EnvFacts {
    /// None if not set.
    pub value: Option<String>,
}

impl Env {
    #[must_use]
    pub fn diff(&self, facts: &EnvFacts) -> Diff {
        match &facts.value {
            None => Diff::Changes(vec![Change::missing("value", &self.value)]),
            Some(found) if *found == self.value => Diff::unchanged(format!("set to `{found}`")),
            Some(found) => Diff::Changes(vec![Change::field("value", found, &self.value)]),
        }
    }
}

/// A folder on the machine-wide search path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PathEntry {
    pub path: HostPath,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PathEntryFacts {
    /// The entries, verbatim and in order.
    pub entries: Vec<String>,
}

impl PathEntry {
    #[must_use]
    pub fn diff(&self, facts: &PathEntryFacts) -> Diff {
        match facts.entries.iter().position(|entry| self.is(entry)) {
            Some(at) => Diff::unchanged(format!("entry {} of {}", at + 1, facts.entries.len())),
            None => Diff::Changes(vec![Change::missing("entry", &self.path)]),
        }
    }

    /// Whether an entry, as written, means this folder.
    #[must_use]
    pub fn is(&self, entry: &str) -> bool {
        let entry = entry.trim().trim_matches('"');
        if self.path.is_windows() {
            let entry = entry.replace('/', "\\");
            entry
                .trim_end_matches('\\')
                .eq_ignore_ascii_case(self.path.as_str())
        } else {
            entry.trim_end_matches('/') == self.path.as_str()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_entries_match_in_any_spelling() {
        let wanted = PathEntry {
            path: r"C:\k".parse().unwrap(),
        };
        let facts = |entry: &str| PathEntryFacts {
            entries: vec![r"C:\windows".to_owned(), entry.to_owned()],
        };
        assert!(wanted.diff(&facts(r"c:\K\")).in_sync());
        assert!(wanted.diff(&facts(r#""C:/k""#)).in_sync());
        assert!(!wanted.diff(&facts(r"C:\k2")).in_sync());
    }
}
