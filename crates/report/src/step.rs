//! What a plan or a run does to one thing: a step on a host, or an object of the cluster.
//!
//! These types are written to the record of a run and printed by `-o json`, see
//! `docs/reference/json-output.md`: fields may be added, not renamed.

use std::fmt;

use casement_diag::Problem;
use casement_resource::{Change, Diff, Failure, ResourceId};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Action {
    Create,
    Change,
    Remove,
    /// Nothing: it is in sync.
    None,
    /// It could not be observed.
    Unknown,
}

impl Action {
    /// Of a value or an object.
    #[must_use]
    pub fn new(absent_before: bool, absent_after: bool) -> Self {
        match (absent_before, absent_after) {
            (true, _) => Self::Create,
            (false, true) => Self::Remove,
            (false, false) => Self::Change,
        }
    }

    #[must_use]
    pub fn of(change: &Change) -> Self {
        Self::new(change.before.is_none(), change.after.is_none())
    }

    /// Of a step with these changes.
    #[must_use]
    pub fn of_all(changes: &[Change]) -> Self {
        let mut actions = changes.iter().map(Self::of);
        let first = actions.next().unwrap_or(Self::Change);
        match actions.all(|action| action == first) {
            true => first,
            false => Self::Change,
        }
    }

    #[must_use]
    pub fn of_result(result: &Result<Diff, Failure>) -> Self {
        match result {
            Ok(Diff::InSync { .. }) => Self::None,
            Ok(Diff::Changes(changes)) => Self::of_all(changes),
            Err(_) => Self::Unknown,
        }
    }

    /// The sign at the start of a line of a plan.
    #[must_use]
    pub fn sign(self) -> &'static str {
        match self {
            Self::Create => "+",
            Self::Change => "~",
            Self::Remove => "-",
            Self::None => "=",
            Self::Unknown => "?",
        }
    }
}

/// One step of a node document: what it needs, or why it could not be observed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Step {
    pub id: ResourceId,
    /// The kind of the resource: `service`.
    pub kind: String,
    /// The object on the host; empty if there is only one of its kind.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    pub action: Action,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<Change>,
    /// Why it is in sync, or was skipped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Fields that the platform cannot observe: not known to be equal.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unobserved: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Problem>,
}

impl Step {
    /// `identity` is the kind of the resource and the name of the object.
    #[must_use]
    pub fn new(id: &ResourceId, identity: &str, action: Action) -> Self {
        let (kind, name) = identity.split_once(' ').unwrap_or((identity, ""));
        Self {
            id: id.clone(),
            kind: kind.to_owned(),
            name: name.to_owned(),
            action,
            changes: Vec::new(),
            reason: None,
            unobserved: Vec::new(),
            error: None,
        }
    }

    /// A step that was compared with its host.
    #[must_use]
    pub fn observed(id: &ResourceId, identity: &str, result: &Result<Diff, Failure>) -> Self {
        let mut step = Self::new(id, identity, Action::of_result(result));
        match result {
            Ok(Diff::InSync { reason, unobserved }) => {
                step.reason = Some(reason.clone());
                step.unobserved.clone_from(unobserved);
            }
            Ok(Diff::Changes(changes)) => step.changes.clone_from(changes),
            Err(failure) => step.error = Some(problem(failure)),
        }
        step
    }

    /// The kind and the name, as messages have them.
    #[must_use]
    pub fn identity(&self) -> String {
        match self.name.as_str() {
            "" => self.kind.clone(),
            name => format!("{} {name}", self.kind),
        }
    }
}

/// A failure on a host as an error for the user.
#[must_use]
pub fn problem(failure: &Failure) -> Problem {
    let (message, help) = (failure.message.clone(), failure.help.clone());
    let problem = Problem::new(failure.code.to_string(), message, help);
    let values = [("expected", &failure.expected), ("found", &failure.found)];
    values
        .into_iter()
        .fold(problem, |problem, (label, value)| match value {
            Some(value) => problem.detail(label, value),
            None => problem,
        })
}

/// One change of an object of the cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ObjectChange {
    /// `apps/v1`.
    pub api_version: String,
    pub kind: String,
    /// None for objects of the whole cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    pub name: String,
    pub action: Action,
    /// A JSON pointer; none if the change is of the object as a whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// What is done, if it is not to set a value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// What stops working meanwhile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outage: Option<String>,
}

/// `DaemonSet kube-system/kube-proxy`.
impl fmt::Display for ObjectChange {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} ", self.kind)?;
        if let Some(namespace) = &self.namespace {
            write!(formatter, "{namespace}/")?;
        }
        formatter.write_str(&self.name)
    }
}

#[cfg(test)]
mod tests {
    use casement_resource::Code;

    use super::*;

    #[test]
    fn a_step_has_one_action_for_all_its_changes() {
        let missing = || Change::missing("exists", "yes");
        let removed = Change {
            after: None,
            ..Change::field("exists", "yes", "no")
        };
        assert_eq!(Action::of_all(&[missing(), missing()]), Action::Create);
        assert_eq!(
            Action::of_all(&[missing(), removed.clone()]),
            Action::Change
        );
        assert_eq!(Action::of_all(&[removed]), Action::Remove);
    }

    #[test]
    fn an_identity_is_split_into_kind_and_name() {
        let id = "a".parse().unwrap();
        let result = Ok(Diff::unchanged("same content"));
        for (identity, kind, name) in [
            (r"file C:\Program Files\a", "file", r"C:\Program Files\a"),
            ("hostname", "hostname", ""),
        ] {
            let step = Step::observed(&id, identity, &result);
            assert_eq!((step.kind.as_str(), step.name.as_str()), (kind, name));
            assert_eq!(step.identity(), identity);
            assert_eq!(step.action, Action::None);
        }
    }

    #[test]
    fn a_step_that_could_not_be_observed_has_the_failure() {
        let failure = Failure::new(Code::System, "access denied", "log in as Administrator");
        let failure = failure.values("a reply", "nothing");
        let step = Step::observed(&"a".parse().unwrap(), "file a", &Err(failure));
        assert_eq!(step.action, Action::Unknown);
        let json = serde_json::to_value(&step).unwrap();
        assert_eq!(json["error"]["code"], "CAS-NODE-002");
        assert_eq!(json["error"]["expected"], "a reply");
        assert_eq!(json["error"]["found"], "nothing");
        assert_eq!(serde_json::from_value::<Step>(json).unwrap(), step);
    }
}
