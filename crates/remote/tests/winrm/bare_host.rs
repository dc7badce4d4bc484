//! A bare simulated Windows host behind the server.

use std::io::PipeReader;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use casement_node::channel::ChannelServer;
use casement_node::receive::receive;
use casement_node::serve::{Lifetime, serve};
use casement_node::sim::{Sim, SimService, World, sim_service};
use casement_node::state::Layout;
use casement_resource::{Blob, Sha256};

use crate::host::{Backend, Host};
use crate::server::Server;
use crate::shell::OutputWriter;

struct BareHost {
    _folder: tempfile::TempDir,
    drive: PathBuf,
    layout: Layout,
    sim: Arc<Sim>,
    service_client: Arc<SimService>,
}

impl BareHost {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::new(folder.path().join("state"));
        let sim = Arc::new(Sim::new(World::default()));
        let (service_client, listener) = sim_service();
        let (platform, state) = (Arc::clone(&sim), layout.clone());
        std::thread::spawn(move || {
            let _ = serve(platform, &state, Box::new(listener), Lifetime::UntilStopped);
        });
        let drive = folder.path().join("drive");
        std::fs::create_dir_all(&drive).unwrap();
        Self {
            _folder: folder,
            drive,
            layout,
            sim,
            service_client: Arc::new(service_client),
        }
    }
}

impl Backend for BareHost {
    fn drive(&self) -> &Path {
        &self.drive
    }

    fn layout(&self) -> &Layout {
        &self.layout
    }

    fn channel(&self, agent: Sha256, stdin: &mut PipeReader, stdout: OutputWriter) -> bool {
        let channel = ChannelServer {
            platform: &*self.sim,
            layout: &self.layout,
            service_client: Arc::clone(&self.service_client) as _,
            agent,
            allowed: Ok(()),
        };
        channel.run(stdin, Box::new(stdout)).is_ok()
    }

    fn receive(&self, expected: &Blob, stdin: &mut PipeReader, stdout: &mut OutputWriter) -> bool {
        receive(&*self.sim, &self.layout, expected, stdin, stdout).is_ok()
    }
}

impl Server {
    /// HTTP with sealed messages.
    pub async fn http() -> Self {
        Self::start(Host::new(BareHost::new()), Ipv4Addr::LOCALHOST, false).await
    }

    /// TLS with a self-signed certificate.
    pub async fn https() -> Self {
        Self::start(Host::new(BareHost::new()), Ipv4Addr::LOCALHOST, true).await
    }
}
