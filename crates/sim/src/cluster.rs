//! A cluster of simulated hosts: an embedded API server with a control plane and a Linux
//! worker, bare Windows servers, and the user's files: cluster file, kubeconfig, SSH key,
//! known hosts.

mod file;

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use casement_node::sim::RegistryImage;
use ipnet::Ipv4Net;
use tokio::task::JoinHandle;

use crate::api_server::{self, ApiError, ApiServer, Flannel, Seed, SeedNode};
use crate::controllers;
use crate::host::{SimHost, SimSpec, SimSystem, disk, make_key, placeholder_program};
use crate::programs::client::{Client, Credentials};
use crate::programs::pace::Pace;

/// Address of the control plane; hosts follow it. All are loopback addresses, so that no
/// packet leaves this computer and no root is needed.
const CONTROL_PLANE_ADDRESS: Ipv4Addr = Ipv4Addr::new(127, 18, 0, 10);
/// Windows versions assigned to hosts in turn: release, build, revision.
const WINDOWS_VERSIONS: [(&str, u32, u32); 2] = [("2022", 20348, 3807), ("2025", 26100, 4061)];
/// Maximum number of Windows hosts; each needs an address and a pod subnet.
pub const MAX_HOSTS: u16 = 1000;

/// Pod network for more nodes than the default network has /24 subnets.
const LARGE_POD_NETWORK: Ipv4Net = Ipv4Net::new_assert(Ipv4Addr::new(10, 244, 0, 0), 14);

#[derive(Debug, Clone)]
pub struct SimOptions {
    pub windows: usize,
    /// Whether hosts repair themselves or only report drift.
    pub repair: bool,
    pub network: SimNetwork,
    /// Whether casement may change the Linux worker, or only read it.
    pub linux_managed: bool,
}

/// Pod network of a simulated cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SimNetwork {
    /// Routes created by casement.
    Routes,
    /// flannel's VXLAN, with the VNI and port set before casement runs.
    Overlay(Flannel),
}

impl SimNetwork {
    /// flannel with the defaults of its own manifest, which suit only Linux.
    #[must_use]
    pub fn default_overlay() -> Self {
        Self::Overlay(Flannel { vni: 1, port: 8472 })
    }
}

