//! `registryValue`.

use casement_resource::{Diff, Prior, RegistryData, RegistryFacts, RegistryValue, Resource};

use super::{Kind, Place, wrong_prior};
use crate::platform::Result;
use crate::state::records::Records;

impl Kind for RegistryValue {
    fn look(&self, at: &Place<'_>) -> Result<Diff> {
        let data = at.platform.registry_value(&self.key, &self.name)?;
        Ok(self.diff(&RegistryFacts { data }))
    }

    fn prior(&self, at: &Place<'_>) -> Result<Prior> {
        let data = at.platform.registry_value(&self.key, &self.name)?;
        let missing_keys = missing_keys(at, &self.key)?;
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
        put_back(at, &self.key, &self.name, data.as_ref())?;
        delete_made_keys(at, missing_keys)
    }
}

/// Puts a value back as it was.
pub(super) fn put_back(
    at: &Place<'_>,
    key: &str,
    name: &str,
    before: Option<&RegistryData>,
) -> Result<()> {
    match before {
        Some(data) => at.platform.set_registry_value(key, name, data),
        None => at.platform.delete_registry_value(key, name),
    }
}

/// A key and those above it that were absent before casement, outermost first:
/// what is absent now, and what another record says that casement made. So of
/// several values in one key, the last to go takes the key along, whichever
/// that is.
pub(super) fn missing_keys(at: &Place<'_>, key: &str) -> Result<Vec<String>> {
    let records = Records::load(at.layout)?.backwards();
    let made = |key: &str| {
        let mut keys = records.iter().flat_map(|(_, it)| made_keys(&it.prior));
        keys.any(|made| made.eq_ignore_ascii_case(key))
    };
    let mut missing = Vec::new();
    let mut next = Some(key);
    while let Some(key) = next
        && (!at.platform.registry_key_exists(key)? || made(key))
    {
        missing.push(key.to_owned());
        next = key.rsplit_once('\\').map(|(parent, _)| parent);
    }
    missing.reverse();
    Ok(missing)
}

fn made_keys(prior: &Prior) -> &[String] {
    match prior {
        Prior::RegistryValue { missing_keys, .. }
        | Prior::DefenderExclusion { missing_keys, .. }
        | Prior::TimeSync { missing_keys, .. } => missing_keys,
        _ => &[],
    }
}

/// Deletes keys that casement made, as far as nothing is in them.
pub(super) fn delete_made_keys(at: &Place<'_>, made: &[String]) -> Result<()> {
    for key in made.iter().rev() {
        if !at.platform.delete_empty_registry_key(key)? {
            break;
        }
    }
    Ok(())
}
