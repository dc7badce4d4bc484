//! `containerStore`: how the folder of containerd goes.
//!
//! First whoever keeps it lets go, namespace by namespace: tasks, containers,
//! images, snapshots. What it could not do, for whatever reason, is no obstacle:
//! the layers go by the system's own function, and the rest with the folder.

use std::collections::BTreeMap;
use std::time::Duration;

use casement_resource::{Code, ConditionFacts, ContainerStore, Diff, Failure, Prior, Resource};

use super::{Kind, Place, bad_path, wrong_prior};
use crate::platform::{EntryKind, Program, Result};

impl Kind for ContainerStore {
    fn look(&self, at: &Place<'_>) -> Result<Diff> {
        self.directory().look(at)
    }

    fn prior(&self, at: &Place<'_>) -> Result<Prior> {
        self.directory().prior(at)
    }

    fn change(&self, at: &Place<'_>, prior: &Prior, earlier: Option<&Resource>) -> Result<()> {
        self.directory().change(at, prior, earlier)
    }

    fn undo(&self, at: &Place<'_>, prior: &Prior) -> Result<()> {
        let Prior::Directory { access, .. } = prior else {
            return Err(wrong_prior("a container store", prior));
        };
        if access.is_none() {
            destroy_layers(self, at)?;
        }
        self.directory().undo(at, prior)
    }
}

/// Layers have files that no administrator may delete, and are mounted.
fn destroy_layers(store: &ContainerStore, at: &Place<'_>) -> Result<()> {
    let Some(layers) = &store.layers else {
        return Ok(());
    };
    let is_folder = at.platform.entry(layers)?;
    if is_folder.is_none_or(|entry| entry.kind != EntryKind::Directory) {
        return Ok(());
    }
    for name in at.platform.list(layers)? {
        let layer = layers.join(&name).map_err(bad_path)?;
        at.platform.destroy_layer(&layer)?;
    }
    Ok(())
}

/// Has containerd let go of all that it keeps, if it answers.
pub(super) fn let_go(store: &ContainerStore, at: &Place<'_>) -> Result<()> {
    let ready = at.platform.condition(&store.ready)? == ConditionFacts::Holds;
    if !ready || at.platform.entry(&store.ctr)?.is_none() {
        return Ok(());
    }
    let ctr = Ctr { store, at };
    for namespace in names(&ctr.run(&["namespaces", "list", "--quiet"])?) {
        ctr.empty(namespace)?;
    }
    Ok(())
}

/// containerd's own program.
struct Ctr<'a> {
    store: &'a ContainerStore,
    at: &'a Place<'a>,
}

impl Ctr<'_> {
    fn empty(&self, namespace: &str) -> Result<()> {
        let within = |words: &[&str]| self.run(&[&["--namespace", namespace], words].concat());
        let each: [(&[&str], &[&str]); 3] = [
            (
                &["tasks", "list", "--quiet"],
                &["tasks", "delete", "--force"],
            ),
            (
                &["containers", "list", "--quiet"],
                &["containers", "delete"],
            ),
            (
                &["images", "list", "--quiet"],
                &["images", "remove", "--sync"],
            ),
        ];
        for (list, delete) in each {
            for name in names(&within(list)?) {
                within(&[delete, &[name]].concat())?;
            }
        }
        let listed = within(&["snapshots", "list"])?;
        for key in leaves_first(&listed) {
            within(&["snapshots", "remove", key])?;
        }
        Ok(())
    }

    fn run(&self, words: &[&str]) -> Result<String> {
        let program = &self.store.ctr;
        let folder = match program.parent() {
            Some(folder) => folder,
            None => program.clone(),
        };
        let first = [program.as_str(), "--address", &self.store.address];
        let arguments = first.iter().chain(words).map(|word| (*word).to_owned());
        let ended = self.at.platform.run(&Program {
            arguments: arguments.collect(),
            environment: BTreeMap::new(),
            folder,
            deadline: Duration::from_secs(u64::from(self.store.timeout_seconds)),
        })?;
        if ended.code == Some(0) {
            return Ok(ended.output);
        }
        Err(Failure::new(
            Code::ProgramFailed,
            format!("containerd does not let go: `ctr {}`", words.join(" ")),
            "stop the service `containerd`, then reset again",
        )
        .found(ended.output))
    }
}

/// One name in each line.
fn names(output: &str) -> impl Iterator<Item = &str> {
    output
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
}

/// The snapshots in a table of key, parent and kind, such that none comes before
/// those that stand on it.
fn leaves_first(table: &str) -> Vec<&str> {
    let rows = table.lines().map(str::split_whitespace);
    let mut left: Vec<(&str, Option<&str>)> = rows
        .filter_map(
            |mut words| match (words.next()?, words.next()?, words.next()) {
                ("KEY", ..) => None,
                (key, parent, Some(_kind)) => Some((key, Some(parent))),
                (key, _kind, None) => Some((key, None)),
            },
        )
        .collect();
    let mut sorted = Vec::new();
    while !left.is_empty() {
        let parents: Vec<&str> = left.iter().filter_map(|(_, parent)| *parent).collect();
        let (inner, leaves): (Vec<_>, Vec<_>) =
            left.iter().partition(|(key, _)| parents.contains(key));
        if leaves.is_empty() {
            break;
        }
        sorted.extend(leaves.iter().map(|(key, _)| *key));
        left = inner;
    }
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn snapshots_go_before_what_they_stand_on() {
        let table = "KEY PARENT KIND\nbase  Committed\nmid base Committed\ntop mid Active\n";
        assert_eq!(leaves_first(table), ["top", "mid", "base"]);
        assert_eq!(leaves_first("KEY PARENT KIND\n"), [""; 0]);
        let circle = "a b Active\nb a Active\n";
        assert_eq!(leaves_first(circle), [""; 0], "and the tests end");
    }
}
