//! The parts of an OCI runtime spec that the lab uses.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use containerd_shim::Error;
use lab_wire::container::{CommandLine, ContainerKey, CreateContainer, Mount, StartProcess};
use serde::Deserialize;

const CONTAINER_TYPE: &str = "io.kubernetes.cri.container-type";
const SANDBOX_ID: &str = "io.kubernetes.cri.sandbox-id";
const HOST_PROCESS: &str = "microsoft.com/hostprocess-container";

/// A bundle's `config.json`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Spec {
    process: Option<ProcessSpec>,
    hostname: String,
    mounts: Option<Vec<Mount>>,
    annotations: Option<HashMap<String, String>>,
    windows: Option<Windows>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ProcessSpec {
    args: Option<Vec<String>>,
    command_line: String,
    cwd: String,
    env: Option<Vec<String>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Windows {
    network: Option<Network>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Network {
    network_namespace: String,
}

impl Spec {
    pub fn read(bundle: &Path) -> Result<Self, Error> {
        let path = bundle.join("config.json");
        let text = fs::read(&path).map_err(|err| Error::IoError {
            context: format!("read {}", path.display()),
            err,
        })?;
        Ok(serde_json::from_slice(&text)?)
    }

    /// The sandbox of a pod has no process.
    pub fn is_sandbox(&self) -> bool {
        self.annotation(CONTAINER_TYPE) == Some("sandbox")
    }

    /// Host process containers are not supported in the lab.
    pub fn is_host_process(&self) -> bool {
        self.annotation(HOST_PROCESS) == Some("true")
    }

    /// A container outside a pod is its own sandbox.
    pub fn key(&self, id: &str) -> ContainerKey {
        ContainerKey {
            sandbox: self.annotation(SANDBOX_ID).unwrap_or(id).to_owned(),
            container: id.to_owned(),
        }
    }

    pub fn creation(&self, key: ContainerKey) -> CreateContainer {
        let network = self
            .windows
            .as_ref()
            .and_then(|windows| windows.network.as_ref());
        CreateContainer {
            key,
            namespace: network.map_or(String::new(), |network| network.network_namespace.clone()),
            hostname: self.hostname.clone(),
            mounts: self.mounts.clone().unwrap_or_default(),
        }
    }

    pub fn process(&self) -> ProcessSpec {
        self.process.clone().unwrap_or_default()
    }

    fn annotation(&self, name: &str) -> Option<&str> {
        self.annotations.as_ref()?.get(name).map(String::as_str)
    }
}

impl ProcessSpec {
    /// A raw command line takes precedence over arguments, as in Microsoft's shim.
    pub fn start(self, key: ContainerKey, exec: &str, terminal: bool, stdin: bool) -> StartProcess {
        let command = match self.command_line.as_str() {
            "" => CommandLine::Arguments(self.args.unwrap_or_default()),
            raw => CommandLine::Raw(raw.to_owned()),
        };
        StartProcess {
            key,
            exec: exec.to_owned(),
            command,
            directory: self.cwd,
            environment: self.env.unwrap_or_default(),
            terminal,
            stdin,
        }
    }
}
