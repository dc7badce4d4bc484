//! Services of a simulated host: names without regard to case, dependants that
//! block a stop, an environment and a recovery of each one's own.

use std::collections::BTreeMap;

use casement_resource::{Code, Failure, ServiceDefinition, ServiceSeen, ServiceState, StartType};

use super::world::{Service, World};
use super::{Sim, refused};
use crate::platform::{Result, Services};

impl Services for Sim {
    fn service(&self, name: &str) -> Result<Option<ServiceSeen>> {
        self.read("service")?;
        let world = self.lock();
        Ok(world
            .services
            .get(&name.to_lowercase())
            .map(|it| ServiceSeen {
                definition: it.definition.clone(),
                foreign_command: it.command.clone(),
                display_name: it.display_name.clone(),
                start: it.start,
                depends_on: it.depends_on.clone(),
                state: it.state,
            }))
    }

    fn save_service(&self, name: &str) -> Result<Option<serde_json::Value>> {
        self.read("save_service")?;
        let world = self.lock();
        let service = world.services.get(&name.to_lowercase());
        Ok(service.and_then(|service| serde_json::to_value(service).ok()))
    }

    fn install_service(&self, definition: &ServiceDefinition) -> Result<()> {
        let key = definition.name.to_lowercase();
        self.change(&format!("install_service {key}"), |world| {
            let running = |it: &Service| it.state != ServiceState::Stopped;
            if world.services.get(&key).is_some_and(running) {
                return Err(refused(&format!("install_service {key}"), "it runs"));
            }
            let service = Service {
                command: None,
                display_name: definition.display_name.clone(),
                start: definition.start,
                depends_on: definition.depends_on.clone(),
                state: ServiceState::Stopped,
                recovers: true,
                given: BTreeMap::new(),
                definition: Some(definition.clone()),
            };
            world.services.insert(key, service);
            Ok(())
        })
    }

    fn start_service(&self, name: &str) -> Result<()> {
        let key = name.to_lowercase();
        self.change(&format!("start_service {key}"), |world| start(world, &key))
    }

    fn set_service_start(&self, name: &str, start: StartType) -> Result<()> {
        let key = name.to_lowercase();
        self.change(&format!("set_service_start {key}"), |world| {
            let service = world.services.get_mut(&key);
            let service = service.ok_or_else(|| refused("set_service_start", "no such service"))?;
            service.start = start;
            Ok(())
        })
    }

    fn stop_service(&self, name: &str) -> Result<Vec<String>> {
        let key = name.to_lowercase();
        if self.faults().stuck.as_ref() == Some(&key) {
            return self.begin_to_stop(&key);
        }
        self.change(&format!("stop_service {key}"), |world| {
            let mut stopped = Vec::new();
            stop(world, &key, &mut stopped);
            stopped.retain(|it| *it != key);
            Ok(stopped)
        })
    }

    fn delete_service(&self, name: &str) -> Result<()> {
        let key = name.to_lowercase();
        self.change(&format!("delete_service {key}"), |world| {
            if world
                .services
                .get(&key)
                .is_some_and(|it| it.state != ServiceState::Stopped)
            {
                return Err(refused(&format!("delete_service {key}"), "it runs"));
            }
            world.services.remove(&key);
            Ok(())
        })
    }

    fn restore_service(&self, name: &str, saved: &serde_json::Value) -> Result<()> {
        let key = name.to_lowercase();
        let service: Service = serde_json::from_value(saved.clone())
            .map_err(|error| refused(&format!("restore_service {key}"), &error.to_string()))?;
        self.change(&format!("restore_service {key}"), |world| {
            let runs = service.state == ServiceState::Running;
            world.services.insert(key.clone(), service);
            if runs {
                world.begins(&key);
            }
            Ok(())
        })
    }
}

impl Sim {
    /// What a service does that never has stopped when it should have.
    fn begin_to_stop(&self, key: &str) -> Result<Vec<String>> {
        self.change(&format!("stop_service {key}"), |world| {
            if let Some(service) = world.services.get_mut(key) {
                service.state = ServiceState::Changing;
            }
            Err(Failure::new(
                Code::TimedOut,
                format!("the service `{key}` is not stopped after 60 s"),
                "end its process, then apply again",
            )
            .values("stopped", "stopping"))
        })
    }
}

fn start(world: &mut World, key: &str) -> Result<()> {
    let what = format!("start_service {key}");
    let Some(service) = world.services.get(key).cloned() else {
        return Err(refused(&what, "no such service"));
    };
    for other in &service.depends_on {
        start(world, &other.to_lowercase())?;
    }
    if service.state != ServiceState::Running {
        world.begins(key);
    }
    Ok(())
}

impl World {
    /// A service's program begins to run.
    fn begins(&mut self, key: &str) {
        if let Some(service) = self.services.get_mut(key) {
            service.state = ServiceState::Running;
            let definition = service.definition.as_ref();
            service.given = definition.map_or_else(BTreeMap::new, |it| it.environment.clone());
        }
        // It knows nothing of those that are there, and makes its own.
        if key == "kube-proxy" {
            self.balancers.clear();
        }
    }

    /// What a boot makes of a service.
    pub(super) fn boot_service(&mut self, key: &str) {
        if let Some(service) = self.services.get_mut(key) {
            service.state = ServiceState::Stopped;
            service.given.clear();
            if service.start == StartType::Automatic {
                self.begins(key);
            }
        }
    }

    /// A service's program ends by itself.
    pub fn end_program(&mut self, name: &str) {
        let key = name.to_lowercase();
        let Some(service) = self.services.get_mut(&key) else {
            return;
        };
        service.state = ServiceState::Stopped;
        service.given.clear();
        if service.recovers {
            self.begins(&key);
        }
    }
}

fn stop(world: &mut World, key: &str, stopped: &mut Vec<String>) {
    let depends = |it: &Service| {
        it.depends_on
            .iter()
            .any(|other| other.to_lowercase() == key)
    };
    let running = |it: &Service| it.state != ServiceState::Stopped;
    let dependants: Vec<_> = world
        .services
        .iter()
        .filter(|(_, it)| depends(it) && running(it))
        .map(|(name, _)| name.clone())
        .collect();
    for dependant in dependants {
        stop(world, &dependant, stopped);
    }
    if let Some(service) = world.services.get_mut(key)
        && service.state != ServiceState::Stopped
    {
        service.state = ServiceState::Stopped;
        service.given.clear();
        stopped.push(key.to_owned());
    }
}
