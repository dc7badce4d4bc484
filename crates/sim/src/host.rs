//! Simulated hosts: the agent's own engine on an in-memory platform, behind a real
//! SSH server in this process. They need no root, no Wine and no agent binary.
//!
//! They test the protocol, the order of steps and failure handling; the behavior of
//! Windows itself is a model.

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

use casement_node::serve::{Lifetime, serve};
use casement_node::sim::{Sim, SimService, World, sim_service};
use casement_node::state::Layout;
use casement_resource::Stage;
use casement_resource::wire::{PREFIX, ToAgent};
use russh::keys::ssh_key::private::{Ed25519Keypair, KeypairData};
use russh::keys::ssh_key::{Cipher, Kdf};
use russh::keys::{PrivateKey, PublicKey};
use tokio::net::TcpListener;
use tokio::runtime::Handle;
use tokio::task::{AbortHandle, JoinHandle};

pub use console::Console;
pub use cuts::Cut;
use cuts::CutSchedule;
pub use disk::placeholder_program;
use power::Power;

use crate::bare_host::{bare_linux, bare_windows};
use crate::programs::pace::Pace;
use crate::programs::{kubeadm, node};

#[derive(Debug, Clone)]
pub struct SimSpec {
    pub name: String,
    /// Address of the network adapter and of the SSH server. In 127.0.0.0/8, so that no
    /// packet leaves this computer and no root is needed.
    pub address: Ipv4Addr,
    /// Port of the SSH server; 0 picks a free port.
    pub port: u16,
    pub system: SimSystem,
}

/// Determines shell, paths and initial world.
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

pub(crate) struct Inner {
    pub(crate) spec: SimSpec,
    pub(crate) sim: Arc<Sim>,
    /// The host before casement changed it.
    pub(crate) baseline: Mutex<World>,
    pub(crate) layout: Layout,
    /// Root of the disk that SFTP serves.
    pub(crate) disk: PathBuf,
    /// The service `casement`: started on first use, `None` once it is retired.
    pub(crate) service: Mutex<Option<Arc<SimService>>>,
    pub(crate) power: Power,
    pub(crate) accepted_key: PublicKey,
    /// When set, replaces key authentication.
    pub(crate) password: Mutex<Option<String>>,
    pub(crate) host_key: PrivateKey,
    pub(crate) connections: Mutex<Vec<AbortHandle>>,
    pub(crate) cuts: CutSchedule,
    /// The stages of the documents that controllers had observed.
    pub(crate) observations: Mutex<Vec<Stage>>,
    /// A CPU architecture without an agent build.
    pub(crate) processor: OnceLock<String>,
}

impl SimHost {
    /// Starts a host whose disk is in `dir` and that accepts one SSH key.
    pub async fn start(spec: SimSpec, dir: &Path, accepted_key: PublicKey) -> io::Result<Self> {
        Self::start_with_pace(spec, dir, accepted_key, Pace::default()).await
    }

    /// Like [`Self::start`], for one of many hosts that share this computer.
    pub(crate) async fn start_with_pace(
        spec: SimSpec,
        dir: &Path,
        accepted_key: PublicKey,
        pace: Pace,
    ) -> io::Result<Self> {
        let world = match spec.system {
            SimSystem::Windows => bare_windows(&spec.name, spec.address),
            SimSystem::Linux => bare_linux(&spec.name, spec.address),
        };
        let baseline = world.clone();
        let disk = dir.join("disk");
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
            service: Mutex::default(),
            power: Power::new(baseline.boot),
            baseline: Mutex::new(baseline),
            accepted_key,
            password: Mutex::default(),
            connections: Mutex::default(),
            cuts: CutSchedule::default(),
            observations: Mutex::default(),
            processor: OnceLock::new(),
        });
        let weak = Arc::downgrade(&inner);
        inner.sim.on_disconnect(move || {
            if let Some(inner) = weak.upgrade() {
                inner.handle_disconnect();
            }
        });
        let runtime = Handle::current();
        inner.sim.on_run(move |sim, program| {
            kubeadm::run(sim, program, &runtime).or_else(|| shell::run_ip_link(sim, program))
        });
        let server = tokio::spawn(server::listen(listener, Arc::clone(&inner)));
        let kubelet = tokio::spawn(node::run(Arc::downgrade(&inner), pace));
        Ok(Self {
            inner,
            port,
            server,
            kubelet,
        })
    }

    #[must_use]
    pub fn spec(&self) -> &SimSpec {
        &self.inner.spec
    }

    /// Accepts only this password from now on, and no key.
    pub fn require_password(&self, password: &str) {
        let current = self.inner.password.lock();
        *current.unwrap_or_else(PoisonError::into_inner) = Some(password.to_owned());
    }

    /// Stops the SSH server permanently.
    pub fn unplug(&self) {
        self.server.abort();
        self.inner.cut();
    }

    /// Changes the host and the baseline that [`Self::left_behind`] compares with.
    pub fn customize(&self, change: impl Fn(&mut World)) {
        let baseline = self.inner.baseline.lock();
        change(&mut baseline.unwrap_or_else(PoisonError::into_inner));
        self.inner.sim.modify_world(change);
    }

    /// Gives a Linux host a CPU architecture without an agent build.
    pub fn set_processor(&self, name: &str) {
        // Only the first call has an effect.
        let _ = self.inner.processor.set(name.to_owned());
    }

    /// Names of everything that differs from the baseline, as if a reboot that Windows
    /// features wait for had happened.
    #[must_use]
    pub fn left_behind(&self) -> Vec<String> {
        let mut now = self.inner.sim.world();
        power::apply_pending_features(&mut now);
        crate::bare_host::differences(&self.inner.baseline(), &now)
    }

    /// The simulated platform, for inspection and manipulation by tests.
    #[must_use]
    pub fn sim(&self) -> &Sim {
        &self.inner.sim
    }

    /// The stages of the documents that controllers have had observed so far, in order.
    #[must_use]
    pub fn observations(&self) -> Vec<Stage> {
        let observations = self.inner.observations.lock();
        observations.unwrap_or_else(PoisonError::into_inner).clone()
    }

    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    pub fn known_hosts_line(&self) -> io::Result<String> {
        let key = self.inner.host_key.public_key().to_openssh();
        let key = key.map_err(io::Error::other)?;
        let address = self.inner.spec.address;
        Ok(match self.port {
            22 => format!("{address} {key}\n"),
            port => format!("[{address}]:{port} {key}\n"),
        })
    }

    /// Access to the host without SSH.
    #[must_use]
    pub fn console(&self) -> Console {
        Console::of(&self.inner)
    }

    /// Drops every connection, as a network outage does.
    pub fn cut(&self) {
        self.inner.cut();
    }
}

