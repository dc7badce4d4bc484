//! The documents of all hosts from the spec alone.

use casement_resource::{NodeDocument, Stage};
use casement_spec::{Cluster, Host, Program, Role};

use crate::facts::{ClusterFacts, Inputs};
use crate::release::Release;
use crate::steps::PlanError;
use crate::{linux, windows};

/// What one host would be, as far as the spec tells.
#[derive(Debug)]
pub struct HostPlan<'a> {
    /// The host.
    pub host: &'a Host,
    /// The documents that can be made, in the order of the stages.
    pub documents: Vec<NodeDocument>,
    /// Stages without a document: they need what is known after the join, or are
    /// a plain TLS bootstrap.
    pub open: Vec<Stage>,
    /// Programs that the host needs and whose hash is not known.
    pub open_programs: Vec<Program>,
}

/// The documents of every host that casement may change and that runs pods, in
/// the file's order.
///
/// # Errors
/// When the spec asks for what cannot be: a version that is not covered, a pod
/// network too small, Windows without containerd.
pub fn documents<'a>(
    cluster: &'a Cluster,
    inputs: &Inputs,
    facts: &ClusterFacts,
) -> Result<Vec<HostPlan<'a>>, PlanError> {
    let inputs = Inputs {
        open_programs: true,
        ..inputs.clone()
    };
    let workers = cluster.hosts_with(Role::Worker);
    let managed = workers.filter(|host| host.managed);
    managed
        .map(|host| host_plan(cluster, host, &inputs, facts))
        .collect()
}

impl HostPlan<'_> {
    fn join(&mut self, cluster: &Cluster, facts: &ClusterFacts) -> Result<(), PlanError> {
        match crate::join::join(cluster, self.host, facts) {
            Ok(document) => self.documents.push(document),
            Err(PlanError::Bootstrap(_)) => self.open.push(Stage::Join),
            Err(error) => return Err(error),
        }
        Ok(())
    }
}

fn host_plan<'a>(
    cluster: &'a Cluster,
    host: &'a Host,
    inputs: &Inputs,
    facts: &ClusterFacts,
) -> Result<HostPlan<'a>, PlanError> {
    let mut plan = HostPlan {
        host,
        documents: Vec::new(),
        open: Vec::new(),
        open_programs: Vec::new(),
    };
    let network = if host.os.is_windows() {
        plan.documents
            .push(windows::prepare(cluster, host, inputs)?);
        plan.join(cluster, facts)?;
        plan.open_programs = windows::names(cluster, Release::of(cluster)?)
            .filter(|program| !inputs.programs.contains_key(program))
            .collect();
        windows::network(cluster, host, facts)
    } else {
        // A Linux host of an existing cluster is a node already.
        if cluster.spec.existing.is_none() {
            plan.documents.push(linux::prepare(cluster, host, inputs)?);
            plan.join(cluster, facts)?;
        }
        linux::network(cluster, host, facts)
    };
    match network {
        Ok(document) => plan.documents.push(document),
        Err(PlanError::NoPodNetwork(_)) => plan.open.push(Stage::Network),
        Err(error) => return Err(error),
    }
    Ok(plan)
}
