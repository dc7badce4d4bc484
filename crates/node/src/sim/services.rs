//! Services of a simulated host: case-insensitive names, dependents that block a stop,
//! and an environment and recovery setting for each.

use std::collections::BTreeMap;

use casement_resource::service_names::KUBE_PROXY;
use casement_resource::{
    Code, Failure, ObservedService, ServiceDefinition, ServiceState, StartType,
};

use super::world::{Service, World};
use super::{Sim, refused};
use crate::platform::{Result, Services};

impl Services for Sim {
    fn service(&self, name: &str) -> Result<Option<ObservedService>> {
        self.read("service")?;
        let world = self.lock();
        Ok(world
            .services
            .get(&name.to_lowercase())
            .map(|it| ObservedService {
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
                return Err(refused(
                    &format!("install_service {key}"),
                    "the service is running",
                ));
            }
            let service = Service {
                command: None,
                display_name: definition.display_name.clone(),
                start: definition.start,
                depends_on: definition.depends_on.clone(),
                state: ServiceState::Stopped,
                recovers: true,
                environment: BTreeMap::new(),
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
        if self.faults().hanging_service.as_ref() == Some(&key) {
            return self.hang_while_stopping(&key);
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
                return Err(refused(
                    &format!("delete_service {key}"),
                    "the service is running",
                ));
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
            let was_running = service.state == ServiceState::Running;
            world.services.insert(key.clone(), service);
            if was_running {
                world.set_running(&key);
            }
            Ok(())
        })
    }
}

impl Sim {
    /// A stop that never finishes.
    fn hang_while_stopping(&self, key: &str) -> Result<Vec<String>> {
        self.change(&format!("stop_service {key}"), |world| {
            if let Some(service) = world.services.get_mut(key) {
                service.state = ServiceState::Changing;
            }
            Err(Failure::new(
                Code::TimedOut,
                format!("the service `{key}` did not stop within 60 s"),
                "terminate its process, then run `casement apply` again",
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
        world.set_running(key);
    }
    Ok(())
}

impl World {
    fn set_running(&mut self, key: &str) {
        if let Some(service) = self.services.get_mut(key) {
            service.state = ServiceState::Running;
            let definition = service.definition.as_ref();
            service.environment =
                definition.map_or_else(BTreeMap::new, |it| it.environment.clone());
        }
        // A new kube-proxy creates its own load balancers.
        if key == KUBE_PROXY {
            self.balancers.clear();
        }
    }

    pub(super) fn boot_service(&mut self, key: &str) {
        if let Some(service) = self.services.get_mut(key) {
            service.state = ServiceState::Stopped;
            service.environment.clear();
            if service.start == StartType::Automatic {
                self.set_running(key);
            }
        }
    }

    /// The program exits by itself.
    pub fn end_program(&mut self, name: &str) {
        let key = name.to_lowercase();
        let Some(service) = self.services.get_mut(&key) else {
            return;
        };
        service.state = ServiceState::Stopped;
        service.environment.clear();
        if service.recovers {
            self.set_running(&key);
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
    let dependents: Vec<_> = world
        .services
        .iter()
        .filter(|(_, it)| depends(it) && running(it))
        .map(|(name, _)| name.clone())
        .collect();
    for dependent in dependents {
        stop(world, &dependent, stopped);
    }
    if let Some(service) = world.services.get_mut(key)
        && service.state != ServiceState::Stopped
    {
        service.state = ServiceState::Stopped;
        service.environment.clear();
        stopped.push(key.to_owned());
    }
}
