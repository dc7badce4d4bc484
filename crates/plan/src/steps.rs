//! Builds a document step by step.

use std::collections::BTreeSet;

use casement_net::pod_network::TooSmall;
use casement_resource::{
    DocumentError, HostPath, NameError, NodeDocument, PathError, Resource, ResourceId, Stage, Step,
};
use casement_spec::{HostOs, NetworkMode, Program};

#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    #[error("`{0}` is required and not in `artifacts.overrides`")]
    NoProgram(Program),
    #[error("the update `{0}` is required, but its file was not loaded")]
    NoUpdate(String),
    #[error("the node `{0}` has no pod network yet")]
    NoPodNetwork(String),
    #[error(transparent)]
    PodNetwork(#[from] TooSmall),
    #[error("Kubernetes `{0}` is not supported, only 1.21 to 1.36")]
    Version(String),
    #[error("containerd `{version}` is not supported, only 1.6 and newer")]
    Containerd { version: String },
    #[error(
        "the host `{host}` runs `{os}`, which supports only Docker, and `runtime.kind` is `containerd`"
    )]
    DockerOnly { host: String, os: HostOs },
    #[error(
        "the host `{host}` runs `{os}`, which does not support overlay networks, and `network.mode` is `{mode}`"
    )]
    NoOverlay {
        host: String,
        os: HostOs,
        mode: NetworkMode,
    },
    #[error("the host `{0}` has `join.method: bootstrap`, which is not supported yet")]
    Bootstrap(String),
    #[error(transparent)]
    AddressPlan(#[from] casement_net::address_plan::PlanError),
    #[error(transparent)]
    Path(#[from] PathError),
    #[error(transparent)]
    Id(#[from] NameError),
    #[error(transparent)]
    Document(#[from] DocumentError),
}

#[derive(Debug, Default)]
pub(crate) struct Steps {
    steps: Vec<Step>,
    /// Steps whose values are not known yet; dependencies on them are dropped.
    deferred: BTreeSet<String>,
}

impl Steps {
    pub(crate) fn defer(&mut self, id: &str) {
        self.deferred.insert(id.to_owned());
    }

    pub(crate) fn present<'a>(&self, ids: &[&'a str]) -> Vec<&'a str> {
        let ids = ids.iter().copied();
        ids.filter(|id| !self.deferred.contains(*id)).collect()
    }

    pub(crate) fn add(
        &mut self,
        id: &str,
        after: &[&str],
        resource: Resource,
    ) -> Result<(), PlanError> {
        self.push(id, after, false, resource)
    }

    /// For a step that may drop the connection.
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

    pub(crate) fn finish(self, host: &str, stage: Stage) -> Result<NodeDocument, PlanError> {
        Ok(NodeDocument::new(host.to_owned(), stage, self.steps)?)
    }
}

pub(crate) fn path(text: &str) -> Result<HostPath, PlanError> {
    Ok(text.parse()?)
}
