//! What `-o json` prints: one document, whose fields `docs/reference/json-output.md` lists.
//!
//! Fields of a document may be added, but not renamed or removed, without another
//! [`API_VERSION`]. Types from other crates that appear in documents say so.

use casement_diag::Problem;
use casement_report::{ObjectChange, Run, Step};
use casement_resource::{NodeDocument, Stage};
use casement_run::read_only::ReadOnlyHost;
use clap::ValueEnum;
use serde::Serialize;
use serde_json::Value;

use crate::counts::Counts;
use crate::failure::CommandError;
use crate::output;
use crate::progress::ClosedRecord;

const API_VERSION: &str = "casement.dev/output/v1";

/// The output format of verbs whose text is not a table.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    #[default]
    Text,
    /// One document at the end
    Json,
}

impl Format {
    pub fn is_json(self) -> bool {
        self == Self::Json
    }

    /// Prints the text that a document replaces: standard output is for the document.
    pub fn print(self, text: &str) -> Result<(), CommandError> {
        match self {
            Self::Text => output::print(text),
            Self::Json => {
                output::message(text);
                Ok(())
            }
        }
    }
}

/// The fields of a document, beside the version and the kind.
pub trait Document: Serialize {
    const KIND: &'static str;
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Envelope<'a, T> {
    api_version: &'static str,
    kind: &'static str,
    #[serde(flatten)]
    document: &'a T,
}

impl<'a, T: Document> Envelope<'a, T> {
    fn of(document: &'a T) -> Self {
        Self {
            api_version: API_VERSION,
            kind: T::KIND,
            document,
        }
    }
}

pub fn text<T: Document>(document: &T) -> String {
    // Only maps with keys that are not strings fail to serialize, and there are none.
    let json = serde_json::to_string_pretty(&Envelope::of(document)).unwrap_or_default();
    format!("{json}\n")
}

/// The same document as YAML, for the verbs that have it.
pub fn yaml<T: Document>(document: &T) -> Result<String, Problem> {
    serde_saphyr::to_string(&Envelope::of(document)).map_err(|error| {
        let what = "failed to format the output as YAML";
        let help = "choose another format with `-o`";
        Problem::new("CAS-OUT-001", what, help).detail("cause", error)
    })
}

pub fn print<T: Document>(document: &T) -> Result<(), CommandError> {
    output::print(&text(document))
}

/// Instead of the document of a verb that failed before it had one.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Failed<'a> {
    pub error: &'a Problem,
}

impl Document for Failed<'_> {
    const KIND: &'static str = "Error";
}

/// A step of a host.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HostStep {
    pub host: String,
    pub stage: Stage,
    #[serde(flatten)]
    pub step: Step,
    /// It may drop the connection to the host.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub disruptive: bool,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Plan {
    /// Planned from the file alone.
    pub offline: bool,
    pub hosts: Vec<PlanHost>,
    pub read_only: Vec<ReadOnlyHost>,
    pub cluster: Vec<PlannedObject>,
    pub summary: Counts,
}

impl Document for Plan {
    const KIND: &'static str = "Plan";
}

#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PlanHost {
    pub name: String,
    /// The operating system, as the host reports it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system: Option<String>,
    pub steps: Vec<HostStep>,
    /// Stages that cannot be planned before the host has joined.
    pub known_after_join: Vec<Stage>,
    /// Offline: programs that neither the file nor the lock pins.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub programs_without_hash: Vec<String>,
    /// Offline: what the agent would get, as `casement converge` takes it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub documents: Vec<NodeDocument>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<Problem>,
}

/// A change with the values, which can be whole objects.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PlannedObject {
    #[serde(flatten)]
    pub change: ObjectChange,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<Value>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Status {
    pub hosts: Vec<HostStatus>,
}

impl Document for Status {
    const KIND: &'static str = "Status";
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HostStatus {
    pub name: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub system: String,
    /// `Ready`, `NotReady`, `none`.
    pub node: &'static str,
    pub status: SyncStatus,
    /// The steps that are not in sync.
    pub drift: Vec<HostStep>,
    /// Stages that cannot be compared before the host has joined.
    pub known_after_join: Vec<Stage>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<Problem>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum SyncStatus {
    InSync,
    Drifted,
    /// It could not be observed.
    Unknown,
    /// casement does not change it.
    ReadOnly,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Doctor {
    /// The hosts that were checked.
    pub hosts: Vec<String>,
    pub findings: Vec<DoctorFinding>,
}

impl Document for Doctor {
    const KIND: &'static str = "Doctor";
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DoctorFinding {
    /// None if the cause concerns the cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    pub error: Problem,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Lint {
    /// The files that were checked.
    pub files: Vec<String>,
    /// As [`casement_diag::json_with_sources`] formats them.
    pub findings: Value,
}

impl Document for Lint {
    const KIND: &'static str = "Lint";
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Catalog {
    /// None for the list of topics.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub topic: Option<&'static str>,
    pub rows: casement_catalog::Table,
}

impl Document for Catalog {
    const KIND: &'static str = "Catalog";
}

/// What `apply`, `join` and `reset` did; the kind is that of the verb.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RunReport {
    #[serde(flatten)]
    pub run: Run,
    /// The directory of its record.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub record: Option<String>,
    /// Why the run ended before its hosts did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<Problem>,
}

impl RunReport {
    /// None if no document is to be printed.
    pub fn of(
        format: Format,
        record: Option<ClosedRecord>,
        error: Option<&Problem>,
    ) -> Option<Self> {
        let record = record.filter(|_| format.is_json())?;
        Some(Self {
            run: record.run?,
            record: record.dir.map(|dir| dir.display().to_string()),
            error: error.cloned(),
        })
    }
}

/// Of a run that was read from its record.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    #[serde(flatten)]
    pub report: RunReport,
}

impl Document for Report {
    const KIND: &'static str = "Report";
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Apply {
    #[serde(flatten)]
    pub report: RunReport,
    pub read_only: Vec<ReadOnlyHost>,
}

impl Document for Apply {
    const KIND: &'static str = "Apply";
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Join {
    #[serde(flatten)]
    pub joined: Joined,
    #[serde(flatten)]
    pub apply: Apply,
}

impl Document for Join {
    const KIND: &'static str = "Join";
}

/// The cluster file that `join` generated.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Joined {
    pub file: String,
    pub cluster: Value,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Reset {
    #[serde(flatten)]
    pub report: RunReport,
    /// Without `--cluster`: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub restored: Option<Vec<RestoredField>>,
}

impl Document for Reset {
    const KIND: &'static str = "Reset";
}

/// A field of an object of the cluster that had been changed.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RestoredField {
    #[serde(flatten)]
    pub object: casement_cluster::ObjectRef,
    /// A JSON pointer.
    pub field: String,
    pub result: RestoreResult,
    /// The value that casement had set, if it was changed since.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub found: Option<Value>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum RestoreResult {
    Restored,
    /// It had its prior value already.
    Unchanged,
    /// The object no longer exists.
    ObjectMissing,
    /// It was changed by someone else, and kept.
    Kept,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Sample {
    #[serde(flatten)]
    pub status: casement_cluster::SampleStatus,
}

impl Document for Sample {
    const KIND: &'static str = "SampleStatus";
}

#[cfg(all(unix, feature = "lab"))]
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Lab {
    pub name: String,
    /// Where the files of the lab are.
    pub folder: String,
    pub hosts: Vec<casement_lab::status::HostStatus>,
}

#[cfg(all(unix, feature = "lab"))]
impl Document for Lab {
    const KIND: &'static str = "LabStatus";
}

#[cfg(test)]
mod tests;
