//! The events of a run, numbered from 1 without gaps, so that a controller can request
//! the rest after a lost connection.

use serde::{Deserialize, Serialize};

use crate::{Change, Failure, ResourceId, RunId, SecretName, Stage};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Event {
    pub run: RunId,
    /// Numbered from 1 in each run.
    pub sequence: u64,
    /// Milliseconds since 1970 on the host's clock.
    pub at: u64,
    #[serde(rename = "what")]
    pub kind: EventKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum RunKind {
    /// Applies a document of this stage.
    Converge(Stage),
    /// Removes what casement created.
    Remove,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum EventKind {
    /// The run began; its lock is held and its document is on disk.
    Began {
        kind: RunKind,
        steps: u32,
        controller: String,
    },
    /// The service restarted during the run and resumes it.
    Resumed,
    /// A step is about to change the host.
    StepBegan {
        id: ResourceId,
        /// The step's name for users; empty in journals of older agents.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        name: String,
        changes: Vec<Change>,
        /// The connection may drop.
        disruptive: bool,
    },
    /// A step changed the host, and was verified to be in sync.
    StepChanged {
        id: ResourceId,
        /// Fields that the platform cannot observe.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        unobserved: Vec<String>,
    },
    /// A step was in sync already.
    #[serde(rename = "stepRight")]
    StepInSync {
        id: ResourceId,
        reason: String,
    },
    /// A step failed.
    StepFailed {
        id: ResourceId,
        failure: Failure,
    },
    /// A step was skipped because a dependency failed.
    StepSkipped {
        id: ResourceId,
        /// As in [`EventKind::StepBegan`].
        #[serde(default, skip_serializing_if = "String::is_empty")]
        name: String,
        because: ResourceId,
    },
    /// A resource was removed and the prior state restored.
    StepRemoved {
        id: ResourceId,
        /// The object's kind and name on the host.
        thing: String,
    },
    /// After a removal, the host was searched again for everything that was removed.
    #[serde(rename = "looked")]
    Verified {
        /// The number of objects checked.
        things: u32,
        /// Objects that still exist or reappeared.
        left: Vec<String>,
    },
    /// A step needs secrets; send them with `secrets`.
    NeedSecret {
        id: ResourceId,
        names: Vec<SecretName>,
    },
    Finished {
        outcome: Outcome,
        tally: Tally,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Outcome {
    Done,
    Failed,
    /// The run was canceled.
    Stopped,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Tally {
    /// Steps that changed (or removed) something.
    pub changed: u32,
    /// Steps that needed no change.
    #[serde(rename = "right")]
    pub in_sync: u32,
    pub failed: u32,
    /// Steps that were skipped.
    pub skipped: u32,
}