impl Default for SimOptions {
    /// Two Windows hosts with self-repair, routes as the pod network.
    fn default() -> Self {
        Self {
            windows: 2,
            repair: true,
            network: SimNetwork::Routes,
            linux_managed: true,
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum SimError {
    #[error(transparent)]
    Api(#[from] ApiError),
    /// A file cannot be written, or an address is not available.
    #[error("{message}")]
    Io { message: String, source: io::Error },
    #[error("the simulated control plane cannot connect to its API server: {0}")]
    Client(String),
}

/// Runs until dropped.
pub struct SimCluster {
    api: ApiServer,
    hosts: Vec<SimHost>,
    dir: PathBuf,
    controllers: JoinHandle<()>,
}

impl SimCluster {
    /// Starts a cluster and writes its files to `dir`.
    pub async fn start(dir: &Path, options: &SimOptions) -> Result<Self, SimError> {
        let seed = seed(options);
        let api = api_server::start(seed.clone())?;
        let write = |name: &str, text: &str| {
            let path = dir.join(name);
            let parent = path.parent().unwrap_or(dir);
            std::fs::create_dir_all(parent)
                .and_then(|()| std::fs::write(&path, text))
                .map_err(io_error(format!("write {}", path.display())))
        };
        let key = dir.join("id_ed25519");
        let key = make_key(&key).map_err(io_error(format!("write {}", key.display())))?;
        let pace = Pace::for_hosts(options.windows);
        let mut hosts = Vec::new();
        for spec in specs(options.windows) {
            let name = spec.name.clone();
            let host_dir = dir.join("hosts").join(&name);
            let host = SimHost::start_with_pace(spec, &host_dir, key.clone(), pace).await;
            let host = host.map_err(io_error(format!("start the simulated host {name}")))?;
            if host.spec().system == SimSystem::Windows {
                customize(&host, hosts.len());
            }
            hosts.push(host);
        }
        let mut known_hosts = String::new();
        for host in &hosts {
            known_hosts += &host
                .known_hosts_line()
                .map_err(io_error("encode the host key".to_owned()))?;
        }
        for program in file::programs(&options.network) {
            let text = placeholder_program(program, &seed.kubernetes);
            write(&format!("programs/{program}.exe"), &text)?;
        }
        // Simulated hosts have a built-in agent; these files only provide a hash.
        write(
            "agent/casement-node.exe",
            &placeholder_program("casement-node", "v0"),
        )?;
        write(
            "agent/casement-node",
            &placeholder_program("casement-node", "v0"),
        )?;
        write("known_hosts", &known_hosts)?;
        write("cluster.yaml", &file::text(&hosts, &seed, options))?;
        write_private(&dir.join("admin.conf"), api.kubeconfig())?;
        let controllers = tokio::spawn(controllers::run(admin(&api)?, pace));
        Ok(Self {
            api,
            hosts,
            dir: dir.to_owned(),
            controllers,
        })
    }

    #[must_use]
    pub fn api(&self) -> &ApiServer {
        &self.api
    }

    pub(crate) fn admin(&self) -> Result<Client, String> {
        admin(&self.api).map_err(|error| error.to_string())
    }

    #[must_use]
    pub fn host(&self, name: &str) -> Option<&SimHost> {
        self.hosts.iter().find(|host| host.spec().name == name)
    }

    /// All hosts: Linux first.
    #[must_use]
    pub fn hosts(&self) -> &[SimHost] {
        &self.hosts
    }

    #[must_use]
    pub fn cluster_file(&self) -> PathBuf {
        self.dir.join("cluster.yaml")
    }

    #[must_use]
    pub fn kubeconfig(&self) -> PathBuf {
        self.dir.join("admin.conf")
    }

    #[must_use]
    pub fn agents(&self) -> PathBuf {
        self.dir.join("agent")
    }
}

impl Drop for SimCluster {
    fn drop(&mut self) {
        self.controllers.abort();
    }
}

fn io_error(action: String) -> impl Fn(io::Error) -> SimError {
    move |source| SimError::Io {
        message: format!("failed to {action}"),
        source,
    }
}

fn seed(options: &SimOptions) -> Seed {
    let defaults = Seed::default();
    let node = |name: &str, address, control_plane| SeedNode {
        name: name.to_owned(),
        address,
        control_plane,
    };
    Seed {
        listen: SocketAddr::from((CONTROL_PLANE_ADDRESS, 0)),
        nodes: vec![
            node("control-plane", CONTROL_PLANE_ADDRESS, true),
            node("linux1", address(1), false),
        ],
        flannel: match &options.network {
            SimNetwork::Routes => None,
            SimNetwork::Overlay(flannel) => Some(flannel.clone()),
        },
        pod_network: match options.windows {
            0..=200 => defaults.pod_network,
            _ => LARGE_POD_NETWORK,
        },
        ..defaults
    }
}

fn address(number: u32) -> Ipv4Addr {
    Ipv4Addr::from(u32::from(CONTROL_PLANE_ADDRESS).saturating_add(number))
}

fn specs(windows: usize) -> Vec<SimSpec> {
    let spec = |name: String, number, system| SimSpec {
        name,
        address: address(number),
        port: 0,
        system,
    };
    // No host for the control plane: casement only uses its API.
    let mut specs = vec![spec("linux1".to_owned(), 1, SimSystem::Linux)];
    let numbers = 1..=u32::try_from(windows.min(MAX_HOSTS.into())).unwrap_or(1);
    specs.extend(
        numbers.map(|number| spec(format!("windows{number}"), 1 + number, SimSystem::Windows)),
    );
    specs
}

/// The Windows version of a host, by its index among all hosts.
fn windows_of(index: usize) -> (&'static str, u32, u32) {
    // Index 0 is the Linux host.
    WINDOWS_VERSIONS[(index + 1) % WINDOWS_VERSIONS.len()]
}

fn customize(host: &SimHost, index: usize) {
    let (_, build, revision) = windows_of(index);
    host.customize(|world| {
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

/// Images in the simulated registries, with the Windows builds they support.
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

fn write_private(path: &Path, text: &str) -> Result<(), SimError> {
    use std::io::Write as _;
    use std::os::unix::fs::OpenOptionsExt as _;
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    let file = options.open(path);
    file.and_then(|mut file| file.write_all(text.as_bytes()))
        .map_err(io_error(format!("write {}", path.display())))
}

fn admin(api: &ApiServer) -> Result<Client, SimError> {
    let kubeconfig = api.kubeconfig();
    let part = |key: &str| {
        let mut lines = kubeconfig.lines();
        let value = lines.find_map(|line| line.trim().strip_prefix(key));
        value.and_then(|text| disk::decode_base64(text.trim()))
    };
    let both = part("client-certificate-data:").zip(part("client-key-data:"));
    let (certificate, key) = both.ok_or_else(|| SimError::Client("no certificate".to_owned()))?;
    let pem = format!("{certificate}{key}");
    let address = api.address().to_string();
    Client::new(&address, &api.ca_pem(), &Credentials::Certificate(&pem)).map_err(SimError::Client)
}