impl Drop for SimHost {
    fn drop(&mut self) {
        self.server.abort();
        self.kubelet.abort();
        self.inner.cut();
        // The service ends when its last client is dropped.
        self.inner.sim_service().take();
    }
}

impl Inner {
    fn baseline(&self) -> World {
        let baseline = self.baseline.lock();
        baseline.unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn password(&self) -> Option<String> {
        let password = self.password.lock();
        password.unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn cut(&self) {
        self.sim.close_sessions();
        self.cuts.close();
        let mut connections = self
            .connections
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        for connection in connections.drain(..) {
            connection.abort();
        }
    }

    /// For a line from or to a controller; most are other messages.
    fn record_observation(&self, line: &[u8]) {
        let json = line.strip_prefix(PREFIX.as_bytes());
        // Other messages may be large and are not parsed.
        let observe = json.filter(|json| json.starts_with(br#"{"observe":"#));
        let message = observe.and_then(|json| serde_json::from_slice(json).ok());
        if let Some(ToAgent::Observe { document }) = message {
            let observations = self.observations.lock();
            let mut observations = observations.unwrap_or_else(PoisonError::into_inner);
            observations.push(document.stage());
        }
    }

    /// Registers a connection that [`Self::cut`] closes.
    fn track_connection(&self, connection: AbortHandle) {
        let mut connections = self
            .connections
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        connections.retain(|connection| !connection.is_finished());
        connections.push(connection);
    }

    fn sim_service(&self) -> std::sync::MutexGuard<'_, Option<Arc<SimService>>> {
        self.service.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Connects to the service; installs and starts it if it does not exist.
    fn service_client(&self) -> Arc<SimService> {
        let mut slot = self.sim_service();
        if let Some(service) = slot.as_ref().filter(|service| !service.is_retired()) {
            return Arc::clone(service);
        }
        let (client, server_end) = sim_service();
        let client = Arc::new(client);
        *slot = Some(Arc::clone(&client));
        let (sim, layout) = (Arc::clone(&self.sim), self.layout.clone());
        thread::spawn(move || {
            // If it fails, clients get an error when they connect.
            let _ = serve(sim, &layout, Box::new(server_end), Lifetime::UntilStopped);
        });
        client
    }
}

/// Creates an SSH key for simulated hosts in a file with mode 0600.
pub fn make_key(path: &Path) -> io::Result<PublicKey> {
    let mut seed = [0; 32];
    rustix::rand::getrandom(&mut seed, rustix::rand::GetRandomFlags::empty())?;
    let pair = Ed25519Keypair::from_seed(&seed);
    let key = PrivateKey::new(KeypairData::from(pair), "casement").map_err(io::Error::other)?;
    write_key(path, &key)?;
    Ok(key.public_key().clone())
}

/// Copies an SSH key to a new file that needs a passphrase.
pub fn encrypt_key(plain: &Path, encrypted: &Path, passphrase: &str) -> io::Result<()> {
    let text = std::fs::read_to_string(plain)?;
    let key = PrivateKey::from_openssh(&text).map_err(io::Error::other)?;
    let mut salt = vec![0; 16];
    rustix::rand::getrandom(&mut salt, rustix::rand::GetRandomFlags::empty())?;
    // As many as ssh-keygen.
    let rounds = 16;
    let kdf = Kdf::Bcrypt { salt, rounds };
    let key = key.encrypt_with(Cipher::Aes256Ctr, kdf, 0, passphrase);
    write_key(encrypted, &key.map_err(io::Error::other)?)
}

fn write_key(path: &Path, key: &PrivateKey) -> io::Result<()> {
    use std::io::Write as _;
    use std::os::unix::fs::OpenOptionsExt as _;
    let text = key.to_openssh(russh::keys::ssh_key::LineEnding::LF);
    let text = text.map_err(io::Error::other)?;
    let mut file = std::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)?;
    file.write_all(text.as_bytes())
}

/// Derived from the name, so that it is the same at every start.
fn host_key(name: &str) -> io::Result<PrivateKey> {
    use sha2::{Digest, Sha256};
    let seed = Sha256::digest(format!("casement simulated host {name}"));
    let pair = Ed25519Keypair::from_seed(&seed.into());
    PrivateKey::new(KeypairData::from(pair), "").map_err(io::Error::other)
}
