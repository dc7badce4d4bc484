//! What a document holds and the agent cannot carry out yet.
//!
//! The plan of a host is whole; a run sends what the agent can do, and tells the
//! person about the rest.

use casement_resource::{NodeDocument, Resource, Step};

use crate::steps::PlanError;

/// A document parted in two.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parted {
    /// What the agent does.
    pub now: NodeDocument,
    /// What is left to a person.
    pub later: Vec<Step>,
}

/// Parts a document. Nothing that the agent does comes after what it cannot do.
///
/// # Errors
/// When the rest is no document, which would be a fault of the plan.
pub fn parted(document: &NodeDocument) -> Result<Parted, PlanError> {
    let (later, now): (Vec<Step>, Vec<Step>) = document
        .steps()
        .iter()
        .cloned()
        .partition(|step| is_later(&step.resource));
    let host = document.host().to_owned();
    let now = NodeDocument::new(host, document.stage(), now)?;
    Ok(Parted { now, later })
}

fn is_later(resource: &Resource) -> bool {
    matches!(resource, Resource::FirewallRule(_))
}
