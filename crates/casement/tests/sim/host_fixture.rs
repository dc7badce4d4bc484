//! One simulated host and a client for its agent.

use std::net::Ipv4Addr;
use std::path::Path;

use casement_remote::{Agent, HostEndpoint, HostOs, Sha256, Target, load_key};
use casement_resource::{Resource, Step};
use casement_run::agent_client::{AgentClient, Agents};
use casement_sim::{SimHost, SimSpec, SimSystem, make_key};

/// Stops the host on drop.
pub struct HostFixture {
    pub host: SimHost,
    pub endpoint: HostEndpoint,
    _folder: tempfile::TempDir,
}

impl HostFixture {
    pub async fn start(system: SimSystem, address: Ipv4Addr) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let key = folder.path().join("id_ed25519");
        let public = make_key(&key).unwrap();
        let spec = SimSpec {
            name: "sim1".to_owned(),
            address,
            port: 0,
            system,
        };
        let host = SimHost::start(spec, folder.path(), public).await.unwrap();
        let known_hosts = folder.path().join("known_hosts");
        std::fs::write(&known_hosts, host.known_hosts_line().unwrap()).unwrap();
        let user = match system {
            SimSystem::Windows => "Administrator",
            SimSystem::Linux => "root",
        };
        let key = load_key(&key).unwrap();
        let mut target = Target::new("sim1", address.to_string(), user, key, known_hosts);
        target.port = host.port();
        Self {
            host,
            endpoint: HostEndpoint::Ssh(target),
            _folder: folder,
        }
    }

    pub async fn connect(&self, os: HostOs) -> AgentClient {
        let client = AgentClient::open(&self.endpoint, os, &agents(), "test").await;
        client.unwrap()
    }
}

/// Agents that are never uploaded: simulated hosts have their own.
pub fn agents() -> Agents {
    let agent = |os| Agent {
        path: Path::new("/nonexistent").to_owned(),
        hash: Sha256::of(b"agent"),
        size: 5,
        os,
    };
    Agents {
        windows: agent(HostOs::Windows),
        linux: Some(agent(HostOs::Linux)),
    }
}

pub fn step(id: &str, disruptive: bool, resource: Resource) -> Step {
    Step {
        id: id.parse().unwrap(),
        after: Vec::new(),
        disruptive,
        resource,
    }
}
