//! What was taken from a host, and that it was looked for again.

use std::collections::BTreeMap;
use std::fmt;

use casement_resource::wire::What;

/// What a host said while things were taken back.
#[derive(Debug, Default)]
pub struct Proof {
    /// What was removed, each by its kind and name.
    pub removed: Vec<String>,
    looked: Option<u32>,
}

/// The kinds that people count, with their words; all others are settings.
const COUNTED: [(&[&str], &str, &str); 4] = [
    (&["service"], "service", "services"),
    (&["hnsNetwork"], "HNS network", "HNS networks"),
    (&["hnsEndpoint", "sourceVip"], "endpoint", "endpoints"),
    (
        &["file", "artifact", "directory", "kubeconfig", "symlink"],
        "file or folder",
        "files and folders",
    ),
];

impl Proof {
    /// Notes what belongs to it.
    pub fn take(&mut self, what: &What) {
        match what {
            What::StepRemoved { thing, .. } => self.removed.push(thing.clone()),
            What::Looked { things, .. } => self.looked = Some(*things),
            _ => {}
        }
    }

    fn counts(&self) -> Vec<String> {
        let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
        for thing in &self.removed {
            let kind = thing.split(' ').next().unwrap_or_default();
            let place = COUNTED.iter().position(|(kinds, ..)| kinds.contains(&kind));
            *counts.entry(place.unwrap_or(COUNTED.len())).or_default() += 1;
        }
        let words = counts.into_iter().map(|(place, count)| {
            let (one, many) = COUNTED
                .get(place)
                .map_or(("setting", "settings"), |(_, one, many)| (*one, *many));
            format!("{count} {}", if count == 1 { one } else { many })
        });
        words.collect()
    }
}

impl fmt::Display for Proof {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("nothing of casement's is left")?;
        if let Some(things) = self.looked.filter(|things| *things > 0) {
            write!(formatter, "; {things} things were looked for again")?;
        }
        formatter.write_str(".")?;
        if !self.removed.is_empty() {
            write!(formatter, "\n  gone: {}", self.counts().join(", "))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_removed_is_counted_by_kinds_that_people_know() {
        let mut proof = Proof::default();
        for thing in [
            "service kubelet",
            "service containerd",
            "file C:\\k\\a",
            "env A",
            "pathEntry C:\\k",
        ] {
            let id = "x".parse().unwrap();
            let thing = thing.to_owned();
            proof.take(&What::StepRemoved { id, thing });
        }
        proof.take(&What::Looked {
            things: 4,
            left: Vec::new(),
        });
        let expected = "nothing of casement's is left; 4 things were looked for again.\n  \
                        gone: 2 services, 1 file or folder, 2 settings";
        assert_eq!(proof.to_string(), expected);
    }

    #[test]
    fn a_host_with_nothing_of_ours_is_said_to_have_nothing() {
        let mut proof = Proof::default();
        proof.take(&What::Looked {
            things: 0,
            left: Vec::new(),
        });
        assert_eq!(proof.to_string(), "nothing of casement's is left.");
    }
}
