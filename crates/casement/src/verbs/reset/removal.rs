//! The resources that were removed from a host, and the check that none is left.

use std::collections::BTreeMap;
use std::fmt;

use casement_resource::wire::EventKind;

#[derive(Debug, Default)]
pub struct Removal {
    /// The kind and name of each resource.
    pub removed: Vec<String>,
    /// How many resources the agent searched for again.
    checked: Option<u32>,
}

/// Kinds with a count of their own, singular and plural; all others are settings.
const COUNTED: [(&[&str], &str, &str); 4] = [
    (&["service"], "service", "services"),
    (&["hnsNetwork"], "HNS network", "HNS networks"),
    (&["hnsEndpoint", "sourceVip"], "endpoint", "endpoints"),
    (
        &["file", "artifact", "directory", "kubeconfig", "symlink"],
        "file or directory",
        "files and directories",
    ),
];

impl Removal {
    pub fn on_event(&mut self, kind: &EventKind) {
        match kind {
            EventKind::StepRemoved { thing, .. } => self.removed.push(thing.clone()),
            EventKind::Verified { things, .. } => self.checked = Some(*things),
            _ => {}
        }
    }

    fn counts(&self) -> Vec<String> {
        let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
        for resource in &self.removed {
            let kind = resource.split(' ').next().unwrap_or_default();
            let index = COUNTED.iter().position(|(kinds, ..)| kinds.contains(&kind));
            *counts.entry(index.unwrap_or(COUNTED.len())).or_default() += 1;
        }
        let counts = counts.into_iter().map(|(index, count)| {
            let (one, many) = COUNTED
                .get(index)
                .map_or(("setting", "settings"), |(_, one, many)| (*one, *many));
            format!("{count} {}", if count == 1 { one } else { many })
        });
        counts.collect()
    }
}

impl fmt::Display for Removal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("all casement resources are removed")?;
        if let Some(checked) = self.checked.filter(|checked| *checked > 0) {
            write!(formatter, " ({checked} verified)")?;
        }
        formatter.write_str(".")?;
        if !self.removed.is_empty() {
            write!(formatter, "\n  removed: {}", self.counts().join(", "))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn removed_resources_are_counted_by_kind() {
        let mut removal = Removal::default();
        for thing in [
            "service kubelet",
            "service containerd",
            "file C:\\k\\a",
            "env A",
            "pathEntry C:\\k",
        ] {
            let id = "x".parse().unwrap();
            let thing = thing.to_owned();
            removal.on_event(&EventKind::StepRemoved { id, thing });
        }
        removal.on_event(&EventKind::Verified {
            things: 4,
            left: Vec::new(),
        });
        let expected = "all casement resources are removed (4 verified).\n  \
                        removed: 2 services, 1 file or directory, 2 settings";
        assert_eq!(removal.to_string(), expected);
    }

    #[test]
    fn empty_removal_has_no_counts() {
        let mut removal = Removal::default();
        removal.on_event(&EventKind::Verified {
            things: 0,
            left: Vec::new(),
        });
        assert_eq!(removal.to_string(), "all casement resources are removed.");
    }
}
