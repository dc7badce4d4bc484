//! The document: the desired state of one host at one stage of a run.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Resource, ResourceId};

/// The newest supported document version. It increases when an older agent would
/// misinterpret a document.
pub const DOCUMENT_VERSION: u32 = 1;

/// A part of a run; each stage is planned when its facts are available.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Stage {
    /// Runtime, files and services: needs nothing from the cluster.
    Prepare,
    /// Joins the cluster.
    Join,
    /// Needs the node's pod CIDR.
    Network,
}

impl Stage {
    /// The name on the wire.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Prepare => "prepare",
            Self::Join => "join",
            Self::Network => "network",
        }
    }
}

/// What the agent does about drift on its own.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Repair {
    /// Fixes the drift.
    #[default]
    Auto,
    /// Only reports the drift.
    Report,
}

impl fmt::Display for Repair {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Auto => "auto",
            Self::Report => "report",
        })
    }
}

/// A resource with its dependencies.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Step {
    /// Stable across documents and stages.
    pub id: ResourceId,
    /// Steps that must be in sync first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<ResourceId>,
    /// It may drop the connection to the host.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub disruptive: bool,
    pub resource: Resource,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DocumentError {
    #[error("two steps have the id `{0}`")]
    Duplicate(ResourceId),
    /// Two steps for one object would undo each other.
    #[error("steps `{first}` and `{second}` both manage {what}")]
    SameTarget {
        first: ResourceId,
        second: ResourceId,
        what: String,
    },
    /// A dependency on a missing step.
    #[error("step `{step}` depends on `{missing}`, which is not in the document")]
    Missing {
        step: ResourceId,
        missing: ResourceId,
    },
    #[error("these steps depend on each other: {}", .0.iter().map(|id| format!("`{id}`")).collect::<Vec<_>>().join(", "))]
    Cycle(Vec<ResourceId>),
    /// A version that only newer agents support.
    #[error(
        "document version {found} is not supported; the newest supported version is {DOCUMENT_VERSION}"
    )]
    Newer { found: u64 },
    /// Not a document, or a document with unknown fields.
    #[error("{0}")]
    Unknown(String),
    #[error("service step `{0}` has an empty program")]
    EmptyProgram(ResourceId),
}

/// Steps with unique ids, whose dependencies exist and form no cycle, in the order of
/// execution.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "serde_json::Value", into = "DocumentJson")]
pub struct NodeDocument {
    host: String,
    stage: Stage,
    repair: Repair,
    steps: Vec<Step>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct DocumentJson {
    /// Omitted for version 1.
    #[serde(default = "first", skip_serializing_if = "is_first")]
    version: u32,
    host: String,
    stage: Stage,
    #[serde(default)]
    repair: Repair,
    steps: Vec<Step>,
}

fn first() -> u32 {
    1
}

fn is_first(version: &u32) -> bool {
    *version == first()
}

impl NodeDocument {
    /// Validates and sorts the steps: dependencies first, ties in the given order, so
    /// that the same steps always result in the same bytes.
    pub fn new(host: String, stage: Stage, steps: Vec<Step>) -> Result<Self, DocumentError> {
        check_steps(&steps)?;
        let steps = ordered(steps)?;
        Ok(Self {
            host,
            stage,
            repair: Repair::default(),
            steps,
        })
    }

    /// Sets what the agent does about later drift.
    #[must_use]
    pub fn with_repair(self, repair: Repair) -> Self {
        Self { repair, ..self }
    }

    /// The host's name in the spec.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Which part of a run this is.
    #[must_use]
    pub fn stage(&self) -> Stage {
        self.stage
    }

    /// What the agent does about later drift.
    #[must_use]
    pub fn repair(&self) -> Repair {
        self.repair
    }

    #[must_use]
    pub fn step(&self, id: &ResourceId) -> Option<&Step> {
        self.steps.iter().find(|step| step.id == *id)
    }

    /// Removes steps, and dependencies on them.
    #[must_use]
    pub fn without(mut self, removed: &[ResourceId]) -> Self {
        self.steps.retain(|step| !removed.contains(&step.id));
        for step in &mut self.steps {
            step.after.retain(|id| !removed.contains(id));
        }
        self
    }

    /// The steps, dependencies first.
    #[must_use]
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }
}

/// Deserialized from a value, so that the version is checked before unknown fields
/// cause an error.
impl TryFrom<Value> for NodeDocument {
    type Error = DocumentError;
    fn try_from(value: Value) -> Result<Self, DocumentError> {
        let version = value.get("version").and_then(Value::as_u64);
        if let Some(found) = version.filter(|found| *found > DOCUMENT_VERSION.into()) {
            return Err(DocumentError::Newer { found });
        }
        let written = serde_json::from_value::<DocumentJson>(value);
        let written = written.map_err(|error| DocumentError::Unknown(error.to_string()))?;
        let document = Self::new(written.host, written.stage, written.steps)?;
        Ok(document.with_repair(written.repair))
    }
}

impl From<NodeDocument> for DocumentJson {
    fn from(document: NodeDocument) -> Self {
        let NodeDocument {
            host,
            stage,
            repair,
            steps,
        } = document;
        Self {
            version: DOCUMENT_VERSION,
            host,
            stage,
            repair,
            steps,
        }
    }
}

