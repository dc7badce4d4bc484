//! One container: its bundle, its first process and its execs.

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
use crate::streams::Names;

/// A container, or the sandbox of a pod.
pub struct Container {
    /// Where containerd keeps its files.
    pub bundle: String,
    /// When it was created.
    pub since: Timestamp,
    sandbox: bool,
    key: ContainerKey,
    first: Arc<Process>,
    execs: Mutex<HashMap<String, Arc<Process>>>,
}

impl Container {
    /// Makes it; nothing runs yet.
    pub fn create(id: &str, bundle: &str, names: Names) -> Result<Self, Error> {
        let spec = Spec::read(Path::new(bundle))?;
        if spec.is_host_process() {
            let text = "the lab has no host process containers";
            return Err(Error::Unimplemented(text.to_owned()));
        }
        let key = spec.key(id);
        let first = match spec.is_sandbox() {
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
            since: timestamp()?,
            sandbox: spec.is_sandbox(),
            key,
            first: Arc::new(first),
            execs: Mutex::default(),
        })
    }

    /// Adds a process that will run beside the first.
    pub fn add_exec(&self, exec: &str, spec: &ProcessSpec, names: Names) -> Result<(), Error> {
        if self.sandbox {
            let text = "a sandbox runs no programs";
            return Err(Error::FailedPreconditionError(text.to_owned()));
        }
        if self.first.status().0 != Status::RUNNING {
            let text = format!("container {} is not running", self.key.container);
            return Err(Error::FailedPreconditionError(text));
        }
        let process = prepare(spec, &self.key, exec, names)?;
        self.execs().insert(exec.to_owned(), Arc::new(process));
        Ok(())
    }

    /// The first process for an empty id, else an exec.
    pub fn process(&self, exec: &str) -> Result<Arc<Process>, Error> {
        if exec.is_empty() {
            return Ok(Arc::clone(&self.first));
        }
        let process = self.execs().get(exec).cloned();
        process.ok_or_else(|| Error::NotFoundError(format!("exec {exec}")))
    }

    /// Forgets an exec.
    pub fn remove_exec(&self, exec: &str) {
        self.execs().remove(exec);
    }

    /// Takes everything away; a sandbox with all that is left in it.
    pub fn delete(&self) -> Result<(), Error> {
        remove_rootfs(&self.bundle);
        delete(&self.key, self.sandbox)
    }

    /// What it uses; a sandbox uses nothing.
    pub fn usage(&self) -> Result<Usage, Error> {
        if self.sandbox {
            return Ok(Usage::default());
        }
        let usage = netd::call(ContainerCall::Usage(self.key.clone()))?;
        Ok(serde_json::from_value(usage)?)
    }

    fn execs(&self) -> MutexGuard<'_, HashMap<String, Arc<Process>>> {
        // The map is whole between any two statements that hold the lock.
        self.execs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn prepare(
    spec: &ProcessSpec,
    key: &ContainerKey,
    exec: &str,
    names: Names,
) -> Result<Process, Error> {
    let stdin = !names.stdin.is_empty();
    let start = spec.clone().start(key.clone(), exec, names.terminal, stdin);
    Process::create(names, start)
}

/// Takes away what a shim that is no more has left.
pub fn delete_leftovers(id: &str, bundle: &str) -> Result<(), Error> {
    remove_rootfs(bundle);
    let spec = Spec::read(Path::new(bundle))?;
    delete(&spec.key(id), spec.is_sandbox())
}

/// Removes the empty folder on which Windows would have mounted the image.
/// Where it is, containerd asks the bind filter driver to unmount it, which
/// the lab does not have, and then keeps the whole bundle for ever.
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
