//! The applied documents: for each stage the last one that succeeded completely. The
//! agent keeps the host in sync with them.

use casement_resource::wire::RemoveScope;
use casement_resource::{Change, Code, Diff, Failure, NodeDocument, Stage};

use super::{Layout, delete, read, write_durably};
use crate::platform::Result;

const STAGES: [Stage; 3] = [Stage::Prepare, Stage::Join, Stage::Network];

/// Replaces the earlier document of the same stage.
pub fn save(layout: &Layout, document: &NodeDocument) -> Result<()> {
    let json = serde_json::to_vec(document).map_err(|error| {
        Failure::new(
            Code::State,
            format!("failed to serialize a document: {error}"),
            "report this as a bug",
        )
    })?;
    write_durably(&layout.applied(document.stage()), &json)
}

/// Compares a document with the applied one of its stage.
pub fn diff(layout: &Layout, document: &NodeDocument) -> Result<Diff> {
    let mut changes = Vec::new();
    match load(layout, document.stage())? {
        None if document.steps().is_empty() => {}
        None => changes.push(Change::missing("document", "this one")),
        Some(applied) => {
            let (before, after) = (applied.repair(), document.repair());
            if before != after {
                changes.push(Change::field("repair", before, after));
            }
            if applied.steps() != document.steps() {
                changes.push(Change::field("document", "an earlier one", "this one"));
            }
        }
    }
    Ok(Diff::from_changes(changes, || {
        "the agent keeps the host in sync with it".to_owned()
    }))
}

fn load(layout: &Layout, stage: Stage) -> Result<Option<NodeDocument>> {
    let bytes = read(&layout.applied(stage))?;
    Ok(bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()))
}

/// All documents, in the order of their stages. An unreadable one is left out: the
/// next apply writes it again.
pub fn all(layout: &Layout) -> Result<Vec<NodeDocument>> {
    let mut documents = Vec::new();
    for stage in STAGES {
        documents.extend(load(layout, stage)?);
    }
    Ok(documents)
}

/// Called before a removal, so that what an interrupted removal has removed is not
/// repaired.
pub fn remove(layout: &Layout, scope: &RemoveScope) -> Result<()> {
    match scope {
        RemoveScope::All => STAGES
            .iter()
            .try_for_each(|stage| delete(&layout.applied(*stage))),
        RemoveScope::Ids(ids) => all(layout)?
            .into_iter()
            .try_for_each(|document| save(layout, &document.without(ids))),
    }
}
