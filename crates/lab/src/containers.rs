//! The containers of one Windows host, run by `netd`.
//!
//! As on Windows, the containers of a pod share only the network. Each has its own
//! drive C (an overlay on the template Wine prefix) and its own Wine server, started
//! in the pod's network namespace, because a Wine program's sockets belong to the
//! namespace of its server. The lab's images have no layers; their programs are part
//! of the template.
//!
//! Processes, mounts and network namespaces belong to the host's own namespaces and
//! disappear with them.

pub mod images;
pub mod lab_registry;
pub mod registry;

use std::collections::HashMap;
use std::io::BufReader;
use std::net::TcpStream;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lab_wire::container::{ContainerCall, ContainerKey, CreateContainer, StartProcess};
use lab_wire::{Response, write_line};
use serde::Serialize;
use serde_json::Value;

pub mod command_line;
mod error;
mod launch;
mod overlay_drive;
mod processes;
mod session;
mod terminal;
mod windows_paths;

use crate::wine::windows::WindowsRelease;
pub use error::ContainerError;
use overlay_drive::OverlayDrive;

/// Paths and programs for the containers of a host.
#[derive(Debug, Clone)]
pub struct ContainersConfig {
    /// The template Wine prefix with the images' programs in `C:\lab`: the lower
    /// layer of every container's overlay.
    pub pod_template: PathBuf,
    /// Directory of the overlays; must not itself be on an overlay.
    pub work_dir: PathBuf,
    /// The Wine loader.
    pub wine: String,
    /// The host's drive C, the source of container mounts.
    pub host_drive_c: PathBuf,
    /// The Windows release of the host, also seen in containers.
    pub release: WindowsRelease,
}

#[derive(Debug)]
pub struct Containers {
    config: ContainersConfig,
    containers: Mutex<HashMap<ContainerKey, Arc<Container>>>,
}

#[derive(Debug)]
struct Container {
    drive: OverlayDrive,
    /// Name of the network namespace; `None` for the host's own.
    network: Option<String>,
    hostname: String,
}

impl Containers {
    pub fn new(config: ContainersConfig) -> Self {
        Self {
            config,
            containers: Mutex::default(),
        }
    }

    /// Kills and removes containers of an earlier `netd` or an earlier boot. Tries
    /// all of them and returns the first error.
    pub fn remove_stale(&self) -> Result<(), ContainerError> {
        let mut first = Ok(());
        for sandbox in overlay_drive::sandboxes(&self.config)? {
            first = first.and(self.delete_sandbox(&sandbox));
        }
        first
    }

    /// Serves one call of the container shim on its connection; a call that starts a
    /// process is served until the process ends.
    ///
    /// `netns` maps the GUID of an HCN namespace to the name of a network namespace.
    /// Write errors are ignored: they mean that the shim is gone.
    pub fn serve(
        &self,
        call: &ContainerCall,
        mut stream: BufReader<TcpStream>,
        netns: impl Fn(&str) -> Option<String>,
    ) {
        let response = match call {
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
        let response = match response {
            Ok(value) => Response::Ok(value),
            Err(error) => Response::Err(error.into()),
        };
        let _ = write_line(stream.get_mut(), &response);
    }

    fn create(
        &self,
        creation: &CreateContainer,
        netns: impl Fn(&str) -> Option<String>,
    ) -> Result<(), ContainerError> {
        let key = &creation.key;
        if self.containers().contains_key(key) {
            return Err(ContainerError::Exists(key.container.clone()));
        }
        let network = match creation.namespace.as_str() {
            "" => None,
            guid => Some(netns(guid).ok_or_else(|| ContainerError::NoNetwork(guid.to_owned()))?),
        };
        let drive = OverlayDrive::at(&self.config, key)?;
        let ready = drive
            .mount(&self.config.pod_template)
            .and_then(|()| drive.identify(self.config.release, &creation.hostname))
            .and_then(|()| drive.link(&self.config.host_drive_c, &creation.mounts));
        if let Err(error) = ready {
            // Cleanup; the first error is returned.
            let _ = drive.remove();
            return Err(error);
        }
        let container = Container {
            drive,
            network,
            hostname: creation.hostname.clone(),
        };
        self.containers().insert(key.clone(), Arc::new(container));
        Ok(())
    }

    fn start(&self, start: &StartProcess) -> Result<launch::RunningProcess, ContainerError> {
        let container = self.find(&start.key)?;
        launch::launch(&self.config.wine, &container, start)
    }

    fn delete(&self, key: &ContainerKey) -> Result<(), ContainerError> {
        self.containers().remove(key);
        // By directory, so that containers of an earlier netd are removed as well.
        OverlayDrive::at(&self.config, key)?.remove()
    }

    fn delete_sandbox(&self, sandbox: &str) -> Result<(), ContainerError> {
        let mut first = Ok(());
        for container in overlay_drive::containers_of(&self.config, sandbox)? {
            let key = ContainerKey {
                sandbox: sandbox.to_owned(),
                container,
            };
            first = first.and(self.delete(&key));
        }
        first
    }

    fn find(&self, key: &ContainerKey) -> Result<Arc<Container>, ContainerError> {
        self.containers()
            .get(key)
            .cloned()
            .ok_or_else(|| ContainerError::Unknown(key.container.clone()))
    }

    fn containers(&self) -> MutexGuard<'_, HashMap<ContainerKey, Arc<Container>>> {
        // The map is consistent after every statement, so a poisoned lock is usable.
        self.containers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Container {
    fn usage(&self) -> lab_wire::container::Usage {
        processes::usage(&self.drive.marker())
    }
}

fn to_value(value: impl Serialize) -> Result<Value, ContainerError> {
    serde_json::to_value(value).map_err(|error| ContainerError::Internal(error.to_string()))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn stale_containers_are_removed() {
        let dir = tempfile::tempdir().unwrap();
        let containers = Containers::new(ContainersConfig {
            pod_template: dir.path().join("template"),
            work_dir: dir.path().join("work"),
            wine: "wine".to_owned(),
            host_drive_c: dir.path().join("host"),
            release: WindowsRelease::Server2022,
        });
        containers.remove_stale().unwrap();
        fs::create_dir_all(dir.path().join("work/pod/web/upper/drive_c")).unwrap();

        containers.remove_stale().unwrap();

        assert_eq!(fs::read_dir(dir.path().join("work")).unwrap().count(), 0);
    }
}
