//! A bare simulated Windows behind the server, and the right way in.

use std::io::PipeReader;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use casement_node::channel::Channel;
use casement_node::receive::receive;
use casement_node::serve::{Life, serve};
use casement_node::sim::{Door, Sim, World, door};
use casement_node::state::Layout;
use casement_resource::{Blob, Sha256};

use crate::host::{Host, Machine};
use crate::server::Server;
use crate::shell::Tap;

struct Bare {
    _folder: tempfile::TempDir,
    drive: PathBuf,
    layout: Layout,
    sim: Arc<Sim>,
    backstage: Arc<Door>,
}

impl Bare {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::new(folder.path().join("state"));
        let sim = Arc::new(Sim::new(World::default()));
        let (backstage, listener) = door();
        let (platform, state) = (Arc::clone(&sim), layout.clone());
        std::thread::spawn(move || {
            let _ = serve(platform, &state, Box::new(listener), Life::UntilStopped);
        });
        let drive = folder.path().join("drive");
        std::fs::create_dir_all(&drive).unwrap();
        Self {
            _folder: folder,
            drive,
            layout,
            sim,
            backstage: Arc::new(backstage),
        }
    }
}

impl Machine for Bare {
    fn drive(&self) -> &Path {
        &self.drive
    }

    fn layout(&self) -> &Layout {
        &self.layout
    }

    fn channel(&self, agent: Sha256, stdin: &mut PipeReader, stdout: Tap) -> bool {
        let channel = Channel {
            platform: &*self.sim,
            layout: &self.layout,
            backstage: Arc::clone(&self.backstage) as _,
            agent,
            allowed: Ok(()),
        };
        channel.run(stdin, Box::new(stdout)).is_ok()
    }

    fn receive(&self, expected: &Blob, stdin: &mut PipeReader, stdout: &mut Tap) -> bool {
        receive(&*self.sim, &self.layout, expected, stdin, stdout).is_ok()
    }
}

impl Server {
    /// Over HTTP, with sealed messages.
    pub async fn http() -> Self {
        Self::start(Host::new(Bare::new()), Ipv4Addr::LOCALHOST, false).await
    }

    /// Over TLS, with a certificate that it signed itself.
    pub async fn https() -> Self {
        Self::start(Host::new(Bare::new()), Ipv4Addr::LOCALHOST, true).await
    }
}
