//! The record of a lab, saved as `lab.json` in its directory.

use std::fs;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::problem::{self, AtPath, Problem, Result};
use crate::state::paths::{lab_command, lab_name, recreate};
use crate::wine::windows::WindowsRelease;

pub const CONTROL_PLANE: &str = "control-plane";

/// Saved before anything is started, so that `down` knows what may exist.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Record {
    pub name: String,
    /// The lab's /24 within 198.18.0.0/15.
    pub slot: u8,
    pub hosts: Vec<Host>,
    /// Directory of the Kubernetes binaries, if the lab has a control plane.
    #[serde(rename = "parts")]
    pub binaries: Option<PathBuf>,
    /// Directory of the lab's Windows programs, if there are Windows hosts.
    pub windows: Option<PathBuf>,
    /// The template Wine prefix, if there are Windows hosts.
    pub template: Option<PathBuf>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Host {
    /// For example `win1`.
    pub name: String,
    pub kind: HostKind,
    /// Last byte of the address.
    pub number: u8,
    /// Number of starts, reported by Windows as the BootId.
    pub boots: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HostKind {
    /// etcd, the Kubernetes control plane and the image registry.
    ControlPlane,
    /// A namespace with OpenSSH.
    Linux,
    /// Windows under Wine.
    Windows(WindowsRelease),
}

impl Record {
    /// `None` if the directory has no lab.
    pub fn load(lab: &Path) -> Result<Option<Self>> {
        let path = lab.join("lab.json");
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(problem::file("read", &path, &error)),
        };
        serde_json::from_str(&text).map(Some).map_err(|error| {
            Problem::new(
                "CAS-LAB-013",
                format!("`{}` is not a valid lab record", path.display()),
                recreate(&lab_name(lab)),
            )
            .detail("cause", error)
        })
    }

    /// Atomic: a kill leaves either the old or the new record.
    pub fn save(&self, lab: &Path) -> Result<()> {
        let path = lab.join("lab.json");
        let text = serde_json::to_string_pretty(self)
            .map_err(|error| problem::internal("encode lab.json", &error))?;
        let new = lab.join("lab.json.new");
        fs::write(&new, text).at("write", &new)?;
        fs::rename(&new, &path).at("write", &path)
    }

    pub fn host(&self, name: &str) -> Result<&Host> {
        self.hosts
            .iter()
            .find(|host| host.name == name)
            .ok_or_else(|| self.no_such_host(name))
    }

    fn no_such_host(&self, name: &str) -> Problem {
        let status = lab_command(&self.name, "status");
        let names: Vec<&str> = self.hosts.iter().map(|host| host.name.as_str()).collect();
        Problem::new(
            "CAS-LAB-014",
            format!("lab `{}` has no host `{name}`", self.name),
            format!("use one of these names; `{status}` shows details"),
        )
        .detail("hosts", names.join(", "))
    }

    pub fn address(&self, host: &Host) -> Ipv4Addr {
        self.at(host.number)
    }

    /// The address of this machine on the lab's network.
    pub fn gateway(&self) -> Ipv4Addr {
        self.at(1)
    }

    /// The reserved address of the control plane, also in labs without one.
    pub fn control_plane(&self) -> Ipv4Addr {
        self.at(10)
    }

    fn at(&self, number: u8) -> Ipv4Addr {
        Ipv4Addr::new(198, 18, self.slot, number)
    }

    pub fn has_control_plane(&self) -> bool {
        self.hosts
            .iter()
            .any(|host| host.kind == HostKind::ControlPlane)
    }
}

pub fn host_dir(lab: &Path, host: &str) -> PathBuf {
    lab.join("hosts").join(host)
}
