//! `casement-node channel` of a simulated host: a thread of this process.
//!
//! No program is brought there: the agent that is asked for by its hash answers.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use casement_node::backstage::{Backstage, Duplex};
use casement_node::channel::Channel as AgentChannel;
use casement_node::platform::Result;
use casement_resource::Sha256;
use russh::server::{Handle, Msg};
use russh::{Channel, ChannelId};
use tokio_util::io::SyncIoBridge;

use super::{Inner, cuts};

/// What fits between the agent and SSH before one waits for the other.
const PIPE: usize = 64 * 1024;
/// How long the agent's last words may take.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// The hash of the agent that a command line starts, if it starts one: its folder
/// is named after it.
pub fn named_in(line: &str) -> Option<Sha256> {
    let line = line.trim();
    let program = line.strip_suffix(" channel")?;
    let path = program.trim_matches(['"', '\'', '&', ' ']);
    let mut names = path.rsplit(['\\', '/']);
    let program = names.next()?;
    if program != "casement-node" && program != "casement-node.exe" {
        return None;
    }
    names.next()?.parse().ok()
}

/// The service `casement`, which is not started for one who only looks, or who takes it
/// away.
pub(crate) struct OnDemand(pub(crate) Arc<Inner>);

impl Backstage for OnDemand {
    fn connect(&self) -> Result<Duplex> {
        self.0.backstage().connect()
    }

    fn retire(&self) -> Result<()> {
        // Whoever comes after a cut takes away what this one would.
        self.0.sim.outlive();
        let door = self.0.door().clone();
        door.map_or(Ok(()), |door| door.retire())
    }
}

/// Speaks with the controller until one of both hangs up. The agent's threads know
/// nothing of the runtime that carries SSH: two pipes are between them.
pub fn converse(
    host: &Arc<Inner>,
    hash: Sha256,
    channel: Channel<Msg>,
    id: ChannelId,
    ssh: Handle,
) {
    let host = Arc::clone(host);
    let runtime = tokio::runtime::Handle::current();
    let (from_controller, to_controller) = tokio::io::split(channel.into_stream());
    let (input, into_agent) = tokio::io::duplex(PIPE);
    let (out_of_agent, output) = tokio::io::duplex(PIPE);
    let connections = host.scissors.connections();
    let inwards = tokio::spawn(cuts::pass(
        Arc::clone(&host),
        connections,
        from_controller,
        into_agent,
        // The pipe has it.
        std::future::ready(()),
    ));
    let controller = ssh.clone();
    let outwards = tokio::spawn(cuts::pass(
        Arc::clone(&host),
        connections,
        out_of_agent,
        to_controller,
        // Whatever the answer is: it comes after all that was said before.
        async move {
            let _ = controller.forward_tcpip(String::new(), 0).await;
        },
    ));
    let bridge = runtime.clone();
    let (ended, end) = tokio::sync::oneshot::channel();
    thread::spawn(move || {
        let mut input = SyncIoBridge::new_with_handle(input, bridge.clone());
        let output = SyncIoBridge::new_with_handle(output, bridge);
        let agent = AgentChannel {
            platform: &*host.sim,
            layout: &host.layout,
            backstage: Arc::new(OnDemand(Arc::clone(&host))),
            agent: hash,
            allowed: Ok(()),
        };
        // sshd kills it when its connection is gone.
        let run = || agent.run(&mut input, Box::new(output)).is_err();
        let status = u32::from(host.sim.in_session(run));
        let _ = ended.send(status);
    });
    runtime.spawn(async move {
        let status = end.await.unwrap_or(1);
        // What the agent said last goes before its end.
        let _ = tokio::time::timeout(LAST_WORDS, outwards).await;
        inwards.abort();
        // The connection may be gone.
        let _ = ssh.exit_status_request(id, status).await;
        let _ = ssh.eof(id).await;
        let _ = ssh.close(id).await;
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_is_known_by_its_folder() {
        let hash = Sha256::of(b"agent");
        let lines = [
            format!(r#""C:\Program Files\casement\agent\{hash}\casement-node.exe" channel"#),
            format!("'/var/lib/casement/agent/{hash}/casement-node' channel"),
            format!("/var/lib/casement/agent/{hash}/casement-node channel"),
        ];
        for line in lines {
            assert_eq!(named_in(&line), Some(hash), "{line}");
        }
        assert_eq!(named_in("casement-node channel"), None);
        assert_eq!(named_in(&format!("/x/{hash}/other channel")), None);
    }
}
