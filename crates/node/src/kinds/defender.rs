//! `defenderExclusion`: by Defender's policy in the registry.
//!
//! The policy is what group policies write; it needs no program and no WMI, and
//! Defender heeds it whether it runs at this moment or not. Each list has a
//! switch beside it, and both keys and switches belong to all exclusions
//! together: every record holds how they were before the first of them, and
//! whichever is taken back last restores that.

use casement_resource::{
    DefenderExclusion, DefenderFacts, Diff, Exclusion, Prior, RegistryData, Resource,
};

use super::registry::{delete_made_keys, missing_keys, put_back};
use super::{Kind, Place, wrong_prior};
use crate::platform::Result;
use crate::state::records::Records;

const SERVICE: &str = "WinDefend";
const POLICY: &str = r"SOFTWARE\Policies\Microsoft\Windows Defender\Exclusions";
const ON: RegistryData = RegistryData::Number(1);

/// Where an exclusion is written.
struct Entry<'a> {
    key: String,
    name: &'a str,
    switch: &'static str,
}

fn entry(exclusion: &Exclusion) -> Entry<'_> {
    let (list, name, switch) = match exclusion {
        Exclusion::Path(path) => ("Paths", path, "Exclusions_Paths"),
        Exclusion::Process(path) => ("Processes", path, "Exclusions_Processes"),
    };
    Entry {
        key: format!(r"{POLICY}\{list}"),
        name,
        switch,
    }
}

/// What a list holds for each exclusion: only the name counts.
fn listed() -> RegistryData {
    RegistryData::Text("0".to_owned())
}

impl Kind for DefenderExclusion {
    fn look(&self, at: &Place<'_>) -> Result<Diff> {
        if at.platform.service(SERVICE)?.is_none() {
            return Ok(self.diff(DefenderFacts::Absent));
        }
        let entry = entry(&self.exclusion);
        let found = at.platform.registry_value(&entry.key, entry.name)?;
        let switch = at.platform.registry_value(POLICY, entry.switch)?;
        Ok(self.diff(DefenderFacts::Present {
            listed: found == Some(listed()),
            heeded: switch == Some(ON),
        }))
    }

    fn prior(&self, at: &Place<'_>) -> Result<Prior> {
        let entry = entry(&self.exclusion);
        let switch = match switch_before(self, at)? {
            Some(before) => before,
            None => at.platform.registry_value(POLICY, entry.switch)?,
        };
        Ok(Prior::DefenderExclusion {
            missing_keys: missing_keys(at, &entry.key)?,
            switch,
            entry: at.platform.registry_value(&entry.key, entry.name)?,
        })
    }

    fn change(&self, at: &Place<'_>, _prior: &Prior, _earlier: Option<&Resource>) -> Result<()> {
        let entry = entry(&self.exclusion);
        at.platform
            .set_registry_value(&entry.key, entry.name, &listed())?;
        at.platform.set_registry_value(POLICY, entry.switch, &ON)
    }

    fn undo(&self, at: &Place<'_>, prior: &Prior) -> Result<()> {
        let Prior::DefenderExclusion {
            missing_keys,
            switch,
            entry: before,
        } = prior
        else {
            return Err(wrong_prior("a Defender exclusion", prior));
        };
        let entry = entry(&self.exclusion);
        put_back(at, &entry.key, entry.name, before.as_ref())?;
        if switch_before(self, at)?.is_none() {
            put_back(at, POLICY, entry.switch, switch.as_ref())?;
        }
        delete_made_keys(at, missing_keys)
    }
}

/// How the switch of this exclusion's list was before casement, if another
/// exclusion of casement's is in the list.
fn switch_before(
    exclusion: &DefenderExclusion,
    at: &Place<'_>,
) -> Result<Option<Option<RegistryData>>> {
    let own = entry(&exclusion.exclusion).switch;
    let records = Records::load(at.layout)?.backwards();
    Ok(records
        .into_iter()
        .find_map(|(_, record)| match (record.resource, record.prior) {
            (Resource::DefenderExclusion(other), Prior::DefenderExclusion { switch, .. })
                if other != *exclusion && entry(&other.exclusion).switch == own =>
            {
                Some(switch)
            }
            _ => None,
        }))
}
