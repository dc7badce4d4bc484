//! Optional features of a simulated Windows, its host name, and reboots.

use std::sync::PoisonError;
use std::time::Duration;

use casement_resource::{
    HostnameFacts, ServiceDefinition, ServiceState, WindowsFeatureFacts as State,
};

use super::world::{Feature, World};
use super::{Killed, Sim, refused};
use crate::platform::{Features, Identity, Result};
use crate::shutdown::{Action, next_action};

impl Features for Sim {
    fn windows_feature(&self, name: &str) -> Result<State> {
        self.read("windows_feature")?;
        let world = self.lock();
        let feature = world.features.get(&name.to_lowercase());
        Ok(feature.map_or(State::Unknown, |feature| feature.state))
    }

    fn set_windows_feature(&self, name: &str, present: bool) -> Result<()> {
        let key = name.to_lowercase();
        self.change(&format!("set_windows_feature {key}"), |world| {
            let feature = world.features.get_mut(&key);
            let feature = feature.ok_or_else(|| refused("set_windows_feature", "unknown"))?;
            feature.state = feature.after(present);
            Ok(())
        })
    }

    fn pending_reboots(&self) -> Result<Vec<String>> {
        self.read("pending_reboots")?;
        let world = self.lock();
        let is_pending =
            |feature: &Feature| matches!(feature.state, State::OnAfterBoot | State::OffAfterBoot);
        let features = world
            .features
            .iter()
            .filter(|(_, feature)| is_pending(feature));
        let features = features.map(|(name, _)| format!("feature {name}"));
        let name = world.next_hostname.as_ref().map(|_| "host name".to_owned());
        Ok(features.chain(name).collect())
    }

    fn boot(&self) -> Result<u32> {
        self.read("boot")?;
        Ok(self.lock().boot)
    }

    /// Unwinds: the process ends with the reboot.
    fn begin_reboot(&self) -> Result<()> {
        let before = self.lock().boot;
        let ended = self.change("begin_reboot", |world| {
            let ended = world.shutdown_order();
            world.reboot();
            Ok(ended)
        })?;
        *self
            .stopped_services
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = ended;
        if self.lock().boot != before {
            self.lose_connections();
            std::panic::resume_unwind(Box::new(Killed));
        }
        Ok(())
    }
}

impl Identity for Sim {
    fn hostname(&self) -> Result<HostnameFacts> {
        self.read("hostname")?;
        let world = self.lock();
        let next = world.next_hostname.as_ref();
        Ok(HostnameFacts {
            name: next.unwrap_or(&world.hostname).clone(),
            after_boot: next.is_some(),
            domain: world.domain.clone(),
        })
    }

    fn set_hostname(&self, name: &str) -> Result<()> {
        self.change(&format!("set_hostname {name}"), |world| {
            world.next_hostname = (name != world.hostname).then(|| name.to_owned());
            Ok(())
        })
    }
}

impl Feature {
    /// The state after a change; returning to the actual state needs no boot.
    fn after(&self, present: bool) -> State {
        let installed = matches!(self.state, State::On | State::OffAfterBoot);
        match (present, self.needs_boot && present != installed) {
            (true, false) => State::On,
            (true, true) => State::OnAfterBoot,
            (false, false) => State::Off,
            (false, true) => State::OffAfterBoot,
        }
    }
}

impl World {
    /// Running services of casement, in the order in which they stop when all are
    /// notified of a shutdown at once.
    fn shutdown_order(&self) -> Vec<String> {
        let is_running = |it: &&super::Service| it.state == ServiceState::Running;
        let running = self.services.values().filter(is_running);
        let mut remaining: Vec<&ServiceDefinition> =
            running.filter_map(|it| it.definition.as_ref()).collect();
        let mut ended = Vec::new();
        while !remaining.is_empty() {
            let needed = |name: &str| {
                let mut all = remaining.iter().flat_map(|it| &it.depends_on);
                all.any(|other| other.eq_ignore_ascii_case(name))
            };
            let must_wait = |name: &str| next_action(Duration::ZERO, needed(name)) == Action::Wait;
            let (wait, end): (Vec<&ServiceDefinition>, Vec<&ServiceDefinition>) =
                remaining.iter().partition(|it| must_wait(&it.name));
            if end.is_empty() {
                break;
            }
            ended.extend(end.iter().map(|it| it.name.clone()));
            remaining = wait;
        }
        ended
    }

    /// Pending feature changes take effect, networks and routes are gone, and automatic
    /// services run.
    pub fn reboot(&mut self) {
        self.boot += 1;
        if let Some(revision) = self.revision.1.take() {
            self.revision.0 = revision;
        }
        if let Some(name) = self.next_hostname.take() {
            self.hostname = name;
        }
        for (name, feature) in &mut self.features {
            feature.state = match feature.state {
                waiting if self.stuck_feature.as_ref() == Some(name) => waiting,
                State::OnAfterBoot => State::On,
                State::OffAfterBoot => State::Off,
                settled => settled,
            };
        }
        self.networks.clear();
        self.endpoints.clear();
        self.balancers.clear();
        let addresses: Vec<_> = self
            .captured_nics
            .iter()
            .flat_map(|it| it.addresses.clone())
            .collect();
        for address in addresses {
            self.release_nic(address.addr());
        }
        self.routes.clear();
        let names: Vec<String> = self.services.keys().cloned().collect();
        for name in names {
            self.boot_service(&name);
        }
    }
}
