//! Optional parts of a simulated Windows, its name, and its boots.

use casement_resource::{HostnameFacts, ServiceState, StartType, WindowsFeatureFacts as State};

use super::world::{Feature, World};
use super::{Killed, Sim, refused};
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
        self.change("begin_reboot", |world| {
            world.reboot();
            Ok(())
        })?;
        if self.lock().boot != before {
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
        self.routes.clear();
        for service in self.services.values_mut() {
            service.state = match service.start {
                StartType::Automatic => ServiceState::Running,
                StartType::Manual | StartType::Disabled => ServiceState::Stopped,
            };
        }
    }
}
