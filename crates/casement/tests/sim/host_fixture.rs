//! One simulated host, and what speaks to its agent.

use std::net::Ipv4Addr;
use std::path::Path;

use casement_remote::{Agent, HostOs, Sha256, Target, Way, load_key};
use casement_resource::{Resource, Step};
use casement_run::link::{Agents, Link};
use casement_sim::{SimHost, SimSpec, SimSystem, make_key};

/// A host that is gone with this, and the way to it.
pub struct Rig {
    pub host: SimHost,
    pub way: Way,
    _folder: tempfile::TempDir,
}

impl Rig {
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
            way: Way::Ssh(target),
            _folder: folder,
        }
    }

    pub async fn link(&self, os: HostOs) -> Link {
        let link = Link::open(&self.way, os, &agents(), "test").await;
        link.unwrap()
    }
}

/// Agents that are never brought: simulated hosts answer for them.
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
