//! `adapterSettings`.
//!
//! The settings that the adapter had first are saved in the state folder, so that
//! `hnsNetwork` can restore them too when its switch takes the adapter over.

use std::net::IpAddr;

use casement_resource::{
    AdapterSettings, AdapterSettingsFacts, Code, Diff, Failure, ObservedAdapter, Prior, Resource,
};

use super::{Kind, KindContext, wrong_prior};
use crate::platform::Result;
use crate::state::{delete, read, state_failure, write_durably};

impl Kind for AdapterSettings {
    fn observe(&self, context: &KindContext<'_>) -> Result<Diff> {
        Ok(self.diff(&AdapterSettingsFacts {
            kept: load(context, self.address)?,
            now: current(context, self.address)?,
        }))
    }

    fn prior(&self, context: &KindContext<'_>) -> Result<Prior> {
        Ok(Prior::AdapterSettings(current(context, self.address)?))
    }

    fn apply(
        &self,
        context: &KindContext<'_>,
        prior: &Prior,
        _previous: Option<&Resource>,
    ) -> Result<()> {
        let Prior::AdapterSettings(before) = prior else {
            return Err(wrong_prior("an adapter", prior));
        };
        if load(context, self.address)?.is_none() {
            save(context, self.address, before)?;
        }
        restore_settings(context, self.address)
    }

    fn undo(&self, context: &KindContext<'_>, prior: &Prior) -> Result<()> {
        let Prior::AdapterSettings(before) = prior else {
            return Err(wrong_prior("an adapter", prior));
        };
        save(context, self.address, before)?;
        restore_settings(context, self.address)?;
        delete(&context.layout.adapter(self.address))
    }
}

/// Restores lost settings; does nothing if none were saved.
pub(super) fn restore_settings(context: &KindContext<'_>, address: IpAddr) -> Result<()> {
    let Some(kept) = load(context, address)? else {
        return Ok(());
    };
    let now = current(context, address)?;
    let facts = AdapterSettingsFacts {
        kept: Some(kept.clone()),
        now,
    };
    if (AdapterSettings { address }).diff(&facts).in_sync() {
        return Ok(());
    }
    context.platform.restore_adapter(address, &kept)
}

fn current(context: &KindContext<'_>, address: IpAddr) -> Result<ObservedAdapter> {
    context.platform.adapter(address)?.ok_or_else(|| {
        Failure::new(
            Code::InterfaceMissing,
            format!("no network adapter has the address {address}"),
            "use an address that the host has, or assign this address to the host",
        )
    })
}

fn load(context: &KindContext<'_>, address: IpAddr) -> Result<Option<ObservedAdapter>> {
    let path = context.layout.adapter(address);
    let Some(bytes) = read(&path)? else {
        return Ok(None);
    };
    let settings = serde_json::from_slice(&bytes);
    settings
        .map(Some)
        .map_err(|error| state_failure("parsed", &path, &error.into()))
}

fn save(context: &KindContext<'_>, address: IpAddr, settings: &ObservedAdapter) -> Result<()> {
    let path = context.layout.adapter(address);
    let json = serde_json::to_vec(settings)
        .map_err(|error| state_failure("written", &path, &error.into()))?;
    write_durably(&path, &json)
}
