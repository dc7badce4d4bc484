//! The document: what one host should be at one stage of a run.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Resource, ResourceId};

/// The newest form of a document that is understood here. A form is new when
/// an agent that does not know it would do something else than is meant.
pub const DOCUMENT_VERSION: u32 = 1;

/// Which part of a run a document belongs to; each is planned when its facts
/// are there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Stage {
    /// Runtime, files, services: what needs nothing of the cluster.
    Prepare,
    /// Becoming a node.
    Join,
    /// What needs the node's pod CIDR.
    Network,
}

impl Stage {
    /// Its name, as the wire has it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Prepare => "prepare",
            Self::Join => "join",
            Self::Network => "network",
        }
    }
}

/// What the agent does by itself when the host is found to differ.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Repair {
    /// It puts it right.
    #[default]
    Auto,
    /// It says so, and leaves it to a person.
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

/// One resource with its place in the order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Step {
    /// Its name for ever.
    pub id: ResourceId,
    /// What must be right before it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<ResourceId>,
    /// It may cut the connection to the host.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub disruptive: bool,
    /// What should be.
    pub resource: Resource,
}

/// Why steps are no document.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DocumentError {
    /// Two steps with one id.
    #[error("two steps have the id `{0}`")]
    Duplicate(ResourceId),
    /// Two steps about one thing would undo each other.
    #[error("steps `{first}` and `{second}` are both about {what}")]
    SameThing {
        /// The one.
        first: ResourceId,
        /// The other.
        second: ResourceId,
        /// What both are about.
        what: String,
    },
    /// A dependency on a step that does not exist.
    #[error("step `{step}` comes after `{missing}`, which is not in the document")]
    Missing {
        /// Who depends.
        step: ResourceId,
        /// On what.
        missing: ResourceId,
    },
    /// Steps that wait for each other.
    #[error("these steps wait for each other: {}", .0.iter().map(|id| format!("`{id}`")).collect::<Vec<_>>().join(", "))]
    Cycle(Vec<ResourceId>),
    /// A form that only later versions know.
    #[error(
        "the document has version {found}, and only versions up to {DOCUMENT_VERSION} are known here"
    )]
    Newer {
        /// Its version.
        found: u64,
    },
    /// Something else than a document, or a document with something unknown.
    #[error("{0}")]
    Unknown(String),
    /// A service without a program.
    #[error("service step `{0}` has an empty program")]
    EmptyProgram(ResourceId),
}

