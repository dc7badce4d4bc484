//! Takes a host back: what casement made there, the agent, the Node.

use casement_resource::RunId;
use casement_resource::wire::Event;

use crate::api::Api;
use crate::error::RunError;
use crate::host::Host;
use crate::stop::Stop;
use crate::turn::in_turn;

/// What becomes of the pods of a host that is a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Drain {
    /// They are moved before anything else.
    First,
    /// They are left to their controllers.
    Not,
}

/// What is the same for all hosts of a reset.
pub struct Reset<'a, A> {
    /// The cluster.
    pub api: &'a A,
    /// The name of the run.
    pub run: &'a RunId,
    /// Heeded between the parts; the host heeds it while it is at work.
    pub stop: &'a Stop,
}

impl<A: Api> Reset<'_, A> {
    /// Takes one host back: `node` says what becomes of its pods, and is none for a
    /// host that is no node of casement's making. The Node goes last: as long as it is
    /// there, somebody sees that the host is not done.
    ///
    /// Each part finds nothing to do when it was done before, so a reset that was
    /// stopped or cut off is simply asked for again.
    pub async fn take_back<H: Host>(
        &self,
        mut host: H,
        node: Option<Drain>,
        tell: &(dyn Fn(&Event) + Sync),
        waiting: &(dyn Fn(String) + Sync),
    ) -> Result<(), RunError> {
        let name = host.name().to_owned();
        if node == Some(Drain::First) {
            let drain = self.api.drain(&name, waiting);
            self.stop.heeded(&name, drain).await?;
        }
        if self.stop.is_asked() {
            return Err(RunError::Stopped { host: name });
        }
        let remove = async || host.remove(self.run, tell).await;
        in_turn(self.stop, waiting, remove).await?;
        // From here on it is quick, and better done than left.
        host.leave().await?;
        if node.is_some() {
            self.api.forget(&name).await?;
        }
        Ok(())
    }
}
