//! The documents of all hosts, planned from the spec alone.

use casement_resource::{NodeDocument, Stage};
use casement_spec::{Cluster, Host, Program, Role};

use crate::facts::{ClusterFacts, Inputs};
use crate::release::Release;
use crate::steps::PlanError;
use crate::{linux, windows};

#[derive(Debug)]
pub struct HostPlan<'a> {
    pub host: &'a Host,
    /// In the order of the stages.
    pub documents: Vec<NodeDocument>,
    /// Stages that need facts from after the join, or a plain TLS bootstrap.
    pub deferred: Vec<Stage>,
    /// Required programs without a known hash.
    pub missing_programs: Vec<Program>,
}

/// The documents of every managed worker, in the file's order.
///
/// # Errors
/// The spec has an unsupported version, a pod network that is too small, or containerd on a
/// Windows release without it.
pub fn documents<'a>(
    cluster: &'a Cluster,
    inputs: &Inputs,
    facts: &ClusterFacts,
) -> Result<Vec<HostPlan<'a>>, PlanError> {
    let inputs = Inputs {
        allow_missing_programs: true,
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
            Err(PlanError::Bootstrap(_)) => self.deferred.push(Stage::Join),
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
        deferred: Vec::new(),
        missing_programs: Vec::new(),
    };
    let network = if host.os.is_windows() {
        plan.documents
            .push(windows::prepare(cluster, host, inputs)?);
        plan.join(cluster, facts)?;
        plan.missing_programs = windows::names(cluster, Release::of(cluster)?)
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
        Err(PlanError::NoPodNetwork(_)) => plan.deferred.push(Stage::Network),
        Err(error) => return Err(error),
    }
    Ok(plan)
}
