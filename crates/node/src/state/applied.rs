//! What the host is to stay: of each stage, the last document that was carried
//! out in full.

use casement_resource::wire::RemoveWhat;
use casement_resource::{Change, Code, Diff, Failure, NodeDocument, Stage};

use super::{Layout, delete, read, write_durably};
use crate::platform::Result;

const STAGES: [Stage; 3] = [Stage::Prepare, Stage::Join, Stage::Network];

/// Keeps a document, in the place of an earlier one of its stage.
pub fn keep(layout: &Layout, document: &NodeDocument) -> Result<()> {
    let json = serde_json::to_vec(document).map_err(|error| {
        Failure::new(
            Code::State,
            format!("a document cannot be kept: {error}"),
            "report this",
        )
    })?;
    write_durably(&layout.kept(document.stage()), &json)
}

/// Compares a document with the one of its stage that is kept.
pub fn look(layout: &Layout, document: &NodeDocument) -> Result<Diff> {
    let mut changes = Vec::new();
    match one(layout, document.stage())? {
        None if document.steps().is_empty() => {}
        None => changes.push(Change::missing("document", "this one")),
        Some(kept) => {
            let (before, after) = (kept.repair(), document.repair());
            if before != after {
                changes.push(Change::field("repair", before, after));
            }
            if kept.steps() != document.steps() {
                changes.push(Change::field("document", "an earlier one", "this one"));
            }
        }
    }
    Ok(Diff::from_changes(changes, || {
        "the agent keeps the host to it".to_owned()
    }))
}

fn one(layout: &Layout, stage: Stage) -> Result<Option<NodeDocument>> {
    let bytes = read(&layout.kept(stage))?;
    Ok(bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()))
}

/// All documents, in the order of their stages. One that cannot be read is left
/// out: the next apply brings it anew.
pub fn all(layout: &Layout) -> Result<Vec<NodeDocument>> {
    let mut documents = Vec::new();
    for stage in STAGES {
        documents.extend(one(layout, stage)?);
    }
    Ok(documents)
}

/// Forgets what is about to be taken back, before it is: nobody puts back what a
/// removal that was cut off has removed.
pub fn forget(layout: &Layout, what: &RemoveWhat) -> Result<()> {
    match what {
        RemoveWhat::All => STAGES
            .iter()
            .try_for_each(|stage| delete(&layout.kept(*stage))),
        RemoveWhat::Ids(ids) => all(layout)?
            .into_iter()
            .try_for_each(|document| keep(layout, &document.without(ids))),
    }
}
