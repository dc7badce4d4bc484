//! One container: its bundle, its init process and its execs.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use containerd_shim::Error;
use containerd_shim::api::Status;
use containerd_shim::protos::protobuf::well_known_types::timestamp::Timestamp;
use containerd_shim::util::timestamp;
use lab_wire::container::{ContainerCall, ContainerKey, Usage};

use crate::netd;
use crate::process::Process;
use crate::spec::{ProcessSpec, Spec};
use crate::streams::StreamNames;

/// A container, or the sandbox of a pod.
pub struct Container {
    /// The directory of the container in containerd.
    pub bundle: String,
    pub created_at: Timestamp,
    sandbox: bool,
    key: ContainerKey,
    init: Arc<Process>,
    execs: Mutex<HashMap<String, Arc<Process>>>,
}

impl Container {
    /// Does not start a process.
    pub fn create(id: &str, bundle: &str, names: StreamNames) -> Result<Self, Error> {
        let spec = Spec::read(Path::new(bundle))?;
        if spec.is_host_process() {
            let text = "host process containers are not supported in the lab";
            return Err(Error::Unimplemented(text.to_owned()));
        }
        let key = spec.key(id);
        let init = match spec.is_sandbox() {
            true => Process::pause(names),
            false => {
                netd::call(ContainerCall::Create(spec.creation(key.clone())))?;
                prepare(&spec.process(), &key, "", names).inspect_err(|_| {
                    let _ = netd::call(ContainerCall::Delete(key.clone()));
                })?
            }
        };
        Ok(Self {
            bundle: bundle.to_owned(),
            created_at: timestamp()?,
            sandbox: spec.is_sandbox(),
            key,
            init: Arc::new(init),
            execs: Mutex::default(),
        })
    }

    pub fn add_exec(
        &self,
        exec: &str,
        spec: &ProcessSpec,
        names: StreamNames,
    ) -> Result<(), Error> {
        if self.sandbox {
            let text = "a sandbox cannot run processes";
            return Err(Error::FailedPreconditionError(text.to_owned()));
        }
        if self.init.status().0 != Status::RUNNING {
            let text = format!("container {} is not running", self.key.container);
            return Err(Error::FailedPreconditionError(text));
        }
        let process = prepare(spec, &self.key, exec, names)?;
        self.execs().insert(exec.to_owned(), Arc::new(process));
        Ok(())
    }

    /// The init process for an empty id, otherwise an exec.
    pub fn process(&self, exec: &str) -> Result<Arc<Process>, Error> {
        if exec.is_empty() {
            return Ok(Arc::clone(&self.init));
        }
        let process = self.execs().get(exec).cloned();
        process.ok_or_else(|| Error::NotFoundError(format!("exec {exec}")))
    }

    pub fn remove_exec(&self, exec: &str) {
        self.execs().remove(exec);
    }

    /// Deleting a sandbox also deletes its remaining containers.
    pub fn delete(&self) -> Result<(), Error> {
        remove_rootfs(&self.bundle);
        delete(&self.key, self.sandbox)
    }

    /// Zero for a sandbox.
    pub fn usage(&self) -> Result<Usage, Error> {
        if self.sandbox {
            return Ok(Usage::default());
        }
        let usage = netd::call(ContainerCall::Usage(self.key.clone()))?;
        Ok(serde_json::from_value(usage)?)
    }

    fn execs(&self) -> MutexGuard<'_, HashMap<String, Arc<Process>>> {
        // No panic can leave the map in an invalid state.
        self.execs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn prepare(
    spec: &ProcessSpec,
    key: &ContainerKey,
    exec: &str,
    names: StreamNames,
) -> Result<Process, Error> {
    let stdin = !names.stdin.is_empty();
    let start = spec.clone().start(key.clone(), exec, names.terminal, stdin);
    Process::create(names, start)
}

/// Cleans up after a shim that has exited.
pub fn delete_leftovers(id: &str, bundle: &str) -> Result<(), Error> {
    remove_rootfs(bundle);
    let spec = Spec::read(Path::new(bundle))?;
    delete(&spec.key(id), spec.is_sandbox())
}

/// Removes the empty directory on which Windows would have mounted the image.
/// If it exists, containerd asks the bind filter driver to unmount it, which the
/// lab does not have, and then never deletes the bundle.
fn remove_rootfs(bundle: &str) {
    let _ = fs::remove_dir(Path::new(bundle).join("rootfs"));
}

fn delete(key: &ContainerKey, sandbox: bool) -> Result<(), Error> {
    let call = match sandbox {
        true => ContainerCall::DeleteSandbox {
            sandbox: key.sandbox.clone(),
        },
        false => ContainerCall::Delete(key.clone()),
    };
    netd::call(call).map(drop)
}
