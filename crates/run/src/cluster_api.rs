//! What a run asks of the cluster; [`casement_cluster`] answers it, and tests do.

use std::collections::BTreeMap;
use std::future::Future;

use casement_plan::{ClusterFacts, NodeFacts};
use casement_resource::Secret;
use casement_spec::Taint;

use crate::error::RunError;

/// A bootstrap token for one host.
#[derive(Debug, Clone)]
pub struct Token {
    /// The public half, by which it is deleted.
    pub id: String,
    /// The whole, for the host only.
    pub value: Secret,
}

/// The Kubernetes API, as far as a run needs it.
pub trait Api: Sync {
    /// What the cluster is now.
    fn facts(&self) -> impl Future<Output = Result<ClusterFacts, RunError>> + Send;

    /// Makes a token for one host, for at most an hour.
    fn mint(&self, host: &str) -> impl Future<Output = Result<Token, RunError>> + Send;

    /// Deletes a token; one that is gone already is no error.
    fn revoke(&self, id: &str) -> impl Future<Output = Result<(), RunError>> + Send;

    /// Deletes the tokens that runs which were cut off have left for these hosts:
    /// they have joined, so nobody needs one any more.
    fn sweep(&self, hosts: &[&str]) -> impl Future<Output = Result<(), RunError>> + Send;

    /// Waits until the Node exists and has a pod network.
    fn joined(&self, node: &str) -> impl Future<Output = Result<NodeFacts, RunError>> + Send;

    /// Waits until the Node is Ready; `tell` hears why it is not yet.
    fn ready(
        &self,
        node: &str,
        tell: &(dyn Fn(String) + Sync),
    ) -> impl Future<Output = Result<(), RunError>> + Send;

    /// Lets pods be scheduled on the Node, or not.
    fn schedulable(
        &self,
        node: &str,
        yes: bool,
    ) -> impl Future<Output = Result<(), RunError>> + Send;

    /// Puts labels on the Node.
    fn label(
        &self,
        node: &str,
        labels: &BTreeMap<String, String>,
    ) -> impl Future<Output = Result<(), RunError>> + Send;

    /// Puts taints on the Node that it lacks.
    fn taint(
        &self,
        node: &str,
        taints: &[Taint],
    ) -> impl Future<Output = Result<(), RunError>> + Send;

    /// Stands by while a node joins: watches its certificate request, and approves
    /// it where nobody else does. Ends only with an error; it is dropped when the
    /// node has joined.
    fn attend(
        &self,
        node: &str,
        tell: &(dyn Fn(String) + Sync),
    ) -> impl Future<Output = Result<(), RunError>> + Send;

    /// Moves pods off the Node.
    fn drain(
        &self,
        node: &str,
        tell: &(dyn Fn(String) + Sync),
    ) -> impl Future<Output = Result<(), RunError>> + Send;

    /// Takes the Node, and what was made for it, out of the cluster.
    fn forget(&self, node: &str) -> impl Future<Output = Result<(), RunError>> + Send;
}
