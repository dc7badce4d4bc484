//! `registryValue`.

use casement_resource::{Diff, Prior, RegistryFacts, RegistryValue, Resource};

use super::{Kind, Place, wrong_prior};
use crate::platform::Result;

impl Kind for RegistryValue {
    fn look(&self, at: &Place<'_>) -> Result<Diff> {
        let data = at.platform.registry_value(&self.key, &self.name)?;
        Ok(self.diff(&RegistryFacts { data }))
    }

    fn prior(&self, at: &Place<'_>) -> Result<Prior> {
        let data = at.platform.registry_value(&self.key, &self.name)?;
        let mut missing_keys = Vec::new();
        let mut key = self.key.as_str();
        while !at.platform.registry_key_exists(key)? {
            missing_keys.push(key.to_owned());
            match key.rsplit_once('\\') {
                Some((parent, _)) => key = parent,
                None => break,
            }
        }
        missing_keys.reverse();
        Ok(Prior::RegistryValue { missing_keys, data })
    }

    fn change(&self, at: &Place<'_>, _prior: &Prior, _earlier: Option<&Resource>) -> Result<()> {
        at.platform
            .set_registry_value(&self.key, &self.name, &self.data)
    }

    fn undo(&self, at: &Place<'_>, prior: &Prior) -> Result<()> {
        let Prior::RegistryValue { missing_keys, data } = prior else {
            return Err(wrong_prior("a registry value", prior));
        };
        match data {
            Some(data) => at
                .platform
                .set_registry_value(&self.key, &self.name, data)?,
            None => at.platform.delete_registry_value(&self.key, &self.name)?,
        }
        for key in missing_keys.iter().rev() {
            if !at.platform.delete_empty_registry_key(key)? {
                break;
            }
        }
        Ok(())
    }
}
