//! Puts a document together, step by step.

use casement_net::pod_network::TooSmall;
use casement_resource::{
    DocumentError, HostPath, NameError, NodeDocument, PathError, Resource, ResourceId, Stage, Step,
};
use casement_spec::Program;

/// Why there is no document.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// A program that the host needs was not given.
    #[error("`{0}` is needed and is not in `artifacts.overrides`")]
    NoProgram(Program),
    /// The node has no pod network yet.
    #[error("the node `{0}` has no pod network yet")]
    NoPodNetwork(String),
    /// The node's pod network cannot be used.
    #[error(transparent)]
    PodNetwork(#[from] TooSmall),
    /// A path that came out wrong.
    #[error(transparent)]
    Path(#[from] PathError),
    /// An id that came out wrong.
    #[error(transparent)]
    Id(#[from] NameError),
    /// Steps that do not fit together.
    #[error(transparent)]
    Document(#[from] DocumentError),
}

/// A document under construction.
#[derive(Debug, Default)]
pub(crate) struct Steps {
    steps: Vec<Step>,
}

impl Steps {
    /// Adds a step that comes after others.
    pub(crate) fn add(
        &mut self,
        id: &str,
        after: &[&str],
        resource: Resource,
    ) -> Result<(), PlanError> {
        self.push(id, after, false, resource)
    }

    /// Adds a step that may cut the connection.
    pub(crate) fn add_disruptive(
        &mut self,
        id: &str,
        after: &[&str],
        resource: Resource,
    ) -> Result<(), PlanError> {
        self.push(id, after, true, resource)
    }

    fn push(
        &mut self,
        id: &str,
        after: &[&str],
        disruptive: bool,
        resource: Resource,
    ) -> Result<(), PlanError> {
        let after = after.iter().map(|id| id.parse::<ResourceId>());
        self.steps.push(Step {
            id: id.parse()?,
            after: after.collect::<Result<_, _>>()?,
            disruptive,
            resource,
        });
        Ok(())
    }

    /// The finished document.
    pub(crate) fn finish(self, host: &str, stage: Stage) -> Result<NodeDocument, PlanError> {
        Ok(NodeDocument::new(host.to_owned(), stage, self.steps)?)
    }
}

/// A path on a host.
pub(crate) fn path(text: &str) -> Result<HostPath, PlanError> {
    Ok(text.parse()?)
}
