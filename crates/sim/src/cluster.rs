//! A whole cluster of simulated hosts: an embedded API server with a control plane
//! and a Linux worker, bare Windows servers, and the files that a person would
//! have: a spec, a kubeconfig, a key, known hosts.

mod file;

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use casement_node::sim::RegistryImage;
use ipnet::Ipv4Net;
use tokio::task::JoinHandle;

use crate::api_server::{self, ApiError, Flannel, Running, Seed, SeedNode};
use crate::controllers;
use crate::host::{SimHost, SimSpec, SimSystem, disk, make_key, stand_in};
use crate::programs::client::{Client, Who};
use crate::programs::pace::Pace;

/// The control plane's address; hosts are counted from it. All of it is loopback,
/// so that nothing leaves the machine and nobody needs root.
const FIRST: Ipv4Addr = Ipv4Addr::new(127, 18, 0, 10);
/// The Windows versions that hosts have in turn: a year and a build.
const WINDOWS: [(&str, u32, u32); 2] = [("2022", 20348, 3807), ("2025", 26100, 4061)];
/// The most Windows hosts: one address and one network of pods each.
pub const MOST_HOSTS: u16 = 1000;

/// The pods' network of a cluster with more nodes than the usual one has a /24 for.
const MANY_PODS: Ipv4Net = Ipv4Net::new_assert(Ipv4Addr::new(10, 244, 0, 0), 14);

/// What a simulated cluster is like.
#[derive(Debug, Clone)]
pub struct SimShape {
    /// How many Windows hosts.
    pub windows: usize,
    /// Whether hosts repair themselves, or leave that to a person.
    pub repair: bool,
    /// How pods reach each other.
    pub network: SimNetwork,
    /// Whether the Linux worker is casement's to change, or only to look at.
    pub linux_managed: bool,
}

/// How the pods of a simulated cluster reach each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SimNetwork {
    /// By routes that casement makes.
    Routes,
    /// In flannel's VXLAN, with the numbers that it has before casement comes.
    Overlay(Flannel),
}

impl SimNetwork {
    /// flannel as its own manifest installs it, for Linux alone.
    #[must_use]
    pub fn overlay_of_linux() -> Self {
        Self::Overlay(Flannel { vni: 1, port: 8472 })
    }
}

impl Default for SimShape {
    /// Two Windows hosts that repair themselves, in a cluster with routes.
    fn default() -> Self {
        Self {
            windows: 2,
            repair: true,
            network: SimNetwork::Routes,
            linux_managed: true,
        }
    }
}

/// Why there is no simulated cluster.
#[derive(Debug, thiserror::Error)]
pub enum SimError {
    /// The embedded API server did not start.
    #[error(transparent)]
    Api(#[from] ApiError),
    /// A file cannot be written, or an address not be listened on.
    #[error("{what}")]
    Io {
        /// What was tried.
        what: String,
        /// What the system says.
        source: io::Error,
    },
    /// Its own client is refused.
    #[error("the simulated control plane cannot speak to its API server: {0}")]
    Client(String),
}

/// A cluster that runs until it is dropped.
pub struct SimCluster {
    api: Running,
    hosts: Vec<SimHost>,
    folder: PathBuf,
    controllers: JoinHandle<()>,
}

impl SimCluster {
    /// Starts a cluster that is like this, its files in `folder`.
    pub async fn start(folder: &Path, shape: &SimShape) -> Result<Self, SimError> {
        let seed = seed(shape);
        let api = api_server::start(seed.clone())?;
        let write = |name: &str, text: &str| {
            let path = folder.join(name);
            let parent = path.parent().unwrap_or(folder);
            std::fs::create_dir_all(parent)
                .and_then(|()| std::fs::write(&path, text))
                .map_err(io_error(format!("write {}", path.display())))
        };
        let key = folder.join("id_ed25519");
        let key = make_key(&key).map_err(io_error(format!("write {}", key.display())))?;
        let pace = Pace::among(shape.windows);
        let mut hosts = Vec::new();
        for spec in specs(shape.windows) {
            let name = spec.name.clone();
            let place = folder.join("hosts").join(&name);
            let host = SimHost::start_among(spec, &place, key.clone(), pace).await;
            let host = host.map_err(io_error(format!("start the simulated host {name}")))?;
            if host.spec().system == SimSystem::Windows {
                furnish(&host, hosts.len());
            }
            hosts.push(host);
        }
        let mut known = String::new();
        for host in &hosts {
            known += &host
                .known_hosts_line()
                .map_err(io_error("make a host's key".to_owned()))?;
        }
        for program in file::programs(&shape.network) {
            let text = stand_in(program, &seed.kubernetes);
            write(&format!("programs/{program}.exe"), &text)?;
        }
        // Simulated hosts bring their own agent; these only have a hash.
        write("agent/casement-node.exe", &stand_in("casement-node", "v0"))?;
        write("agent/casement-node", &stand_in("casement-node", "v0"))?;
        write("known_hosts", &known)?;
        write("cluster.yaml", &file::text(&hosts, &seed, shape))?;
        private(&folder.join("admin.conf"), api.kubeconfig())?;
        let controllers = tokio::spawn(controllers::work(admin(&api)?, pace));
        Ok(Self {
            api,
            hosts,
            folder: folder.to_owned(),
            controllers,
        })
    }

