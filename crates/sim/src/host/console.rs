//! Access to a simulated host without SSH: its disk and the agent's programs on it.
//! Authentication and transport are up to the caller.

use std::io::{Read, Write};
use std::path::Path;
use std::sync::Arc;

use casement_node::channel::ChannelServer;
use casement_node::receive::receive;
use casement_node::state::Layout;
use casement_resource::{Blob, Sha256};
use tokio::task::AbortHandle;

use super::Inner;
use super::agent::OnDemand;

#[derive(Clone)]
pub struct Console {
    host: Arc<Inner>,
}

impl Console {
    pub(crate) fn of(host: &Arc<Inner>) -> Self {
        Self {
            host: Arc::clone(host),
        }
    }

    #[must_use]
    pub fn disk(&self) -> &Path {
        &self.host.disk
    }

    #[must_use]
    pub fn layout(&self) -> &Layout {
        &self.host.layout
    }

    /// Lines exchanged between controllers and the agent so far.
    #[must_use]
    pub fn lines(&self) -> u64 {
        self.host.cuts.lines()
    }

    /// Number of boots. No program survives a boot.
    #[must_use]
    pub fn boots(&self) -> u32 {
        self.host.sim.world().boot
    }

    /// Registers a connection that is closed when the host's network fails.
    pub fn track_connection(&self, connection: AbortHandle) {
        self.host.track_connection(connection);
    }

    /// Runs `casement-node channel` of the agent with this hash until either side
    /// disconnects. Returns whether it succeeded.
    pub fn channel(
        &self,
        agent: Sha256,
        input: &mut dyn Read,
        output: Box<dyn Write + Send>,
    ) -> bool {
        self.host.power.wait_until_up();
        let channel = ChannelServer {
            platform: &*self.host.sim,
            layout: &self.host.layout,
            service_client: Arc::new(OnDemand(Arc::clone(&self.host))),
            agent,
            allowed: Ok(()),
        };
        channel.run(input, output).is_ok()
    }

    /// Runs `casement-node receive` for a blob sent as lines. Returns whether it succeeded.
    pub fn receive(&self, expected: &Blob, input: &mut dyn Read, output: &mut dyn Write) -> bool {
        self.host.power.wait_until_up();
        receive(&*self.host.sim, &self.host.layout, expected, input, output).is_ok()
    }
}
