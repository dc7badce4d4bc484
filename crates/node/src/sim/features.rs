//! Optional parts of a simulated Windows, its name, and its boots.

use std::sync::PoisonError;
use std::time::Duration;

use casement_resource::{
    HostnameFacts, ServiceDefinition, ServiceState, WindowsFeatureFacts as State,
};

use super::world::{Feature, World};
use super::{Killed, Sim, refused};
use crate::going_down::{Next, next};
use crate::platform::{Features, Identity, Result};

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

    fn waiting_for_reboot(&self) -> Result<Vec<String>> {
        self.read("waiting_for_reboot")?;
        let world = self.lock();
        let waits =
            |feature: &Feature| matches!(feature.state, State::OnAfterBoot | State::OffAfterBoot);
        let features = world.features.iter().filter(|(_, feature)| waits(feature));
        let features = features.map(|(name, _)| format!("feature {name}"));
        let name = world.next_hostname.as_ref().map(|_| "the name".to_owned());
        Ok(features.chain(name).collect())
    }

    fn boot(&self) -> Result<u32> {
        self.read("boot")?;
        Ok(self.lock().boot)
    }

    /// The process is gone with the boot.
    fn begin_reboot(&self) -> Result<()> {
        let before = self.lock().boot;
        let ended = self.change("begin_reboot", |world| {
            let ended = world.go_down();
            world.reboot();
            Ok(ended)
        })?;
        *self.ended.lock().unwrap_or_else(PoisonError::into_inner) = ended;
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
    /// Its state once it was switched: back to what is there in fact needs no
    /// boot.
    fn after(&self, present: bool) -> State {
        let is_there = matches!(self.state, State::On | State::OffAfterBoot);
        match (present, self.needs_boot && present != is_there) {
            (true, false) => State::On,
            (true, true) => State::OnAfterBoot,
            (false, false) => State::Off,
            (false, true) => State::OffAfterBoot,
        }
    }
}

impl World {
    /// The services of casement's that run, in the order in which they end when
    /// all are told at once that the host goes down.
    fn go_down(&self) -> Vec<String> {
        let runs = |it: &&super::Service| it.state == ServiceState::Running;
        let ours = self.services.values().filter(runs);
        let mut left: Vec<&ServiceDefinition> =
            ours.filter_map(|it| it.definition.as_ref()).collect();
        let mut ended = Vec::new();
        while !left.is_empty() {
            let needed = |name: &str| {
                let mut all = left.iter().flat_map(|it| &it.depends_on);
                all.any(|other| other.eq_ignore_ascii_case(name))
            };
            let waits = |name: &str| next(Duration::ZERO, needed(name)) == Next::Wait;
            let (wait, end): (Vec<&ServiceDefinition>, Vec<&ServiceDefinition>) =
                left.iter().partition(|it| waits(&it.name));
            if end.is_empty() {
                break;
            }
            ended.extend(end.iter().map(|it| it.name.clone()));
            left = wait;
        }
        ended
    }

    /// What a boot does: features settle, networks and routes are gone, and
    /// those services run that start by themselves.
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
                waiting if self.stuck.as_ref() == Some(name) => waiting,
                State::OnAfterBoot => State::On,
                State::OffAfterBoot => State::Off,
                settled => settled,
            };
        }
        self.networks.clear();
        self.endpoints.clear();
        self.balancers.clear();
        let addresses: Vec<_> = self
            .taken
            .iter()
            .flat_map(|it| it.addresses.clone())
            .collect();
        for address in addresses {
            self.give_card_back(address.addr());
        }
        self.routes.clear();
        let names: Vec<String> = self.services.keys().cloned().collect();
        for name in names {
            self.boot_service(&name);
        }
    }
}
