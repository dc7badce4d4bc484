//! What a run needs from the Kubernetes API: implemented with [`casement_cluster`], and by
//! fakes in tests.

use std::collections::BTreeMap;
use std::future::Future;

use casement_plan::{ClusterFacts, NodeFacts};
use casement_resource::Secret;
use casement_spec::Taint;

use crate::error::RunError;

/// A bootstrap token for one host.
#[derive(Debug, Clone)]
pub struct Token {
    /// The public part, which names the token's Secret.
    pub id: String,
    /// The complete token; only the host gets it.
    pub value: Secret,
}

pub trait ClusterApi: Sync {
    /// Reads the whole cluster: a run does so twice, before it changes anything and when
    /// all hosts have joined.
    fn facts(&self) -> impl Future<Output = Result<ClusterFacts, RunError>> + Send;

    /// Valid for at most one hour.
    fn create_token(&self, host: &str) -> impl Future<Output = Result<Token, RunError>> + Send;

    /// Succeeds if the token does not exist.
    fn delete_token(&self, id: &str) -> impl Future<Output = Result<(), RunError>> + Send;

    /// Deletes the tokens that interrupted runs left for these hosts, which have joined.
    fn delete_leftover_tokens(
        &self,
        hosts: &[&str],
    ) -> impl Future<Output = Result<(), RunError>> + Send;

    /// Waits until the Node exists and has a pod CIDR.
    fn wait_joined(&self, node: &str) -> impl Future<Output = Result<NodeFacts, RunError>> + Send;

    /// `on_wait` gets the reason why the Node is not Ready.
    fn wait_ready(
        &self,
        node: &str,
        on_wait: &(dyn Fn(String) + Sync),
    ) -> impl Future<Output = Result<(), RunError>> + Send;

    /// Uncordons or cordons the Node.
    fn set_schedulable(
        &self,
        node: &str,
        schedulable: bool,
    ) -> impl Future<Output = Result<(), RunError>> + Send;

    fn label(
        &self,
        node: &str,
        labels: &BTreeMap<String, String>,
    ) -> impl Future<Output = Result<(), RunError>> + Send;

    /// Adds missing taints.
    fn taint(
        &self,
        node: &str,
        taints: &[Taint],
    ) -> impl Future<Output = Result<(), RunError>> + Send;

    /// Watches the certificate request of a joining node and approves it if the cluster
    /// does not. Returns only with an error; dropped when the node has joined.
    fn watch_join(
        &self,
        node: &str,
        on_wait: &(dyn Fn(String) + Sync),
    ) -> impl Future<Output = Result<(), RunError>> + Send;

    fn drain(
        &self,
        node: &str,
        on_wait: &(dyn Fn(String) + Sync),
    ) -> impl Future<Output = Result<(), RunError>> + Send;

    /// Deletes the Node and the objects created for it.
    fn remove_node(&self, node: &str) -> impl Future<Output = Result<(), RunError>> + Send;
}
