//! `casement lab status`: the current state of each host.

use std::fs;
use std::path::Path;

use serde::Serialize;

use crate::control_plane::binaries;
use crate::host::instance;
use crate::problem::Result;
use crate::state::record::{HostKind, Record, host_dir};
use crate::up;

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HostStatus {
    pub name: String,
    pub address: std::net::Ipv4Addr,
    /// For example `Windows Server 2022 (10.0.20348.3807)`.
    pub system: String,
    /// `on`, `starting` or `off`.
    pub state: &'static str,
    pub boots: u32,
    /// PID of the host's init, seen from this machine.
    pub pid: Option<i32>,
    /// Supervised programs of the host that ended unexpectedly.
    pub ended: Vec<String>,
}

pub fn hosts(lab: &Path, record: &Record) -> Result<Vec<HostStatus>> {
    Ok(record
        .hosts
        .iter()
        .map(|host| {
            let instance = instance::find(lab, &host.name);
            HostStatus {
                name: host.name.clone(),
                address: record.address(host),
                system: system(host.kind),
                state: match &instance {
                    None => "off",
                    Some(_) if up::is_ready(lab, &host.name) => "on",
                    Some(_) => "starting",
                },
                boots: host.boots,
                pid: instance.map(|instance| instance.init.as_raw_nonzero().get()),
                ended: ended(lab, &host.name),
            }
        })
        .collect())
}

fn system(kind: HostKind) -> String {
    match kind {
        HostKind::ControlPlane => format!("Kubernetes {}", binaries::KUBERNETES),
        HostKind::Linux => "Linux".to_owned(),
        HostKind::Windows(release) => release.to_string(),
    }
}

fn ended(lab: &Path, host: &str) -> Vec<String> {
    let dir = host_dir(lab, host).join("ended");
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}
