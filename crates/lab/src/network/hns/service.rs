//! The store, its wire and its file, behind one lock.

use std::fs;
use std::io;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use lab_wire::Failure;
use lab_wire::hcn::{HcnCall, HnsCall};

use super::ambient::{Ambient, SystemAmbient};
use super::fabric::{Effect, Fabric, FabricError};
use super::failure;
use super::kind::HnsVersion;
use super::model::State;
use super::store::{Setup, Store};

/// What one host's HNS needs to know.
#[derive(Debug, Clone)]
pub struct HnsConfig {
    /// Which HNS to be; see [`HnsVersion::of_build`].
    pub version: HnsVersion,
    /// Where the state is kept.
    pub state_file: PathBuf,
    /// The host's network card, for example `Ethernet`.
    pub nic: String,
    /// The host's address on it.
    pub management_ip: Ipv4Addr,
    /// How long after its creation a network learns that address.
    pub address_delay: Duration,
    /// True when the host was just started: what is not persistent is gone, and
    /// the wire has to be made again. False when only the service restarts.
    pub boot: bool,
}

impl HnsConfig {
    /// A moment that callers notice and survive: flannel waits for five seconds.
    pub const ADDRESS_DELAY: Duration = Duration::from_secs(1);
}

/// HNS could not be started.
#[derive(Debug, thiserror::Error)]
pub enum HnsError {
    /// The state file could not be read or written.
    #[error("HNS state `{}`", path.display())]
    State {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A persistent network could not be made again after boot.
    #[error("HNS networks after boot")]
    Fabric(#[from] FabricError),
}

/// One host's HNS, for any number of threads.
pub struct Hns {
    state_file: PathBuf,
    inner: Mutex<Inner>,
}

struct Inner {
    store: Store,
    fabric: Box<dyn Fabric + Send>,
    ambient: Box<dyn Ambient + Send>,
}

impl Hns {
    /// Loads the state, if there is one, and brings the wire in line with it
    /// where this is a boot.
    pub fn open(config: HnsConfig, fabric: Box<dyn Fabric + Send>) -> Result<Self, HnsError> {
        let state = load(&config.state_file).map_err(|source| HnsError::State {
            path: config.state_file.clone(),
            source,
        })?;
        let setup = Setup {
            version: config.version,
            nic: config.nic,
            management_ip: config.management_ip,
            address_delay: config.address_delay,
        };
        let mut inner = Inner {
            store: Store::restore(setup, state),
            fabric,
            ambient: Box::new(SystemAmbient),
        };
        if config.boot {
            inner.store.reboot(inner.ambient.as_mut());
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
        self.change(|store, ambient| store.hcn(call, ambient))
    }

    /// One call of `HNSCall`; the answer is the response document.
    pub fn v1(&self, call: &HnsCall) -> Result<String, Failure> {
        self.change(|store, ambient| store.v1(call, ambient))
    }

    /// The Linux namespace of a pod, given its HCN namespace's id in any case;
    /// `None` for the host's own and for unknown ones.
    pub fn namespace_netns(&self, namespace_id: &str) -> Option<String> {
        let inner = self.lock();
        let namespace = inner.store.namespace(namespace_id).ok()?;
        (!namespace.is_default).then(|| namespace.id.clone())
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tries the call on a copy; what happened is made real and kept, or undone
    /// and forgotten.
    fn change(
        &self,
        call: impl FnOnce(&mut Store, &mut dyn Ambient) -> Result<String, Failure>,
    ) -> Result<String, Failure> {
        let mut guard = self.lock();
        let inner = &mut *guard;
        let mut store = inner.store.clone();
        let answer = call(&mut store, inner.ambient.as_mut())?;
        let effects = store.take_effects();
        apply(inner.fabric.as_mut(), &effects)?;
        let changed = store.state() != inner.store.state();
        inner.store = store;
        if changed {
            let saved = save(&self.state_file, inner.store.state());
            saved.map_err(|error| failure::unspecified(format!("HNS state: {error}")))?;
        }
        Ok(answer)
    }
}

/// Makes all effects real, or none: those done are taken back in reverse.
fn apply(fabric: &mut dyn Fabric, effects: &[Effect]) -> Result<(), Failure> {
    for (done, effect) in effects.iter().enumerate() {
        let Err(error) = fabric.apply(effect) else {
            continue;
        };
        eprintln!("hns: {effect:?}: {error}");
        for effect in effects.iter().take(done).rev() {
            if let Err(error) = fabric.apply(&effect.inverse()) {
                eprintln!("hns: undoing {effect:?}: {error}");
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

/// Whole or not at all: a new file takes the old one's place.
fn save(path: &Path, state: &State) -> io::Result<()> {
    let new = path.with_extension("new");
    fs::write(&new, serde_json::to_vec_pretty(state)?)?;
    fs::rename(&new, path)
}
