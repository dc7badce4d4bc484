//! Simulated hosts: the agent's own engine on a platform in memory, behind a real
//! SSH server of this process. They need no root, no Wine and no agent program.
//!
//! What they prove is the protocol, the order of things and what happens when
//! they fail; what Windows itself does is "as understood".

mod agent;
mod console;
pub(crate) mod cuts;
pub(crate) mod disk;
mod power;
mod server;
mod shell;

use std::io;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;

use casement_node::serve::{Life, serve};
use casement_node::sim::{Door, Sim, World, door};
use casement_node::state::Layout;
use russh::keys::ssh_key::private::{Ed25519Keypair, KeypairData};
use russh::keys::{PrivateKey, PublicKey};
use tokio::net::TcpListener;
use tokio::runtime::Handle;
use tokio::task::{AbortHandle, JoinHandle};

pub use console::Console;
pub use cuts::Cut;
use cuts::Scissors;
pub use disk::stand_in;
use power::Power;

use crate::bare_host::{bare_linux, bare_windows};
use crate::programs::pace::Pace;
use crate::programs::{kubeadm, node};

/// What a simulated host is.
#[derive(Debug, Clone)]
pub struct SimSpec {
    /// Its name.
    pub name: String,
    /// The address of its network card, on which it is reached too: one of
    /// 127.0.0.0/8, so that nothing leaves the machine and nobody needs root.
    pub address: Ipv4Addr,
    /// Where its SSH server listens; 0 takes a free port.
    pub port: u16,
    /// Which system it runs.
    pub system: SimSystem,
}

/// The system of a simulated host, which decides on shell, paths and world.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SimSystem {
    /// `cmd`, drive `C:`, services and HNS.
    Windows,
    /// `sh`, one root, systemd.
    Linux,
}

/// A host that runs until it is dropped.
pub struct SimHost {
    inner: Arc<Inner>,
    port: u16,
    server: JoinHandle<()>,
    kubelet: JoinHandle<()>,
}

/// What all sessions of a host share.
pub(crate) struct Inner {
    pub(crate) spec: SimSpec,
    pub(crate) sim: Arc<Sim>,
    /// As it was handed over.
    pub(crate) before: Mutex<World>,
    pub(crate) layout: Layout,
    /// The host's disk as SFTP shows it.
    pub(crate) disk: PathBuf,
    /// The way to the service `casement`, which is made when it is first needed
    /// and is gone after it was retired.
    pub(crate) door: Mutex<Option<Arc<Door>>>,
    pub(crate) power: Power,
    pub(crate) accepted: PublicKey,
    /// What opens it instead, where that was asked for.
    pub(crate) password: Mutex<Option<String>>,
    pub(crate) host_key: PrivateKey,
    pub(crate) wires: Mutex<Vec<AbortHandle>>,
    pub(crate) scissors: Scissors,
    /// A processor that no agent is made for, where it has one.
    pub(crate) processor: OnceLock<String>,
}

impl SimHost {
    /// Starts a host whose disk is in `folder`, and which lets in whoever has the
    /// key.
    pub async fn start(spec: SimSpec, folder: &Path, accepted: PublicKey) -> io::Result<Self> {
        Self::start_among(spec, folder, accepted, Pace::default()).await
    }

    /// The same for one of many, whose programs have this pace.
    pub(crate) async fn start_among(
        spec: SimSpec,
        folder: &Path,
        accepted: PublicKey,
        pace: Pace,
    ) -> io::Result<Self> {
        let world = match spec.system {
            SimSystem::Windows => bare_windows(&spec.name, spec.address),
            SimSystem::Linux => bare_linux(&spec.name, spec.address),
        };
        let before = world.clone();
        let disk = folder.join("disk");
        let state = match spec.system {
            SimSystem::Windows => disk.join("ProgramData/casement"),
            SimSystem::Linux => disk.join("var/lib/casement"),
        };
        std::fs::create_dir_all(&disk)?;
        let listener = TcpListener::bind((spec.address, spec.port)).await?;
        let port = listener.local_addr()?.port();
        let inner = Arc::new(Inner {
            host_key: host_key(&spec.name)?,
            spec,
            sim: Arc::new(Sim::new(world)),
            layout: Layout::new(state),
            disk,
            door: Mutex::default(),
            power: Power::since(before.boot),
            before: Mutex::new(before),
            accepted,
            password: Mutex::default(),
            wires: Mutex::default(),
            scissors: Scissors::default(),
            processor: OnceLock::new(),
        });
        let behind = Arc::downgrade(&inner);
        inner.sim.on_cut(move || {
            if let Some(inner) = behind.upgrade() {
                inner.lose_connections();
            }
        });
        let runtime = Handle::current();
        inner.sim.on_run(move |sim, program| {
            kubeadm::run(sim, program, &runtime).or_else(|| shell::run(sim, program))
        });
        let server = tokio::spawn(server::listen(listener, Arc::clone(&inner)));
        let kubelet = tokio::spawn(node::live(Arc::downgrade(&inner), pace));
        Ok(Self {
            inner,
            port,
            server,
            kubelet,
        })
    }

