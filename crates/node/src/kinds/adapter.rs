//! `adapterSettings`.
//!
//! What the adapter had when it was first seen lies in the state folder, where
//! a network that takes the adapter finds it too.

use std::net::IpAddr;

use casement_resource::{
    AdapterSeen, AdapterSettings, AdapterSettingsFacts, Code, Diff, Failure, Prior, Resource,
};

use super::{Kind, Place, wrong_prior};
use crate::platform::Result;
use crate::state::{delete, read, state_failure, write_durably};

impl Kind for AdapterSettings {
    fn look(&self, at: &Place<'_>) -> Result<Diff> {
        Ok(self.diff(&AdapterSettingsFacts {
            kept: kept(at, self.address)?,
            now: now(at, self.address)?,
        }))
    }

    fn prior(&self, at: &Place<'_>) -> Result<Prior> {
        Ok(Prior::AdapterSettings(now(at, self.address)?))
    }

    fn change(&self, at: &Place<'_>, prior: &Prior, _earlier: Option<&Resource>) -> Result<()> {
        let Prior::AdapterSettings(before) = prior else {
            return Err(wrong_prior("an adapter", prior));
        };
        if kept(at, self.address)?.is_none() {
            keep(at, self.address, before)?;
        }
        give_back(at, self.address)
    }

    fn undo(&self, at: &Place<'_>, prior: &Prior) -> Result<()> {
        let Prior::AdapterSettings(before) = prior else {
            return Err(wrong_prior("an adapter", prior));
        };
        keep(at, self.address, before)?;
        give_back(at, self.address)?;
        delete(&at.layout.adapter(self.address))
    }
}

/// Gives an adapter what it has lost; nothing where nothing was kept.
pub(super) fn give_back(at: &Place<'_>, address: IpAddr) -> Result<()> {
    let Some(kept) = kept(at, address)? else {
        return Ok(());
    };
    let now = now(at, address)?;
    let facts = AdapterSettingsFacts {
        kept: Some(kept.clone()),
        now,
    };
    if (AdapterSettings { address }).diff(&facts).is_right() {
        return Ok(());
    }
    at.platform.restore_adapter(address, &kept)
}

fn now(at: &Place<'_>, address: IpAddr) -> Result<AdapterSeen> {
    at.platform.adapter(address)?.ok_or_else(|| {
        Failure::new(
            Code::InterfaceMissing,
            format!("no network adapter has the address {address}"),
            "give the address that the host has, or the host this address",
        )
    })
}

fn kept(at: &Place<'_>, address: IpAddr) -> Result<Option<AdapterSeen>> {
    let path = at.layout.adapter(address);
    let Some(bytes) = read(&path)? else {
        return Ok(None);
    };
    let seen = serde_json::from_slice(&bytes);
    seen.map(Some).map_err(|error| {
        let what = format!("read what the adapter with {address} had");
        state_failure(&what, &path, &error.into())
    })
}

fn keep(at: &Place<'_>, address: IpAddr, seen: &AdapterSeen) -> Result<()> {
    let path = at.layout.adapter(address);
    let json = serde_json::to_vec(seen).map_err(|error| {
        let what = format!("write what the adapter with {address} had");
        state_failure(&what, &path, &error.into())
    })?;
    write_durably(&path, &json)
}
