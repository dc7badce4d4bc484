//! `casement lab status`.

use std::fs;
use std::path::Path;

use serde::Serialize;

use crate::control_plane::parts;
use crate::host::capsule;
use crate::problem::Result;
use crate::state::record::{HostKind, Record, host_folder};
use crate::up;

/// One host as it is now.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HostStatus {
    /// Its name.
    pub name: String,
    /// Its address.
    pub address: std::net::Ipv4Addr,
    /// What it is, in words.
    pub system: String,
    /// `on`, `starting` or `off`.
    pub state: &'static str,
    /// How often it was started.
    pub boots: u32,
    /// Its first process, as the machine numbers it.
    pub pid: Option<i32>,
    /// Programs of the host that ended and should not have.
    pub ended: Vec<String>,
}

/// The hosts of a lab as they are now.
pub fn hosts(lab: &Path, record: &Record) -> Result<Vec<HostStatus>> {
    Ok(record
        .hosts
        .iter()
        .map(|host| {
            let capsule = capsule::find(lab, &host.name);
            HostStatus {
                name: host.name.clone(),
                address: record.address(host),
                system: system(host.kind),
                state: match &capsule {
                    None => "off",
                    Some(_) if up::is_ready(lab, &host.name) => "on",
                    Some(_) => "starting",
                },
                boots: host.boots,
                pid: capsule.map(|capsule| capsule.init.as_raw_nonzero().get()),
                ended: ended(lab, &host.name),
            }
        })
        .collect())
}

fn system(kind: HostKind) -> String {
    match kind {
        HostKind::ControlPlane => format!("Kubernetes {}", parts::KUBERNETES),
        HostKind::Linux => "Linux".to_owned(),
        HostKind::Windows(release) => release.to_string(),
    }
}

fn ended(lab: &Path, host: &str) -> Vec<String> {
    let folder = host_folder(lab, host).join("ended");
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}