/// What one host should be at one stage: steps whose ids are unique, whose
/// dependencies exist and form no cycle, in the order in which they are
/// carried out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "serde_json::Value", into = "Written")]
pub struct NodeDocument {
    host: String,
    stage: Stage,
    repair: Repair,
    steps: Vec<Step>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Written {
    /// Left out of the first one.
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
    /// Checks the steps and puts them in order: dependencies first, and among
    /// those that could come next, the one that was given first, so that the
    /// same steps always give the same bytes.
    pub fn new(host: String, stage: Stage, steps: Vec<Step>) -> Result<Self, DocumentError> {
        check_things(&steps)?;
        let steps = ordered(steps)?;
        Ok(Self {
            host,
            stage,
            repair: Repair::default(),
            steps,
        })
    }

    /// The same, with what is done when the host is found to differ later.
    #[must_use]
    pub fn kept(self, repair: Repair) -> Self {
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

    /// What is done when the host is found to differ later.
    #[must_use]
    pub fn repair(&self) -> Repair {
        self.repair
    }

    /// A step by its name.
    #[must_use]
    pub fn step(&self, id: &ResourceId) -> Option<&Step> {
        self.steps.iter().find(|step| step.id == *id)
    }

    /// The same without some steps; what came after them goes without.
    #[must_use]
    pub fn without(mut self, gone: &[ResourceId]) -> Self {
        self.steps.retain(|step| !gone.contains(&step.id));
        for step in &mut self.steps {
            step.after.retain(|id| !gone.contains(id));
        }
        self
    }

    /// The steps, each after what it depends on.
    #[must_use]
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }
}

/// By way of a value, so that the version is known before anything that only
/// another one has is stumbled over.
impl TryFrom<Value> for NodeDocument {
    type Error = DocumentError;
    fn try_from(value: Value) -> Result<Self, DocumentError> {
        let version = value.get("version").and_then(Value::as_u64);
        if let Some(found) = version.filter(|found| *found > DOCUMENT_VERSION.into()) {
            return Err(DocumentError::Newer { found });
        }
        let written = serde_json::from_value::<Written>(value);
        let written = written.map_err(|error| DocumentError::Unknown(error.to_string()))?;
        let document = Self::new(written.host, written.stage, written.steps)?;
        Ok(document.kept(written.repair))
    }
}

impl From<NodeDocument> for Written {
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

fn check_things(steps: &[Step]) -> Result<(), DocumentError> {
    let mut ids = BTreeSet::new();
    let mut things = BTreeMap::new();
    for step in steps {
        if !ids.insert(&step.id) {
            return Err(DocumentError::Duplicate(step.id.clone()));
        }
        if let Resource::Service(service) = &step.resource
            && service.definition.program.is_empty()
        {
            return Err(DocumentError::EmptyProgram(step.id.clone()));
        }
        // Waiting twice for one thing, at two places of the order, is fine.
        if matches!(step.resource, Resource::Wait(_)) {
            continue;
        }
        let what = step.resource.identity();
        if let Some(first) = things.insert(what.to_lowercase(), &step.id) {
            return Err(DocumentError::SameThing {
                first: first.clone(),
                second: step.id.clone(),
                what,
            });
        }
    }
    Ok(())
}

/// Kahn's algorithm; the position in which steps were given breaks ties.
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
    fn what_is_no_document_is_refused() {
        let error = |steps| document(steps).unwrap_err().to_string();
        assert!(error(vec![step("a", &[]), step("a", &[])]).contains("`a`"));
        assert!(error(vec![step("a", &["b"])]).contains("`b`"));
        let cycle = error(vec![step("a", &["b"]), step("b", &["a"]), step("c", &[])]);
        assert!(cycle.contains("`a`, `b`"), "{cycle}");
        let mut same = step("other", &[]);
        same.resource = step("A", &[]).resource;
        assert!(error(vec![step("a", &[]), same]).contains("both about env"));
    }

    #[test]
    fn reading_checks_as_making_does() {
        let json = r#"{"host":"h","stage":"join","steps":[{"id":"a","after":["b"],"resource":{"kind":"env","name":"n","value":"v"}}]}"#;
        assert!(serde_json::from_str::<NodeDocument>(json).is_err());
        let unknown = r#"{"host":"h","stage":"join","steps":[{"id":"a","resource":{"kind":"env","name":"n","value":"v","x":1}}]}"#;
        assert!(serde_json::from_str::<NodeDocument>(unknown).is_err());
    }

    #[test]
    fn a_newer_document_is_refused_for_its_version_whatever_else_it_has() {
        let json = r#"{"paint":"blue","version":2,"host":"h","stage":"decorate","steps":[]}"#;
        let refused = serde_json::from_str::<NodeDocument>(json).unwrap_err();
        let said = "the document has version 2, and only versions up to 1 are known here";
        assert_eq!(refused.to_string(), said);
        let first = r#"{"version":1,"host":"h","stage":"join","steps":[]}"#;
        assert!(serde_json::from_str::<NodeDocument>(first).is_ok());
    }

    #[test]
    fn the_same_document_has_the_same_bytes() {
        let made = document(vec![step("z", &["a"]), step("a", &[])]).unwrap();
        let json = serde_json::to_string(&made).unwrap();
        let read: NodeDocument = serde_json::from_str(&json).unwrap();
        assert_eq!(serde_json::to_string(&read).unwrap(), json);
    }
}
