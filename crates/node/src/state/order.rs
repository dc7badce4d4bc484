//! What a run was told to do, on disk before it begins, so that a service
//! started anew can go on without the controller.

use std::fs;

use casement_resource::wire::RemoveWhat;
use casement_resource::{Code, Failure, NodeDocument, RunId};
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

use super::{Layout, read, state_failure, write_durably};
use crate::platform::Result;

/// An order with its origin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Order {
    /// The run's name.
    pub run: RunId,
    /// Who gave it.
    pub controller: String,
    /// What is to be done.
    pub task: Task,
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum Task {
    /// Make the host what the document says.
    Converge(NodeDocument),
    /// Take back what casement made.
    Remove(RemoveWhat),
}

/// An order on disk.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Written<O> {
    /// Which of the host's orders it is. Clocks are set back, so times cannot
    /// tell what came last.
    number: u64,
    order: O,
}

impl Order {
    /// Writes it down, as the latest unless it is known already.
    pub fn save(&self, layout: &Layout) -> Result<()> {
        let number = match number(layout, &self.run)? {
            Some(known) => known,
            None => last_number(layout)? + 1,
        };
        let written = Written {
            number,
            order: self,
        };
        let json = serde_json::to_vec(&written).map_err(|error| {
            Failure::new(
                Code::State,
                format!("the order of run `{}`: {error}", self.run),
                "report this",
            )
        })?;
        write_durably(&layout.order(&self.run), &json)
    }

    /// Reads one; none if the run is unknown.
    pub fn load(layout: &Layout, run: &RunId) -> Result<Option<Self>> {
        let path = layout.order(run);
        let Some(bytes) = read(&path)? else {
            return Ok(None);
        };
        let written: std::result::Result<Written<Self>, _> = serde_json::from_slice(&bytes);
        written.map(|written| Some(written.order)).map_err(|error| {
            Failure::new(
                Code::State,
                format!("`{}` is no order", path.display()),
                "delete the file; the next apply does what is left",
            )
            .found(error.to_string())
        })
    }
}

/// Which of the host's orders that of a run is; 0 for one that cannot be
/// understood, none if there is none.
pub fn number(layout: &Layout, run: &RunId) -> Result<Option<u64>> {
    let bytes = read(&layout.order(run))?;
    Ok(bytes.map(|bytes| {
        let written: Option<Written<IgnoredAny>> = serde_json::from_slice(&bytes).ok();
        written.map_or(0, |written| written.number)
    }))
}

/// The runs that the host has orders of.
pub fn runs(layout: &Layout) -> Result<Vec<RunId>> {
    let folder = layout.journals();
    let failure = |error| state_failure("read", &folder, &error);
    let mut runs = Vec::new();
    for entry in fs::read_dir(&folder).map_err(failure)? {
        let name = entry.map_err(failure)?.file_name();
        let name = name.to_str().and_then(|it| it.strip_suffix(".order.json"));
        if let Some(Ok(run)) = name.map(str::parse) {
            runs.push(run);
        }
    }
    Ok(runs)
}

fn last_number(layout: &Layout) -> Result<u64> {
    let mut last = 0;
    for run in runs(layout)? {
        last = last.max(number(layout, &run)?.unwrap_or_default());
    }
    Ok(last)
}
