//! The record of a run: the types of its entries, and the texts that they are written to
//! and read from. Opens no files.
//!
//! A record has three texts. The plan and the events are lines of JSON, appended as the run
//! proceeds; the summary is written when the run ends. A run that was killed has no
//! summary, and its last lines may be cut.
//!
//! Every type is read by the code that wrote it. A reader ignores fields that it does not
//! know, so only a change that an older reader would fail on or misread needs a new
//! [`RECORD_VERSION`].

use casement_diag::Problem;
use casement_resource::wire::{Event, Outcome};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::step::{ObjectChange, Step};

pub const RECORD_VERSION: u32 = 1;

/// The name of the plan in the directory of a record.
pub const PLAN: &str = "plan.jsonl";
pub const EVENTS: &str = "events.jsonl";
pub const SUMMARY: &str = "summary.json";
/// The plan of versions of casement that wrote no record version.
pub const UNVERSIONED_PLAN: &str = "plan.json";

/// The first line of a plan, and the start of a summary.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Head {
    pub record_version: u32,
    /// The version of casement.
    pub casement: String,
    /// `apply`, `reset`, `converge`.
    pub verb: String,
    /// Start time in UTC, as in the name of the directory.
    pub began: String,
}

/// A further line of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum PlanEntry {
    /// What the run changes in the cluster, before it changes hosts.
    Cluster { changes: Vec<ObjectChange> },
    /// A host was compared with the document of a stage.
    Stage {
        host: String,
        stage: String,
        steps: Vec<Step>,
    },
}

/// A line of the events, in the order in which they arrived.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EventEntry {
    pub host: String,
    /// `prepare`, `join`, `network`, `remove`.
    pub stage: String,
    pub event: Event,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Summary {
    #[serde(flatten)]
    pub head: Head,
    pub seconds: f64,
    pub outcome: Outcome,
    pub hosts: Vec<HostSummary>,
    /// Why plan or events are incomplete although the run ended: a write failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_error: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HostSummary {
    pub name: String,
    /// The number of changes; 0 if the host failed, where the events have them.
    #[serde(default)]
    pub changed: u32,
    /// The kind and name of each resource that a reset removed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub removed: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Problem>,
    /// The pod network of the Node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pods: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
}

/// Everything that was read of a record.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// None if the run was killed before its first line was written.
    pub head: Option<Head>,
    pub plan: Vec<PlanEntry>,
    pub events: Vec<EventEntry>,
    /// None if the run was killed, or is still in progress.
    pub summary: Option<Summary>,
}

#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    #[error("failed to parse {file}, line {line}: {source}")]
    Syntax {
        file: &'static str,
        line: usize,
        source: serde_json::Error,
    },
    #[error(
        "record version {found} is not supported; the newest supported version is {RECORD_VERSION}"
    )]
    Newer { found: u32 },
    #[error("the record has no version; it was written by an older version of casement")]
    Unversioned,
}

/// An entry as one line.
pub fn line(entry: &impl Serialize) -> String {
    // Only maps with keys that are not strings fail to serialize, and there are none.
    let json = serde_json::to_string(entry).unwrap_or_default();
    format!("{json}\n")
}

/// A summary as a file.
#[must_use]
pub fn summary(summary: &Summary) -> String {
    let json = serde_json::to_string_pretty(summary).unwrap_or_default();
    format!("{json}\n")
}

impl Record {
    /// Bytes, because a cut may be within a character.
    pub fn parse(plan: &[u8], events: &[u8], summary: Option<&[u8]>) -> Result<Self, ReadError> {
        let summary = summary.map(parse_summary).transpose()?;
        let cut = match &summary {
            None => true,
            Some(summary) => summary.write_error.is_some(),
        };
        let mut plan = lines(plan, cut);
        let head = match plan.next() {
            Some((_, first)) => Some(parse_versioned(PLAN, first)?),
            None => summary.as_ref().map(|summary| summary.head.clone()),
        };
        Ok(Self {
            head,
            plan: parse_lines(PLAN, plan)?,
            events: parse_lines(EVENTS, lines(events, cut))?,
            summary,
        })
    }
}

fn parse_summary(text: &[u8]) -> Result<Summary, ReadError> {
    parse_versioned(SUMMARY, text)
}

/// Checks the version before anything else, which a newer version may have changed.
fn parse_versioned<T: DeserializeOwned>(file: &'static str, text: &[u8]) -> Result<T, ReadError> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Version {
        record_version: Option<u32>,
    }
    match parse::<Version>(file, 1, text)?.record_version {
        None => Err(ReadError::Unversioned),
        Some(found) if found > RECORD_VERSION => Err(ReadError::Newer { found }),
        Some(_) => parse(file, 1, text),
    }
}

/// The lines with their numbers. If `cut`, the last one is left out unless it is complete.
fn lines(text: &[u8], cut: bool) -> impl Iterator<Item = (usize, &[u8])> {
    let lines = text.split_inclusive(|byte| *byte == b'\n');
    let lines = (1..).zip(lines);
    lines.filter(move |(_, line)| !cut || line.ends_with(b"\n"))
}

fn parse_lines<'a, T: DeserializeOwned>(
    file: &'static str,
    lines: impl Iterator<Item = (usize, &'a [u8])>,
) -> Result<Vec<T>, ReadError> {
    lines.map(|(line, text)| parse(file, line, text)).collect()
}

fn parse<T: DeserializeOwned>(
    file: &'static str,
    line: usize,
    text: &[u8],
) -> Result<T, ReadError> {
    serde_json::from_slice(text).map_err(|source| ReadError::Syntax { file, line, source })
}