    /// Its API server.
    #[must_use]
    pub fn api(&self) -> &Running {
        &self.api
    }

    /// Somebody who may do everything.
    pub(crate) fn admin(&self) -> Result<Client, String> {
        admin(&self.api).map_err(|error| error.to_string())
    }

    /// A host by its name.
    #[must_use]
    pub fn host(&self, name: &str) -> Option<&SimHost> {
        self.hosts.iter().find(|host| host.spec().name == name)
    }

    /// All hosts: Linux first.
    #[must_use]
    pub fn hosts(&self) -> &[SimHost] {
        &self.hosts
    }

    /// The cluster file.
    #[must_use]
    pub fn cluster_file(&self) -> PathBuf {
        self.folder.join("cluster.yaml")
    }

    /// The administrator's kubeconfig.
    #[must_use]
    pub fn kubeconfig(&self) -> PathBuf {
        self.folder.join("admin.conf")
    }

    /// What stands in for the agents.
    #[must_use]
    pub fn agents(&self) -> PathBuf {
        self.folder.join("agent")
    }
}

impl Drop for SimCluster {
    fn drop(&mut self) {
        self.controllers.abort();
    }
}

fn io_error(what: String) -> impl Fn(io::Error) -> SimError {
    move |source| SimError::Io {
        what: format!("could not {what}"),
        source,
    }
}

fn seed(shape: &SimShape) -> Seed {
    let usual = Seed::default();
    let node = |name: &str, address, control_plane| SeedNode {
        name: name.to_owned(),
        address,
        control_plane,
    };
    Seed {
        listen: SocketAddr::from((FIRST, 0)),
        nodes: vec![
            node("control-plane", FIRST, true),
            node("linux1", address(1), false),
        ],
        flannel: match &shape.network {
            SimNetwork::Routes => None,
            SimNetwork::Overlay(flannel) => Some(flannel.clone()),
        },
        pod_network: match shape.windows {
            0..=200 => usual.pod_network,
            _ => MANY_PODS,
        },
        ..usual
    }
}

fn address(number: u32) -> Ipv4Addr {
    Ipv4Addr::from(u32::from(FIRST).saturating_add(number))
}

fn specs(windows: usize) -> Vec<SimSpec> {
    let spec = |name: String, number, system| SimSpec {
        name,
        address: address(number),
        port: 0,
        system,
    };
    // The control plane is casement's to speak to, not to change.
    let mut specs = vec![spec("linux1".to_owned(), 1, SimSystem::Linux)];
    let numbers = 1..=u32::try_from(windows.min(MOST_HOSTS.into())).unwrap_or(1);
    specs.extend(
        numbers.map(|number| spec(format!("windows{number}"), 1 + number, SimSystem::Windows)),
    );
    specs
}

/// The Windows of a host, by its place among all hosts.
fn windows_of(place: usize) -> (&'static str, u32, u32) {
    // The first place is a Linux host's.
    WINDOWS[(place + 1) % WINDOWS.len()]
}

/// Its Windows, and what its registries have.
fn furnish(host: &SimHost, place: usize) {
    let (_, build, revision) = windows_of(place);
    host.furnish(|world| {
        world.other_build = Some(build);
        world.revision.0 = revision;
        for (name, builds) in IMAGES {
            let versions = builds.iter().map(|build| format!("10.0.{build}.1"));
            let image = RegistryImage {
                versions: versions.collect(),
                runs: true,
            };
            world.registry.insert((*name).to_owned(), image);
        }
    });
}

/// The images that the simulated registries have, and the builds that they are
/// made for.
const IMAGES: &[(&str, &[u32])] = &[
    ("registry.k8s.io/pause:3.10.2", &[17763, 20348, 26100]),
    (
        "mcr.microsoft.com/windows/servercore/iis:windowsservercore-ltsc2022",
        &[20348],
    ),
    (
        "mcr.microsoft.com/windows/servercore/iis:windowsservercore-ltsc2025",
        &[26100],
    ),
];

/// A file that only its owner may read.
fn private(path: &Path, text: &str) -> Result<(), SimError> {
    use std::io::Write as _;
    use std::os::unix::fs::OpenOptionsExt as _;
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    let file = options.open(path);
    file.and_then(|mut file| file.write_all(text.as_bytes()))
        .map_err(io_error(format!("write {}", path.display())))
}

fn admin(api: &Running) -> Result<Client, SimError> {
    let kubeconfig = api.kubeconfig();
    let part = |key: &str| {
        let mut lines = kubeconfig.lines();
        let value = lines.find_map(|line| line.trim().strip_prefix(key));
        value.and_then(|text| disk::decoded(text.trim()))
    };
    let both = part("client-certificate-data:").zip(part("client-key-data:"));
    let (certificate, key) = both.ok_or_else(|| SimError::Client("no certificate".to_owned()))?;
    let pem = format!("{certificate}{key}");
    let address = api.address().to_string();
    Client::new(&address, &api.ca_pem(), &Who::Certificate(&pem)).map_err(SimError::Client)
}
