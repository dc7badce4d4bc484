//! A simulated Windows or Linux host: in memory, with the semantics that matter to the
//! engine, and with fault injection.
//!
//! Its only network traffic is downloads from loopback addresses. It has no clock and
//! few programs. It models how Windows and Linux are understood to behave, and is no
//! reference for what they do.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use casement_resource::wire::{HostFacts, InterfaceFacts, OperatingSystem};
use casement_resource::{Code, Condition, ConditionFacts, Failure, ServiceState};

use crate::platform::{Conditions, Level, Network, Platform, Program, ProgramExit, Result};

mod containers;
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
mod sim_service;
mod world;

use hook::Hook;

pub use linux::{LinuxWorld, Unit};
pub use sim_service::{SimService, SimServiceListener, sim_service};
pub use world::{Container, Feature, RegistryImage, Service, SimEntry, SimImage, World};

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Faults {
    /// The process is killed at this kill point, counted from 1: there is one before and
    /// one after every change.
    pub kill_at: Option<u64>,
    /// The number of the change that fails, counted from 1.
    pub fail_at: Option<u64>,
    /// The process is killed at this read, counted from 1.
    pub kill_at_read: Option<u64>,
    /// The number of the read that fails, counted from 1.
    pub fail_at_read: Option<u64>,
    /// Changes whose name starts with this fail.
    pub failing: Option<String>,
    /// Changes whose name starts with this report success but have no effect.
    pub ignored: Option<String>,
    /// Writing a larger file fails with a full disk.
    pub max_file_bytes: Option<u64>,
    /// A file that another process has open: it can be read, but not replaced or
    /// removed.
    pub locked_file: Option<String>,
    /// A service that never finishes stopping.
    pub hanging_service: Option<String>,
}

/// The panic payload of a killed process.
#[derive(Debug)]
pub struct Killed;

#[derive(Debug, Default)]
pub struct Sim {
    world: Mutex<World>,
    faults: Mutex<Faults>,
    kill_points: AtomicU64,
    changes: AtomicU64,
    reads: AtomicU64,
    /// How often all sessions were closed.
    closed: AtomicU64,
    /// The services that the last shutdown stopped, in that order.
    stopped_services: Mutex<Vec<String>>,
    notices: Mutex<Vec<(Level, String)>>,
    disconnect_hook: Hook<DisconnectHook>,
    run_hook: Hook<ProgramHook>,
    kill_point_hook: Hook<KillPointHook>,
}

type DisconnectHook = dyn Fn() + Send + Sync;

type ProgramHook = dyn Fn(&Sim, &Program) -> Option<ProgramExit> + Send + Sync;

type KillPointHook = dyn Fn(&Sim) + Send + Sync;

impl Sim {
    #[must_use]
    pub fn new(world: World) -> Self {
        Self {
            world: Mutex::new(world),
            ..Self::default()
        }
    }

    #[must_use]
    pub fn world(&self) -> World {
        self.lock().clone()
    }

    /// `service` is in lower case.
    #[must_use]
    pub fn is_running(&self, service: &str) -> bool {
        let world = self.lock();
        let service = world.services.get(service);
        service.is_some_and(|service| service.state == ServiceState::Running)
    }

    /// The notices reported so far.
    #[must_use]
    pub fn notices(&self) -> Vec<(Level, String)> {
        let notices = self.notices.lock();
        notices.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Changes the host behind casement's back.
    pub fn modify_world(&self, change: impl FnOnce(&mut World)) {
        change(&mut self.lock());
    }

    /// Called when every connection to the host is lost.
    pub fn on_disconnect(&self, hook: impl Fn() + Send + Sync + 'static) {
        self.disconnect_hook.set(Arc::new(hook));
    }

    /// Called before the host's own programs; `None` if it does not know the program.
    pub fn on_run(
        &self,
        hook: impl Fn(&Sim, &Program) -> Option<ProgramExit> + Send + Sync + 'static,
    ) {
        self.run_hook.set(Arc::new(hook));
    }

    /// Called at every point at which the process could be killed: before each read, and
    /// before and after each change.
    pub fn on_kill_point(&self, hook: impl Fn(&Sim) + Send + Sync + 'static) {
        self.kill_point_hook.set(Arc::new(hook));
    }

    fn notify_kill_point(&self) {
        if let Some(hook) = self.kill_point_hook.get() {
            hook(self);
        }
    }

    /// Called without a lock: it may block, and use the host.
    fn run_hooked(&self, program: &Program) -> Option<ProgramExit> {
        let run_hook = self.run_hook.get()?;
        run_hook(self, program)
    }

    /// The services that the last shutdown stopped, in that order.
    #[must_use]
    pub fn stopped_services(&self) -> Vec<String> {
        let stopped_services = self.stopped_services.lock();
        stopped_services
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn lose_connections(&self) {
        self.close_sessions();
        if let Some(hook) = self.disconnect_hook.get() {
            hook();
        }
    }

    /// Sets the faults and resets the counters.
    pub fn set_faults(&self, faults: Faults) {
        *self.faults.lock().unwrap_or_else(PoisonError::into_inner) = faults;
        self.kill_points.store(0, Ordering::SeqCst);
        self.changes.store(0, Ordering::SeqCst);
        self.reads.store(0, Ordering::SeqCst);
    }

    /// Since the last `set_faults`.
    #[must_use]
    pub fn changes(&self) -> u64 {
        self.changes.load(Ordering::SeqCst)
    }

    /// Since the last `set_faults`.
    #[must_use]
    pub fn kill_points(&self) -> u64 {
        self.kill_points.load(Ordering::SeqCst)
    }

    /// Since the last `set_faults`.
    #[must_use]
    pub fn reads(&self) -> u64 {
        self.reads.load(Ordering::SeqCst)
    }

    /// A point at which the process may be killed; the journal of a test has them too.
    pub fn kill_point(&self) {
        self.notify_kill_point();
        let now = self.kill_points.fetch_add(1, Ordering::SeqCst) + 1;
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

    /// Counts a read; every method that only reads starts with it.
    fn read(&self, name: &str) -> Result<()> {
        self.check_session();
        self.notify_kill_point();
        let number = self.reads.fetch_add(1, Ordering::SeqCst) + 1;
        let faults = self.faults();
        if faults.kill_at_read == Some(number) {
            std::panic::resume_unwind(Box::new(Killed));
        }
        if faults.fail_at_read == Some(number) {
            return Err(refused(name, "injected fault"));
        }
        Ok(())
    }

    /// Runs and counts a change; `name` selects it in [`Faults`].
    fn change<T: Default>(
        &self,
        name: &str,
        change: impl FnOnce(&mut World) -> Result<T>,
    ) -> Result<T> {
        self.check_session();
        self.kill_point();
        let faults = self.faults();
        let hit = |prefix: &Option<String>| prefix.as_ref().is_some_and(|it| name.starts_with(it));
        let number = self.changes.fetch_add(1, Ordering::SeqCst) + 1;
        if hit(&faults.failing) || faults.fail_at == Some(number) {
            return Err(refused(name, "injected fault"));
        }
        if hit(&faults.ignored) {
            return Ok(T::default());
        }
        let result = change(&mut self.lock())?;
        self.kill_point();
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
        // A program provides its readiness condition as soon as it runs.
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
            ConditionFacts::NotYet("condition not met".to_owned())
        })
    }

    fn pause(&self, _duration: Duration) {}
}

fn refused(what: &str, found: &str) -> Failure {
    Failure::new(
        Code::System,
        format!("{what}: refused"),
        "check the simulated host",
    )
    .found(found)
}
