//! `casement-node channel` of a simulated host: a thread of this process.
//!
//! No binary is uploaded: the agent with the requested hash is assumed to be there.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use casement_node::channel::ChannelServer;
use casement_node::platform::Result;
use casement_node::service_client::{Duplex, ServiceClient};
use casement_resource::Sha256;
use russh::server::{Handle, Msg};
use russh::{Channel, ChannelId};
use tokio_util::io::SyncIoBridge;

use super::{Inner, cuts};

/// Bytes buffered between the agent and SSH in each direction.
const PIPE_BYTES: usize = 64 * 1024;
/// Limit for sending the agent's remaining output after it has ended.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(2);

/// The hash of the agent that a command line starts, which is the name of its directory.
pub fn agent_hash(line: &str) -> Option<Sha256> {
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

/// The service `casement`, started only when a client connects: reading or retiring it
/// does not start it.
pub(crate) struct OnDemand(pub(crate) Arc<Inner>);

impl ServiceClient for OnDemand {
    fn connect(&self) -> Result<Duplex> {
        self.0.service_client().connect()
    }

    fn retire(&self) -> Result<()> {
        // Ends here after a disconnect: the next session retires the service.
        self.0.sim.check_session();
        let service = self.0.sim_service().clone();
        service.map_or(Ok(()), |service| service.retire())
    }
}

/// Serves the controller until either side disconnects. The agent's threads do not use
/// the tokio runtime of SSH, so two pipes connect them.
pub fn serve_channel(
    host: &Arc<Inner>,
    hash: Sha256,
    channel: Channel<Msg>,
    id: ChannelId,
    ssh: Handle,
) {
    let host = Arc::clone(host);
    let runtime = tokio::runtime::Handle::current();
    let (from_controller, to_controller) = tokio::io::split(channel.into_stream());
    let (input, agent_stdin) = tokio::io::duplex(PIPE_BYTES);
    let (agent_stdout, output) = tokio::io::duplex(PIPE_BYTES);
    let generation = host.cuts.generation();
    let inbound = tokio::spawn(cuts::forward_lines(
        Arc::clone(&host),
        generation,
        from_controller,
        agent_stdin,
        // Nothing to wait for: the pipe has buffered the line.
        std::future::ready(()),
    ));
    let controller = ssh.clone();
    let outbound = tokio::spawn(cuts::forward_lines(
        Arc::clone(&host),
        generation,
        agent_stdout,
        to_controller,
        // The reply, success or not, arrives after everything sent before it.
        async move {
            let _ = controller.forward_tcpip(String::new(), 0).await;
        },
    ));
    let bridge = runtime.clone();
    let (exited, exit) = tokio::sync::oneshot::channel();
    thread::spawn(move || {
        let mut input = SyncIoBridge::new_with_handle(input, bridge.clone());
        let output = SyncIoBridge::new_with_handle(output, bridge);
        let agent = ChannelServer {
            platform: &*host.sim,
            layout: &host.layout,
            service_client: Arc::new(OnDemand(Arc::clone(&host))),
            agent: hash,
            allowed: Ok(()),
        };
        // sshd kills the process when its connection is closed.
        let run = || agent.run(&mut input, Box::new(output)).is_err();
        let status = u32::from(host.sim.in_session(run));
        let _ = exited.send(status);
    });
    runtime.spawn(async move {
        let status = exit.await.unwrap_or(1);
        // Send the agent's remaining output before its exit status.
        let _ = tokio::time::timeout(DRAIN_TIMEOUT, outbound).await;
        inbound.abort();
        // The connection may be closed already.
        let _ = ssh.exit_status_request(id, status).await;
        let _ = ssh.eof(id).await;
        let _ = ssh.close(id).await;
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agent_hash_is_read_from_its_directory_name() {
        let hash = Sha256::of(b"agent");
        let lines = [
            format!(r#""C:\Program Files\casement\agent\{hash}\casement-node.exe" channel"#),
            format!("'/var/lib/casement/agent/{hash}/casement-node' channel"),
            format!("/var/lib/casement/agent/{hash}/casement-node channel"),
        ];
        for line in lines {
            assert_eq!(agent_hash(&line), Some(hash), "{line}");
        }
        assert_eq!(agent_hash("casement-node channel"), None);
        assert_eq!(agent_hash(&format!("/x/{hash}/other channel")), None);
    }
}
