//! Combines the store, the fabric and the state file behind one lock.

use std::fs;
use std::io;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use lab_wire::Failure;
use lab_wire::hcn::{HcnCall, HnsCall};

use super::fabric::{Effect, Fabric, FabricError};
use super::failure;
use super::kind::HnsVersion;
use super::model::State;
use super::store::{Store, StoreConfig};
use super::system::{RealSystem, System};

#[derive(Debug, Clone)]
pub struct HnsConfig {
    /// The version to emulate; see [`HnsVersion::of_build`].
    pub version: HnsVersion,
    pub state_file: PathBuf,
    /// The host's NIC, for example `Ethernet`.
    pub nic: String,
    /// The address of the NIC.
    pub management_ip: Ipv4Addr,
    /// How long after the creation of a network its document contains that address.
    pub address_delay: Duration,
    /// True if the host has just booted: non-persistent objects are removed and the
    /// others are applied to the fabric. False if only the service restarts.
    pub boot: bool,
}

impl HnsConfig {
    /// Long enough for callers to notice; flannel waits up to 5 s.
    pub const ADDRESS_DELAY: Duration = Duration::from_secs(1);
}

#[derive(Debug, thiserror::Error)]
pub enum HnsError {
    #[error("failed to read or write the HNS state in `{}`", path.display())]
    State { path: PathBuf, source: io::Error },
    #[error("failed to restore the HNS networks after boot")]
    Fabric(#[from] FabricError),
}

/// The HNS of one host.
pub struct Hns {
    state_file: PathBuf,
    inner: Mutex<Inner>,
}

struct Inner {
    store: Store,
    fabric: Box<dyn Fabric + Send>,
    system: Box<dyn System + Send>,
}

impl Hns {
    /// Loads the state, if any, and applies it to the fabric at boot.
    pub fn open(config: HnsConfig, fabric: Box<dyn Fabric + Send>) -> Result<Self, HnsError> {
        let state = load(&config.state_file).map_err(|source| HnsError::State {
            path: config.state_file.clone(),
            source,
        })?;
        let store_config = StoreConfig {
            version: config.version,
            nic: config.nic,
            management_ip: config.management_ip,
            address_delay: config.address_delay,
        };
        let mut inner = Inner {
            store: Store::restore(store_config, state),
            fabric,
            system: Box::new(RealSystem),
        };
        if config.boot {
            inner.store.reboot(inner.system.as_mut());
            for effect in inner.store.take_effects() {
                inner.fabric.apply(&effect)?;
            }
        }
        save(&config.state_file, inner.store.state()).map_err(|source| HnsError::State {
            path: config.state_file.clone(),
            source,
        })?;
        Ok(Self {
            state_file: config.state_file,
            inner: Mutex::new(inner),
        })
    }

    /// One call of `computenetwork.dll`.
    pub fn hcn(&self, call: &HcnCall) -> Result<String, Failure> {
        self.change(|store, system| store.hcn(call, system))
    }

    /// One call of `HNSCall`; returns the response document.
    pub fn v1(&self, call: &HnsCall) -> Result<String, Failure> {
        self.change(|store, system| store.v1(call, system))
    }

    /// The Linux network namespace of an HCN namespace; `None` for the host's own and
    /// for unknown ids.
    pub fn namespace_netns(&self, namespace_id: &str) -> Option<String> {
        let inner = self.lock();
        let namespace = inner.store.namespace(namespace_id).ok()?;
        (!namespace.is_default).then(|| namespace.id.clone())
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs the call on a copy of the store, which replaces the original only if all
    /// effects could be applied.
    fn change(
        &self,
        call: impl FnOnce(&mut Store, &mut dyn System) -> Result<String, Failure>,
    ) -> Result<String, Failure> {
        let mut guard = self.lock();
        let inner = &mut *guard;
        let mut store = inner.store.clone();
        let output = call(&mut store, inner.system.as_mut())?;
        let effects = store.take_effects();
        apply(inner.fabric.as_mut(), &effects)?;
        let changed = store.state() != inner.store.state();
        inner.store = store;
        if changed {
            let saved = save(&self.state_file, inner.store.state());
            saved.map_err(|error| {
                failure::unspecified(format!("failed to save the HNS state: {error}"))
            })?;
        }
        Ok(output)
    }
}

/// Applies all effects or none: after a failure the previous ones are rolled back.
fn apply(fabric: &mut dyn Fabric, effects: &[Effect]) -> Result<(), Failure> {
    for (done, effect) in effects.iter().enumerate() {
        let Err(error) = fabric.apply(effect) else {
            continue;
        };
        eprintln!("hns: {effect:?}: {error}");
        for effect in effects.iter().take(done).rev() {
            if let Err(error) = fabric.apply(&effect.inverse()) {
                eprintln!("hns: rollback of {effect:?}: {error}");
            }
        }
        return Err(failure::unspecified(error.to_string()));
    }
    Ok(())
}

fn load(path: &Path) -> io::Result<State> {
    match fs::read(path) {
        Ok(bytes) => Ok(serde_json::from_slice(&bytes)?),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(State::default()),
        Err(error) => Err(error),
    }
}

/// Atomic: writes a new file and renames it.
fn save(path: &Path, state: &State) -> io::Result<()> {
    let new = path.with_extension("new");
    fs::write(&new, serde_json::to_vec_pretty(state)?)?;
    fs::rename(&new, path)
}
