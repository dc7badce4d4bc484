//! What one lab consists of, as it is written down in its folder.

use std::fs;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::problem::{self, AtPath, Problem, Result};
use crate::wine::windows::WindowsRelease;

/// The host that carries the control plane.
pub const CONTROL_PLANE: &str = "control-plane";

/// One lab: written before anything is started, so that `down` always knows
/// what there may be.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Record {
    /// The lab's name.
    pub name: String,
    /// Which /24 of 198.18.0.0/15 is this lab's.
    pub slot: u8,
    /// What runs in it.
    pub hosts: Vec<Host>,
    /// The folder of the built Kubernetes, if it was asked for.
    pub parts: Option<PathBuf>,
    /// The folder of our own Windows programs, if there are Windows hosts.
    pub windows: Option<PathBuf>,
    /// The clean Wine prefix, if there are Windows hosts.
    pub template: Option<PathBuf>,
}

/// One host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Host {
    /// For example `win1`.
    pub name: String,
    /// What it is.
    pub kind: HostKind,
    /// The last byte of its address.
    pub number: u8,
    /// How often it was started, the first time included: its BootId.
    pub boots: u32,
}

/// What a host is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HostKind {
    /// etcd and Kubernetes' own programs, the registry of images.
    ControlPlane,
    /// A namespace with OpenSSH.
    Linux,
    /// Windows under Wine.
    Windows(WindowsRelease),
}

impl Record {
    /// The record in a lab's folder; `None` where there is no lab.
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
                format!("`{}` is no record of a lab", path.display()),
                "casement lab down takes the rest of that lab away",
            )
            .seen("it says", error)
        })
    }

    /// Replaces the record in one step, so that a kill leaves the old or the new.
    pub fn save(&self, lab: &Path) -> Result<()> {
        let path = lab.join("lab.json");
        let text = serde_json::to_string_pretty(self)
            .map_err(|error| problem::file("write", &path, &error.into()))?;
        let new = lab.join("lab.json.new");
        fs::write(&new, text).at("write", &new)?;
        fs::rename(&new, &path).at("write", &path)
    }

    /// The host of that name, or a list of those that there are.
    pub fn host(&self, name: &str) -> Result<&Host> {
        self.hosts
            .iter()
            .find(|host| host.name == name)
            .ok_or_else(|| self.no_such_host(name))
    }

    fn no_such_host(&self, name: &str) -> Problem {
        let names: Vec<&str> = self.hosts.iter().map(|host| host.name.as_str()).collect();
        Problem::new(
            "CAS-LAB-014",
            format!("there is no host `{name}` in lab `{}`", self.name),
            "take one of those, or `casement lab status` for more about them",
        )
        .seen("there are", names.join(", "))
    }

    /// The address of a host.
    pub fn address(&self, host: &Host) -> Ipv4Addr {
        self.at(host.number)
    }

    /// The address that the machine itself has on the lab's network.
    pub fn gateway(&self) -> Ipv4Addr {
        self.at(1)
    }

    /// The address of the control plane, whether there is one or not.
    pub fn control_plane(&self) -> Ipv4Addr {
        self.at(10)
    }

    fn at(&self, number: u8) -> Ipv4Addr {
        Ipv4Addr::new(198, 18, self.slot, number)
    }

    /// Whether the lab has a control plane.
    pub fn has_control_plane(&self) -> bool {
        self.hosts
            .iter()
            .any(|host| host.kind == HostKind::ControlPlane)
    }
}

/// The folder of one host inside a lab's folder.
pub fn host_folder(lab: &Path, host: &str) -> PathBuf {
    lab.join("hosts").join(host)
}
