//! Removes a host from the cluster: casement's resources on it, the agent, the Node.

use casement_resource::RunId;
use casement_resource::wire::Event;

use crate::cancel::CancelToken;
use crate::cluster_api::ClusterApi;
use crate::error::RunError;
use crate::host_agent::HostAgent;
use crate::host_lock::when_unlocked;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Drain {
    /// Before anything else.
    First,
    /// Pods are left to their controllers.
    Skip,
}

pub struct Reset<'a, A> {
    pub api: &'a A,
    pub run: &'a RunId,
    /// Checked between the stages; the agent handles it within one.
    pub cancel: &'a CancelToken,
}

impl<A: ClusterApi> Reset<'_, A> {
    /// `node` is `None` for a host that casement did not join. The Node is deleted last:
    /// as long as it exists, an incomplete reset is visible.
    ///
    /// Every stage is idempotent, so an interrupted reset is resumed by running it again.
    pub async fn reset_host<H: HostAgent>(
        &self,
        mut host: H,
        node: Option<Drain>,
        on_event: &(dyn Fn(&Event) + Sync),
        waiting: &(dyn Fn(String) + Sync),
    ) -> Result<(), RunError> {
        let name = host.name().to_owned();
        if node == Some(Drain::First) {
            let drain = self.api.drain(&name, waiting);
            self.cancel.run(&name, drain).await?;
        }
        if self.cancel.is_canceled() {
            return Err(RunError::Canceled { host: name });
        }
        let remove = async || host.remove(self.run, on_event).await;
        when_unlocked(self.cancel, waiting, remove).await?;
        // No cancellation from here on: it is quick, and half of it would be confusing.
        host.retire().await?;
        if node.is_some() {
            self.api.remove_node(&name).await?;
        }
        Ok(())
    }
}
