//! `containerStore`: the data folder of containerd.
//!
//! On removal containerd first deletes its tasks, containers, images and snapshots,
//! namespace by namespace. If that fails, the system's own function deletes the
//! layers, and the rest is deleted with the folder.

use std::collections::BTreeMap;
use std::time::Duration;

use casement_resource::{Code, ConditionFacts, ContainerStore, Diff, Failure, Prior, Resource};

use super::{Kind, KindContext, invalid_path, wrong_prior};
use crate::platform::{EntryKind, Program, Result};

impl Kind for ContainerStore {
    fn observe(&self, context: &KindContext<'_>) -> Result<Diff> {
        self.directory().observe(context)
    }

    fn prior(&self, context: &KindContext<'_>) -> Result<Prior> {
        self.directory().prior(context)
    }

    fn apply(
        &self,
        context: &KindContext<'_>,
        prior: &Prior,
        previous: Option<&Resource>,
    ) -> Result<()> {
        self.directory().apply(context, prior, previous)
    }

    fn undo(&self, context: &KindContext<'_>, prior: &Prior) -> Result<()> {
        let Prior::Directory { access, .. } = prior else {
            return Err(wrong_prior("a container store", prior));
        };
        if access.is_none() {
            destroy_layers(self, context)?;
        }
        self.directory().undo(context, prior)
    }
}

/// Layers are mounted and contain files that administrators cannot delete.
fn destroy_layers(store: &ContainerStore, context: &KindContext<'_>) -> Result<()> {
    let Some(layers) = &store.layers else {
        return Ok(());
    };
    let is_folder = context.platform.entry(layers)?;
    if is_folder.is_none_or(|entry| entry.kind != EntryKind::Directory) {
        return Ok(());
    }
    for name in context.platform.list(layers)? {
        let layer = layers.join(&name).map_err(invalid_path)?;
        context.platform.destroy_layer(&layer)?;
    }
    Ok(())
}

/// Has containerd delete everything in the store, if it is ready.
pub(super) fn release(store: &ContainerStore, context: &KindContext<'_>) -> Result<()> {
    let ready = context.platform.condition(&store.ready)? == ConditionFacts::Holds;
    if !ready || context.platform.entry(&store.ctr)?.is_none() {
        return Ok(());
    }
    let ctr = Ctr { store, context };
    for namespace in names(&ctr.run(&["namespaces", "list", "--quiet"])?) {
        ctr.empty(namespace)?;
    }
    Ok(())
}

/// The command-line client of containerd.
struct Ctr<'a> {
    store: &'a ContainerStore,
    context: &'a KindContext<'a>,
}

impl Ctr<'_> {
    fn empty(&self, namespace: &str) -> Result<()> {
        let within =
            |arguments: &[&str]| self.run(&[&["--namespace", namespace], arguments].concat());
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

    fn run(&self, arguments: &[&str]) -> Result<String> {
        let program = &self.store.ctr;
        let folder = match program.parent() {
            Some(folder) => folder,
            None => program.clone(),
        };
        let prefix = [program.as_str(), "--address", &self.store.address];
        let argv = prefix.iter().chain(arguments).map(|it| (*it).to_owned());
        let exit = self.context.platform.run(&Program {
            arguments: argv.collect(),
            environment: BTreeMap::new(),
            working_dir: folder,
            timeout: Duration::from_secs(u64::from(self.store.timeout_seconds)),
        })?;
        if exit.code == Some(0) {
            return Ok(exit.output);
        }
        Err(Failure::new(
            Code::ProgramFailed,
            format!(
                "failed to empty the containerd store: `ctr {}`",
                arguments.join(" ")
            ),
            "stop the service `containerd`, then run `casement reset` again",
        )
        .found(exit.output))
    }
}

/// One name per line.
fn names(output: &str) -> impl Iterator<Item = &str> {
    output
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
}

/// The snapshots of a table of key, parent and kind, children before their
/// parents.
fn leaves_first(table: &str) -> Vec<&str> {
    let rows = table.lines().map(str::split_whitespace);
    let mut left: Vec<(&str, Option<&str>)> = rows
        .filter_map(
            |mut columns| match (columns.next()?, columns.next()?, columns.next()) {
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
    fn snapshots_are_removed_before_their_parents() {
        let table = "KEY PARENT KIND\nbase  Committed\nmid base Committed\ntop mid Active\n";
        assert_eq!(leaves_first(table), ["top", "mid", "base"]);
        assert_eq!(leaves_first("KEY PARENT KIND\n"), [""; 0]);
        let cycle = "a b Active\nb a Active\n";
        assert_eq!(leaves_first(cycle), [""; 0], "a cycle terminates");
    }
}
