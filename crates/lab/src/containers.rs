//! The containers of one Windows host, as `netd` keeps them.
//!
//! As on Windows, the containers of a pod share a network and nothing else:
//! each has a drive C of its own, an overlay on a clean Wine prefix, and with
//! it a Wine server of its own, started in the pod's network namespace (a Wine
//! program's sockets live where its server was started). The images of the lab
//! have no layers; what they run lies in that clean prefix.
//!
//! Nothing here outlives the host: processes, mounts and namespaces belong to
//! the host's own namespaces and vanish with them.

pub mod images;
pub mod lab_registry;
pub mod registry;

use std::collections::HashMap;
use std::io::BufReader;
use std::net::TcpStream;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lab_wire::container::{ContainerCall, ContainerKey, Creation, ProcessStart};
use lab_wire::{Answer, write_line};
use serde::Serialize;
use serde_json::Value;

#[path = "containers/processes.rs"]
mod census;
pub mod command_line;
#[path = "containers/overlay_drive.rs"]
mod drive;
#[path = "containers/error.rs"]
mod failure;
mod launch;
#[path = "containers/windows_paths.rs"]
mod paths;
mod session;
mod terminal;

use crate::wine::windows::WindowsRelease;
use drive::Drive;
pub use failure::ContainerError;

/// What the containers of a host are made from.
#[derive(Debug, Clone)]
pub struct ContainersConfig {
    /// A clean Wine prefix with the programs of the images in `C:\lab`; the
    /// lower folder of every container's overlay, never changed.
    pub pod_template: PathBuf,
    /// Where the overlays are kept; must not itself be on an overlay.
    pub work_dir: PathBuf,
    /// The Wine loader, usually `wine`.
    pub wine: String,
    /// The host's own drive C, from which containers get their mounts.
    pub host_drive_c: PathBuf,
    /// The Windows that programs in a container see: the host's.
    pub release: WindowsRelease,
}

/// All containers of a host.
#[derive(Debug)]
pub struct Containers {
    config: ContainersConfig,
    known: Mutex<HashMap<ContainerKey, Arc<Container>>>,
}

/// One container, running or not.
#[derive(Debug)]
struct Container {
    drive: Drive,
    /// Name of the network namespace; `None` is the host's own.
    network: Option<String>,
    hostname: String,
}

impl Containers {
    /// No containers yet.
    pub fn new(config: ContainersConfig) -> Self {
        Self {
            config,
            known: Mutex::default(),
        }
    }

    /// Ends and removes what an earlier `netd`, or an earlier life of the host,
    /// has left. Everything is tried; the first failure is told.
    pub fn sweep(&self) -> Result<(), ContainerError> {
        let mut first = Ok(());
        for sandbox in drive::sandboxes(&self.config)? {
            first = first.and(self.delete_sandbox(&sandbox));
        }
        first
    }

    /// Answers one call of the container shim on its connection, and stays
    /// with the process where the call starts one.
    ///
    /// `netns` gives the name of the network namespace behind an HCN
    /// namespace's GUID. A shim that is gone needs no answer, so there is
    /// nothing to return.
    pub fn serve(
        &self,
        call: &ContainerCall,
        mut stream: BufReader<TcpStream>,
        netns: impl Fn(&str) -> Option<String>,
    ) {
        let answer = match call {
            ContainerCall::Start(start) => match self.start(start) {
                Ok(running) => return session::run(running, stream),
                Err(error) => Err(error),
            },
            ContainerCall::Create(creation) => self.create(creation, netns).map(|()| Value::Null),
            ContainerCall::Usage(key) => self.find(key).and_then(|it| to_value(it.usage())),
            ContainerCall::Delete(key) => self.delete(key).map(|()| Value::Null),
            ContainerCall::DeleteSandbox { sandbox } => {
                self.delete_sandbox(sandbox).map(|()| Value::Null)
            }
        };
        let answer = match answer {
            Ok(value) => Answer::Ok(value),
            Err(error) => Answer::Err(error.into()),
        };
        let _ = write_line(stream.get_mut(), &answer);
    }

    fn create(
        &self,
        creation: &Creation,
        netns: impl Fn(&str) -> Option<String>,
    ) -> Result<(), ContainerError> {
        let key = &creation.key;
        if self.known().contains_key(key) {
            return Err(ContainerError::Exists(key.container.clone()));
        }
        let network = match creation.namespace.as_str() {
            "" => None,
            guid => Some(netns(guid).ok_or_else(|| ContainerError::NoNetwork(guid.to_owned()))?),
        };
        let drive = Drive::at(&self.config, key)?;
        let ready = drive
            .mount(&self.config.pod_template)
            .and_then(|()| drive.identify(self.config.release, &creation.hostname))
            .and_then(|()| drive.link(&self.config.host_drive_c, &creation.mounts));
        if let Err(error) = ready {
            // The first failure is the one to tell; this only tidies up.
            let _ = drive.remove();
            return Err(error);
        }
        let container = Container {
            drive,
            network,
            hostname: creation.hostname.clone(),
        };
        self.known().insert(key.clone(), Arc::new(container));
        Ok(())
    }

    fn start(&self, start: &ProcessStart) -> Result<launch::Running, ContainerError> {
        let container = self.find(&start.key)?;
        launch::launch(&self.config.wine, &container, start)
    }

    fn delete(&self, key: &ContainerKey) -> Result<(), ContainerError> {
        self.known().remove(key);
        // From the folder, not from memory: a container that an earlier netd
        // made goes the same way.
        Drive::at(&self.config, key)?.remove()
    }

    fn delete_sandbox(&self, sandbox: &str) -> Result<(), ContainerError> {
        let mut first = Ok(());
        for container in drive::containers_of(&self.config, sandbox)? {
            let key = ContainerKey {
                sandbox: sandbox.to_owned(),
                container,
            };
            first = first.and(self.delete(&key));
        }
        first
    }

    fn find(&self, key: &ContainerKey) -> Result<Arc<Container>, ContainerError> {
        self.known()
            .get(key)
            .cloned()
            .ok_or_else(|| ContainerError::Unknown(key.container.clone()))
    }

    fn known(&self) -> MutexGuard<'_, HashMap<ContainerKey, Arc<Container>>> {
        // The map is whole between any two statements that hold the lock.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Container {
    fn usage(&self) -> lab_wire::container::Usage {
        census::usage(&self.drive.marker())
    }
}

fn to_value(value: impl Serialize) -> Result<Value, ContainerError> {
    serde_json::to_value(value).map_err(|error| ContainerError::Broken(error.to_string()))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_sweep_removes_what_an_earlier_host_left() {
        let folder = tempfile::tempdir().unwrap();
        let containers = Containers::new(ContainersConfig {
            pod_template: folder.path().join("template"),
            work_dir: folder.path().join("work"),
            wine: "wine".to_owned(),
            host_drive_c: folder.path().join("host"),
            release: WindowsRelease::Server2022,
        });
        containers.sweep().unwrap();
        fs::create_dir_all(folder.path().join("work/pod/web/upper/drive_c")).unwrap();

        containers.sweep().unwrap();

        assert_eq!(fs::read_dir(folder.path().join("work")).unwrap().count(), 0);
    }
}
