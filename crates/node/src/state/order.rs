//! The order of a run, on disk before the run starts, so that a restarted service can
//! resume it without the controller.

use std::fs;

use casement_resource::wire::RemoveScope;
use casement_resource::{Code, Failure, NodeDocument, RunId};
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

use super::{Layout, read, state_failure, write_durably};
use crate::platform::Result;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Order {
    pub run: RunId,
    pub controller: String,
    pub task: Task,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum Task {
    Converge(NodeDocument),
    Remove(RemoveScope),
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct StoredOrder<O> {
    /// Increases with each order of the host. Times cannot order runs, since clocks are
    /// set back.
    number: u64,
    order: O,
}

impl Order {
    /// Gets the next number, unless the run is known already.
    pub fn save(&self, layout: &Layout) -> Result<()> {
        let number = match number(layout, &self.run)? {
            Some(known) => known,
            None => last_number(layout)? + 1,
        };
        let stored = StoredOrder {
            number,
            order: self,
        };
        let json = serde_json::to_vec(&stored).map_err(|error| {
            Failure::new(
                Code::State,
                format!(
                    "failed to serialize the order of run `{}`: {error}",
                    self.run
                ),
                "report this as a bug",
            )
        })?;
        write_durably(&layout.order(&self.run), &json)
    }

    /// `None` if the run is unknown.
    pub fn load(layout: &Layout, run: &RunId) -> Result<Option<Self>> {
        let path = layout.order(run);
        let Some(bytes) = read(&path)? else {
            return Ok(None);
        };
        let stored: std::result::Result<StoredOrder<Self>, _> = serde_json::from_slice(&bytes);
        stored.map(|stored| Some(stored.order)).map_err(|error| {
            Failure::new(
                Code::State,
                format!("`{}` is not a valid order", path.display()),
                "delete the file, then run `casement apply` again",
            )
            .found(error.to_string())
        })
    }
}

/// The number of a run's order; 0 if it is unreadable, `None` if there is none.
pub fn number(layout: &Layout, run: &RunId) -> Result<Option<u64>> {
    let bytes = read(&layout.order(run))?;
    Ok(bytes.map(|bytes| {
        let stored: Option<StoredOrder<IgnoredAny>> = serde_json::from_slice(&bytes).ok();
        stored.map_or(0, |stored| stored.number)
    }))
}

/// All runs with an order.
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
