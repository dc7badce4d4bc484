//! A simulated host, Windows or Linux: in memory, with the semantics that matter to the
//! engine, and with faults on demand.
//!
//! It has no network traffic but downloads from this machine, no clock and no programs
//! but a few of its own.
//! What it does is "as understood", not as Windows or Linux do it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use casement_resource::wire::{HostFacts, InterfaceFacts, OperatingSystem};
use casement_resource::{Code, Condition, ConditionFacts, Failure, ServiceState};

use crate::platform::{Conditions, Ended, Level, Network, Platform, Program, Result};

mod containers;
#[path = "sim/sim_service.rs"]
mod door;
mod downloads;
mod features;
mod files;
mod firewall;
mod hns;
mod hook;
mod images;
mod linux;
mod network;
mod programs;
mod services;
mod sessions;
mod settings;
mod world;

use hook::Hook;

pub use door::{Door, DoorListener, door};
pub use linux::{LinuxWorld, Unit};
pub use world::{Container, Feature, RegistryImage, Service, SimImage, Thing, World};

/// What goes wrong, and when.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Faults {
    /// The process is killed at this point: every change has one before it and
    /// one after it, counted from 1.
    pub kill_at: Option<u64>,
    /// This change fails, counted from 1.
    pub fail_at: Option<u64>,
    /// The process is killed at this look, counted from 1. Before it or after it
    /// is the same: a look leaves nothing.
    pub kill_at_look: Option<u64>,
    /// This look fails, counted from 1.
    pub fail_at_look: Option<u64>,
    /// Changes whose name starts with this fail.
    pub failing: Option<String>,
    /// Changes whose name starts with this are said to be done, and are not.
    pub lying: Option<String>,
    /// The disk has room for files of this many bytes, and not for longer ones.
    pub room: Option<u64>,
    /// A file that somebody holds open: it can be read, and nothing else.
    pub held: Option<String>,
    /// A service that begins to stop, and never has.
    pub stuck: Option<String>,
}

/// What a killed process unwinds with.
#[derive(Debug)]
pub struct Killed;

/// The simulated host.
#[derive(Debug, Default)]
pub struct Sim {
    world: Mutex<World>,
    faults: Mutex<Faults>,
    points: AtomicU64,
    changes: AtomicU64,
    looks: AtomicU64,
    /// How often all sessions were closed.
    closed: AtomicU64,
    /// The services that ended when the host last went down, in that order.
    ended: Mutex<Vec<String>>,
    notices: Mutex<Vec<(Level, String)>>,
    /// Told when the host's network card is taken, or given back.
    cut: Hook<Hears>,
    model: Hook<Runs>,
    watch: Hook<Watches>,
}

/// Who hears that every connection to the host is lost.
type Hears = dyn Fn() + Send + Sync;

/// Programs that somebody else knows how to run.
type Runs = dyn Fn(&Sim, &Program) -> Option<Ended> + Send + Sync;

/// Who looks on.
type Watches = dyn Fn(&Sim) + Send + Sync;

impl Sim {
    /// A host that looks like this.
    #[must_use]
    pub fn new(world: World) -> Self {
        Self {
            world: Mutex::new(world),
            ..Self::default()
        }
    }

    /// What it looks like now.
    #[must_use]
    pub fn world(&self) -> World {
        self.lock().clone()
    }

    /// Whether a service runs; its name is in lower case.
    #[must_use]
    pub fn runs(&self, service: &str) -> bool {
        let world = self.lock();
        let service = world.services.get(service);
        service.is_some_and(|service| service.state == ServiceState::Running)
    }

