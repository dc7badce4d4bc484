//! What a run was told to do, on disk before it begins, so that a service
//! started anew can go on without the controller.

use casement_resource::wire::RemoveWhat;
use casement_resource::{Code, Failure, NodeDocument, RunId};
use serde::{Deserialize, Serialize};

use super::{Layout, read, write_durably};
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

impl Order {
    /// Writes it down.
    pub fn save(&self, layout: &Layout) -> Result<()> {
        let json = serde_json::to_vec(self).map_err(|error| {
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
        serde_json::from_slice(&bytes).map(Some).map_err(|error| {
            Failure::new(
                Code::State,
                format!("`{}` is no order", path.display()),
                "delete the file; the next apply does what is left",
            )
            .found(error.to_string())
        })
    }
}
