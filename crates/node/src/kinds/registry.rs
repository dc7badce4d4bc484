//! `registryValue`.

use casement_resource::{Diff, Prior, RegistryData, RegistryFacts, RegistryValue, Resource};

use super::{Kind, KindContext, wrong_prior};
use crate::platform::Result;
use crate::state::records::Records;

impl Kind for RegistryValue {
    fn observe(&self, context: &KindContext<'_>) -> Result<Diff> {
        let data = context.platform.registry_value(&self.key, &self.name)?;
        Ok(self.diff(&RegistryFacts { data }))
    }

    fn prior(&self, context: &KindContext<'_>) -> Result<Prior> {
        let data = context.platform.registry_value(&self.key, &self.name)?;
        let missing_keys = missing_keys(context, &self.key)?;
        Ok(Prior::RegistryValue { missing_keys, data })
    }

    fn apply(
        &self,
        context: &KindContext<'_>,
        _prior: &Prior,
        _previous: Option<&Resource>,
    ) -> Result<()> {
        context
            .platform
            .set_registry_value(&self.key, &self.name, &self.data)
    }

    fn undo(&self, context: &KindContext<'_>, prior: &Prior) -> Result<()> {
        let Prior::RegistryValue { missing_keys, data } = prior else {
            return Err(wrong_prior("a registry value", prior));
        };
        restore_value(context, &self.key, &self.name, data.as_ref())?;
        delete_created_keys(context, missing_keys)
    }
}

pub(super) fn restore_value(
    context: &KindContext<'_>,
    key: &str,
    name: &str,
    before: Option<&RegistryData>,
) -> Result<()> {
    match before {
        Some(data) => context.platform.set_registry_value(key, name, data),
        None => context.platform.delete_registry_value(key, name),
    }
}

/// A key and those of its parents that did not exist before casement, outermost
/// first: those absent now, and those that another record lists as created by
/// casement. So the last removed value in a key removes the key too.
pub(super) fn missing_keys(context: &KindContext<'_>, key: &str) -> Result<Vec<String>> {
    let records = Records::load(context.layout)?.newest_first();
    let created = |key: &str| {
        let mut keys = records.iter().flat_map(|(_, it)| created_keys(&it.prior));
        keys.any(|created| created.eq_ignore_ascii_case(key))
    };
    let mut missing = Vec::new();
    let mut next = Some(key);
    while let Some(key) = next
        && (!context.platform.registry_key_exists(key)? || created(key))
    {
        missing.push(key.to_owned());
        next = key.rsplit_once('\\').map(|(parent, _)| parent);
    }
    missing.reverse();
    Ok(missing)
}

fn created_keys(prior: &Prior) -> &[String] {
    match prior {
        Prior::RegistryValue { missing_keys, .. }
        | Prior::DefenderExclusion { missing_keys, .. }
        | Prior::TimeSync { missing_keys, .. } => missing_keys,
        _ => &[],
    }
}

/// Deletes keys that casement created, as long as they are empty.
pub(super) fn delete_created_keys(context: &KindContext<'_>, created: &[String]) -> Result<()> {
    for key in created.iter().rev() {
        if !context.platform.delete_empty_registry_key(key)? {
            break;
        }
    }
    Ok(())
}