    /// What its people were told so far.
    #[must_use]
    pub fn notices(&self) -> Vec<(Level, String)> {
        let notices = self.notices.lock();
        notices.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Changes it behind casement's back.
    pub fn meddle(&self, change: impl FnOnce(&mut World)) {
        change(&mut self.lock());
    }

    /// Who hears that every connection to the host is lost.
    pub fn on_cut(&self, hear: impl Fn() + Send + Sync + 'static) {
        self.cut.set(Arc::new(hear));
    }

    /// Who runs programs instead of the host's own few, where it knows them.
    pub fn on_run(&self, runs: impl Fn(&Sim, &Program) -> Option<Ended> + Send + Sync + 'static) {
        self.model.set(Arc::new(runs));
    }

    /// Who looks on at every moment at which the process could be killed: before
    /// each look, and before and after each change.
    pub fn on_moment(&self, watches: impl Fn(&Sim) + Send + Sync + 'static) {
        self.watch.set(Arc::new(watches));
    }

    fn moment(&self) {
        if let Some(watches) = self.watch.get() {
            watches(self);
        }
    }

    /// What somebody else's model makes of a program. It may take its time, and
    /// look at the host meanwhile.
    fn modelled(&self, program: &Program) -> Option<Ended> {
        let model = self.model.get()?;
        model(self, program)
    }

    /// The services that ended when the host last went down, in that order.
    #[must_use]
    pub fn ended(&self) -> Vec<String> {
        let ended = self.ended.lock();
        ended.unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn lose_connections(&self) {
        self.close_sessions();
        if let Some(hear) = self.cut.get() {
            hear();
        }
    }

    /// Sets what goes wrong from now on, and starts counting anew.
    pub fn set_faults(&self, faults: Faults) {
        *self.faults.lock().unwrap_or_else(PoisonError::into_inner) = faults;
        self.points.store(0, Ordering::SeqCst);
        self.changes.store(0, Ordering::SeqCst);
        self.looks.store(0, Ordering::SeqCst);
    }

    /// How many changes were asked for since then.
    #[must_use]
    pub fn changes(&self) -> u64 {
        self.changes.load(Ordering::SeqCst)
    }

    /// How many points were passed since then.
    #[must_use]
    pub fn points(&self) -> u64 {
        self.points.load(Ordering::SeqCst)
    }

    /// How many looks there were since then.
    #[must_use]
    pub fn looks(&self) -> u64 {
        self.looks.load(Ordering::SeqCst)
    }

    /// Passes a point at which the process may be killed; the journal of a test
    /// passes them too.
    pub fn point(&self) {
        self.moment();
        let now = self.points.fetch_add(1, Ordering::SeqCst) + 1;
        if self.faults().kill_at == Some(now) {
            std::panic::resume_unwind(Box::new(Killed));
        }
    }

    fn faults(&self) -> Faults {
        self.faults
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn lock(&self) -> MutexGuard<'_, World> {
        self.world.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One look, by name: every method that only tells something begins with it.
    fn read(&self, name: &str) -> Result<()> {
        self.outlive();
        self.moment();
        let number = self.looks.fetch_add(1, Ordering::SeqCst) + 1;
        let faults = self.faults();
        if faults.kill_at_look == Some(number) {
            std::panic::resume_unwind(Box::new(Killed));
        }
        if faults.fail_at_look == Some(number) {
            return Err(refused(name, "a fault was asked for"));
        }
        Ok(())
    }

    /// One change, by name.
    fn change<T: Default>(
        &self,
        name: &str,
        change: impl FnOnce(&mut World) -> Result<T>,
    ) -> Result<T> {
        self.outlive();
        self.point();
        let faults = self.faults();
        let hit = |prefix: &Option<String>| prefix.as_ref().is_some_and(|it| name.starts_with(it));
        let number = self.changes.fetch_add(1, Ordering::SeqCst) + 1;
        if hit(&faults.failing) || faults.fail_at == Some(number) {
            return Err(refused(name, "a fault was asked for"));
        }
        if hit(&faults.lying) {
            return Ok(T::default());
        }
        let result = change(&mut self.lock())?;
        self.point();
        Ok(result)
    }
}

impl Platform for Sim {
    fn notice(&self, level: Level, text: &str) {
        let notices = self.notices.lock();
        let mut notices = notices.unwrap_or_else(PoisonError::into_inner);
        notices.push((level, text.to_owned()));
    }

    fn is_simulated(&self) -> bool {
        true
    }

    fn facts(&self) -> Result<HostFacts> {
        let interfaces = self.interfaces()?;
        let world = self.lock();
        if world.linux.is_some() {
            return Ok(HostFacts {
                os: OperatingSystem::Linux,
                product: "Linux (simulated)".to_owned(),
                version: "6.12.0".to_owned(),
                architecture: "x86_64".to_owned(),
                hostname: world.hostname.clone(),
                service_manager: Some("systemd".to_owned()),
                interfaces,
            });
        }
        Ok(HostFacts {
            os: OperatingSystem::Windows,
            product: format!("{} (simulated)", world.product()),
            version: world.version(),
            architecture: "x86_64".to_owned(),
            hostname: world.hostname.clone(),
            service_manager: Some("scm".to_owned()),
            interfaces,
        })
    }
}

impl Conditions for Sim {
    fn condition(&self, condition: &Condition) -> Result<ConditionFacts> {
        self.read("condition")?;
        let world = self.lock();
        // A program offers what it is known by as soon as it runs.
        let offered = world.services.values().any(|service| {
            let ready = service.definition.as_ref().and_then(|it| it.ready.as_ref());
            service.state == ServiceState::Running && ready == Some(condition)
        });
        let holds = match condition {
            Condition::FileExists(path) => offered || world.entries.contains_key(path),
            Condition::ServiceRunning(name) => {
                let service = world.services.get(&name.to_lowercase());
                service.is_some_and(|service| service.state == ServiceState::Running)
            }
            Condition::Address(address) => world
                .interfaces
                .iter()
                .any(|it: &InterfaceFacts| it.has(*address)),
            Condition::HnsNetwork(name) => {
                let mut networks = world.networks.iter();
                offered || networks.any(|it| it.name.eq_ignore_ascii_case(name))
            }
            Condition::NamedPipe(_) | Condition::TcpPort(_) => offered,
        };
        Ok(if holds {
            ConditionFacts::Holds
        } else {
            ConditionFacts::NotYet("not so".to_owned())
        })
    }

    fn pause(&self, _duration: Duration) {}
}

fn refused(what: &str, found: &str) -> Failure {
    Failure::new(
        Code::System,
        format!("{what}: refused"),
        "look at the simulated host",
    )
    .found(found)
}
