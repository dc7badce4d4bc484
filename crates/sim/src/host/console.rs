//! A simulated host for whoever comes another way than over SSH: its disk, and the
//! agent's programs on it. Who may come, and how, is that way's own affair.

use std::io::{Read, Write};
use std::path::Path;
use std::sync::Arc;

use casement_node::channel::Channel;
use casement_node::receive::receive;
use casement_node::state::Layout;
use casement_resource::{Blob, Sha256};
use tokio::task::AbortHandle;

use super::Inner;
use super::agent::OnDemand;

/// A way to a simulated host that is not SSH.
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

    /// Its drive C, or its root.
    #[must_use]
    pub fn disk(&self) -> &Path {
        &self.host.disk
    }

    /// Where its agent keeps things.
    #[must_use]
    pub fn layout(&self) -> &Layout {
        &self.host.layout
    }

    /// How many lines controllers and the agent have said to each other.
    #[must_use]
    pub fn lines(&self) -> u64 {
        self.host.scissors.lines()
    }

    /// How often it was booted: no program from before runs on.
    #[must_use]
    pub fn boots(&self) -> u32 {
        self.host.sim.world().boot
    }

    /// A connection that is lost when the host's network goes.
    pub fn carry(&self, wire: AbortHandle) {
        self.host.carry(wire);
    }

    /// `casement-node channel` of the agent with this hash, until one of both hangs
    /// up; whether it ended well.
    pub fn channel(
        &self,
        agent: Sha256,
        input: &mut dyn Read,
        output: Box<dyn Write + Send>,
    ) -> bool {
        self.host.power.wait();
        let channel = Channel {
            platform: &*self.host.sim,
            layout: &self.host.layout,
            backstage: Arc::new(OnDemand(Arc::clone(&self.host))),
            agent,
            allowed: Ok(()),
        };
        channel.run(input, output).is_ok()
    }

    /// `casement-node receive`: a blob that comes as lines; whether it ended well.
    pub fn receive(&self, expected: &Blob, input: &mut dyn Read, output: &mut dyn Write) -> bool {
        self.host.power.wait();
        receive(&*self.host.sim, &self.host.layout, expected, input, output).is_ok()
    }
}