    /// What it is.
    #[must_use]
    pub fn spec(&self) -> &SimSpec {
        &self.inner.spec
    }

    /// Lets in whoever has the password from now on, and no key.
    pub fn take_password(&self, password: &str) {
        let known = self.inner.password.lock();
        *known.unwrap_or_else(PoisonError::into_inner) = Some(password.to_owned());
    }

    /// Stops its SSH server, for good.
    pub fn unplug(&self) {
        self.server.abort();
        self.inner.cut();
    }

    /// Changes the host before it is handed over.
    pub fn furnish(&self, change: impl Fn(&mut World)) {
        let before = self.inner.before.lock();
        change(&mut before.unwrap_or_else(PoisonError::into_inner));
        self.inner.sim.meddle(change);
    }

    /// Gives a Linux host a processor that no agent is made for, for good.
    pub fn set_processor(&self, name: &str) {
        // The first one stays.
        let _ = self.inner.processor.set(name.to_owned());
    }

    /// What differs from the host as it was handed over, in words: as it will be
    /// after the boot that Windows' features may wait for.
    #[must_use]
    pub fn left_behind(&self) -> Vec<String> {
        let mut now = self.inner.sim.world();
        power::settle(&mut now);
        crate::bare_host::differences(&self.inner.before(), &now)
    }

    /// The host itself, to look at and to meddle with.
    #[must_use]
    pub fn sim(&self) -> &Sim {
        &self.inner.sim
    }

    /// Where it listens.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Its line for a `known_hosts` file.
    pub fn known_hosts_line(&self) -> io::Result<String> {
        let key = self.inner.host_key.public_key().to_openssh();
        let key = key.map_err(io::Error::other)?;
        let address = self.inner.spec.address;
        Ok(match self.port {
            22 => format!("{address} {key}\n"),
            port => format!("[{address}]:{port} {key}\n"),
        })
    }

    /// The host for whoever comes another way than over SSH.
    #[must_use]
    pub fn console(&self) -> Console {
        Console::of(&self.inner)
    }

    /// Drops every connection, as a network that goes away does.
    pub fn cut(&self) {
        self.inner.cut();
    }
}

impl Drop for SimHost {
    fn drop(&mut self) {
        self.server.abort();
        self.kubelet.abort();
        self.inner.cut();
        // The service ends when nobody can come to it any more.
        self.inner.door().take();
    }
}

impl Inner {
    fn before(&self) -> World {
        let before = self.before.lock();
        before.unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn password(&self) -> Option<String> {
        let known = self.password.lock();
        known.unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn cut(&self) {
        self.sim.close_sessions();
        self.scissors.close();
        let mut wires = self.wires.lock().unwrap_or_else(PoisonError::into_inner);
        for wire in wires.drain(..) {
            wire.abort();
        }
    }

    /// A connection to the host, which goes when the others do.
    fn carry(&self, wire: AbortHandle) {
        let mut wires = self.wires.lock().unwrap_or_else(PoisonError::into_inner);
        wires.retain(|wire| !wire.is_finished());
        wires.push(wire);
    }

    fn door(&self) -> std::sync::MutexGuard<'_, Option<Arc<Door>>> {
        self.door.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The way to the service; installs and starts it where it is not there.
    fn backstage(&self) -> Arc<Door> {
        let mut open = self.door();
        if let Some(door) = open.as_ref().filter(|door| !door.is_retired()) {
            return Arc::clone(door);
        }
        let (ours, theirs) = door();
        let ours = Arc::new(ours);
        *open = Some(Arc::clone(&ours));
        let (sim, layout) = (Arc::clone(&self.sim), self.layout.clone());
        thread::spawn(move || {
            // Whoever asks for something hears that nobody answers.
            let _ = serve(sim, &layout, Box::new(theirs), Life::UntilStopped);
        });
        ours
    }
}

/// Makes a key that opens simulated hosts, in a file that only its owner may read.
pub fn make_key(path: &Path) -> io::Result<PublicKey> {
    use std::io::Write as _;
    use std::os::unix::fs::OpenOptionsExt as _;
    let mut seed = [0; 32];
    rustix::rand::getrandom(&mut seed, rustix::rand::GetRandomFlags::empty())?;
    let pair = Ed25519Keypair::from_seed(&seed);
    let key = PrivateKey::new(KeypairData::from(pair), "casement").map_err(io::Error::other)?;
    let text = key.to_openssh(russh::keys::ssh_key::LineEnding::LF);
    let text = text.map_err(io::Error::other)?;
    let mut options = std::fs::OpenOptions::new();
    let mut file = options
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)?;
    file.write_all(text.as_bytes())?;
    Ok(key.public_key().clone())
}

/// The same at every start, as a host's key is.
fn host_key(name: &str) -> io::Result<PrivateKey> {
    use sha2::{Digest, Sha256};
    let seed = Sha256::digest(format!("casement simulated host {name}"));
    let pair = Ed25519Keypair::from_seed(&seed.into());
    PrivateKey::new(KeypairData::from(pair), "").map_err(io::Error::other)
}