fn check_steps(steps: &[Step]) -> Result<(), DocumentError> {
    let mut ids = BTreeSet::new();
    let mut targets = BTreeMap::new();
    for step in steps {
        if !ids.insert(&step.id) {
            return Err(DocumentError::Duplicate(step.id.clone()));
        }
        if let Resource::Service(service) = &step.resource
            && service.definition.program.is_empty()
        {
            return Err(DocumentError::EmptyProgram(step.id.clone()));
        }
        // Two waits for the same condition, at different positions, are fine.
        if matches!(step.resource, Resource::Wait(_)) {
            continue;
        }
        let what = step.resource.identity();
        if let Some(first) = targets.insert(what.to_lowercase(), &step.id) {
            return Err(DocumentError::SameTarget {
                first: first.clone(),
                second: step.id.clone(),
                what,
            });
        }
    }
    Ok(())
}

/// Kahn's algorithm; the original position breaks ties.
fn ordered(steps: Vec<Step>) -> Result<Vec<Step>, DocumentError> {
    let positions: BTreeMap<_, _> = steps
        .iter()
        .enumerate()
        .map(|(position, step)| (step.id.clone(), position))
        .collect();
    let mut waiting: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
    for (position, step) in steps.iter().enumerate() {
        let mut before = BTreeSet::new();
        for id in &step.after {
            let Some(earlier) = positions.get(id) else {
                let (step, missing) = (step.id.clone(), id.clone());
                return Err(DocumentError::Missing { step, missing });
            };
            before.insert(*earlier);
        }
        waiting.insert(position, before);
    }
    let mut order = Vec::with_capacity(steps.len());
    while let Some(next) = waiting
        .iter()
        .find_map(|(position, before)| before.is_empty().then_some(*position))
    {
        waiting.remove(&next);
        for before in waiting.values_mut() {
            before.remove(&next);
        }
        order.push(next);
    }
    let mut steps: BTreeMap<usize, Step> = steps.into_iter().enumerate().collect();
    if !waiting.is_empty() {
        let stuck = waiting.keys().filter_map(|position| steps.get(position));
        return Err(DocumentError::Cycle(
            stuck.map(|step| step.id.clone()).collect(),
        ));
    }
    Ok(order
        .into_iter()
        .filter_map(|position| steps.remove(&position))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Env, Resource};

    fn step(id: &str, after: &[&str]) -> Step {
        Step {
            id: id.parse().unwrap(),
            after: after.iter().map(|id| id.parse().unwrap()).collect(),
            disruptive: false,
            resource: Resource::Env(Env {
                name: id.to_owned(),
                value: "x".to_owned(),
            }),
        }
    }

    fn document(steps: Vec<Step>) -> Result<NodeDocument, DocumentError> {
        NodeDocument::new("win1".to_owned(), Stage::Prepare, steps)
    }

    fn ids(document: &NodeDocument) -> Vec<&str> {
        document
            .steps()
            .iter()
            .map(|step| step.id.as_str())
            .collect()
    }

    #[test]
    fn dependencies_come_first_and_ties_keep_their_order() {
        let document = document(vec![step("z", &["a"]), step("m", &[]), step("a", &[])]).unwrap();
        assert_eq!(ids(&document), ["m", "a", "z"]);
    }

    #[test]
    fn invalid_documents_are_rejected() {
        let error = |steps| document(steps).unwrap_err().to_string();
        assert!(error(vec![step("a", &[]), step("a", &[])]).contains("`a`"));
        assert!(error(vec![step("a", &["b"])]).contains("`b`"));
        let cycle = error(vec![step("a", &["b"]), step("b", &["a"]), step("c", &[])]);
        assert!(cycle.contains("`a`, `b`"), "{cycle}");
        let mut same = step("other", &[]);
        same.resource = step("A", &[]).resource;
        assert!(error(vec![step("a", &[]), same]).contains("both manage env"));
    }

    #[test]
    fn deserialization_validates() {
        let json = r#"{"host":"h","stage":"join","steps":[{"id":"a","after":["b"],"resource":{"kind":"env","name":"n","value":"v"}}]}"#;
        assert!(serde_json::from_str::<NodeDocument>(json).is_err());
        let unknown = r#"{"host":"h","stage":"join","steps":[{"id":"a","resource":{"kind":"env","name":"n","value":"v","x":1}}]}"#;
        assert!(serde_json::from_str::<NodeDocument>(unknown).is_err());
    }

    #[test]
    fn a_newer_version_is_rejected_before_unknown_fields() {
        let json = r#"{"paint":"blue","version":2,"host":"h","stage":"decorate","steps":[]}"#;
        let error = serde_json::from_str::<NodeDocument>(json).unwrap_err();
        let expected = "document version 2 is not supported; the newest supported version is 1";
        assert_eq!(error.to_string(), expected);
        let first = r#"{"version":1,"host":"h","stage":"join","steps":[]}"#;
        assert!(serde_json::from_str::<NodeDocument>(first).is_ok());
    }

    #[test]
    fn the_same_document_has_the_same_bytes() {
        let document = document(vec![step("z", &["a"]), step("a", &[])]).unwrap();
        let json = serde_json::to_string(&document).unwrap();
        let read: NodeDocument = serde_json::from_str(&json).unwrap();
        assert_eq!(serde_json::to_string(&read).unwrap(), json);
    }
}
