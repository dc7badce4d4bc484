//! Puts a document together, step by step.

use std::collections::BTreeSet;

use casement_net::pod_network::TooSmall;
use casement_resource::{
    DocumentError, HostPath, NameError, NodeDocument, PathError, Resource, ResourceId, Stage, Step,
};
use casement_spec::{HostOs, Program};

/// Why there is no document.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// A program that the host needs was not given.
    #[error("`{0}` is needed and is not in `artifacts.overrides`")]
    NoProgram(Program),
    /// A package of an update was not read.
    #[error("the update `{0}` is needed and was not read")]
    NoUpdate(String),
    /// The node has no pod network yet.
    #[error("the node `{0}` has no pod network yet")]
    NoPodNetwork(String),
    /// The node's pod network cannot be used.
    #[error(transparent)]
    PodNetwork(#[from] TooSmall),
    /// A version of Kubernetes that the catalog does not cover.
    #[error("Kubernetes `{0}` is not covered: 1.21 to 1.36 are")]
    Version(String),
    /// A version of containerd that the catalog does not know.
    #[error("containerd `{version}` is older than 1.6, the oldest that is covered")]
    Containerd {
        /// As the spec has it.
        version: String,
    },
    /// A Windows that has no containerd, in a cluster that wants it.
    #[error(
        "the host `{host}` runs `{os}`, which has Docker only, and `runtime.kind` is `containerd`"
    )]
    DockerOnly {
        /// The host.
        host: String,
        /// Its system.
        os: HostOs,
    },
    /// A way to join for which there is no document yet.
    #[error(
        "the host `{0}` joins with `join.method: bootstrap`, which casement cannot carry out yet"
    )]
    Bootstrap(String),
    /// The parts of the pod network do not fit.
    #[error(transparent)]
    AddressPlan(#[from] casement_net::address_plan::PlanError),
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
    /// Steps that could not be made yet; what comes after them goes without.
    absent: BTreeSet<String>,
}

impl Steps {
    /// Notes a step whose values are not known yet.
    pub(crate) fn leave_out(&mut self, id: &str) {
        self.absent.insert(id.to_owned());
    }

    /// Those of some ids that have a step.
    pub(crate) fn present<'a>(&self, ids: &[&'a str]) -> Vec<&'a str> {
        let ids = ids.iter().copied();
        ids.filter(|id| !self.absent.contains(*id)).collect()
    }

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
        let after = self.present(after);
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
