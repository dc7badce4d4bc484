//! What happens in a run, numbered from 1 without gaps: a controller that lost
//! the connection asks for the rest.

use serde::{Deserialize, Serialize};

use crate::{Change, Failure, ResourceId, RunId, SecretName, Stage};

/// One thing that happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Event {
    /// In which run.
    pub run: RunId,
    /// Its number in the run.
    pub sequence: u64,
    /// When, in milliseconds of the host's clock since 1970.
    pub at: u64,
    /// What.
    pub what: What,
}

/// What a run does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum RunKind {
    /// Makes the host what a document of this stage says.
    Converge(Stage),
    /// Takes back what casement made.
    Remove,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum What {
    /// The run began; its lock is held and its document is on disk.
    Began {
        /// What it does.
        kind: RunKind,
        /// How many steps it has.
        steps: u32,
        /// Who began it.
        controller: String,
    },
    /// The service was started anew in the middle of the run and goes on.
    Resumed,
    /// A step's changes are about to be made.
    StepBegan {
        /// Which.
        id: ResourceId,
        /// What will change.
        changes: Vec<Change>,
        /// The connection may be cut.
        disruptive: bool,
    },
    /// A step has changed the host, and was seen to be right after it.
    StepChanged {
        /// Which.
        id: ResourceId,
        /// Fields that the platform cannot observe.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        unobserved: Vec<String>,
    },
    /// A step was right already.
    StepRight {
        /// Which.
        id: ResourceId,
        /// Why.
        reason: String,
    },
    /// A step could not be carried out.
    StepFailed {
        /// Which.
        id: ResourceId,
        /// Why.
        failure: Failure,
    },
    /// A step was left out, because one that it comes after has failed.
    StepSkipped {
        /// Which.
        id: ResourceId,
        /// The failed one.
        because: ResourceId,
    },
    /// What casement made was taken back, and what was there before restored.
    StepRemoved {
        /// Which.
        id: ResourceId,
        /// The thing itself: what it is, and its name on the host.
        thing: String,
    },
    /// Everything was looked for again after it was taken back.
    Looked {
        /// How many things were looked for.
        things: u32,
        /// Those that are there again, or still.
        left: Vec<String>,
    },
    /// A step waits for values; send them with `secrets`.
    NeedSecret {
        /// Which step.
        id: ResourceId,
        /// Their names.
        names: Vec<SecretName>,
    },
    /// The run is over.
    Finished {
        /// How it ended.
        outcome: Outcome,
        /// What it did, in numbers.
        tally: Tally,
    },
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Outcome {
    /// Everything is right.
    Done,
    /// At least one step failed.
    Failed,
    /// It was told to stop.
    Stopped,
}

/// A run in numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Tally {
    /// Steps that changed (or removed) something.
    pub changed: u32,
    /// Steps that were right already.
    pub right: u32,
    /// Steps that failed.
    pub failed: u32,
    /// Steps that were left out.
    pub skipped: u32,
}
