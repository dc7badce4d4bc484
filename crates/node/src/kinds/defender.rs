//! `defenderExclusion`: set by Defender's policy in the registry.
//!
//! These are the values that group policies write: no program or WMI is needed, and
//! they apply whether or not Defender is running. Each list has a switch beside it.
//! All exclusions share the keys and switches: every record has their values from
//! before the first exclusion, and the exclusion that is removed last restores them.

use casement_resource::{
    DefenderExclusion, DefenderFacts, Diff, Exclusion, Prior, RegistryData, Resource,
};

use super::registry::{delete_created_keys, missing_keys, restore_value};
use super::{Kind, KindContext, wrong_prior};
use crate::platform::Result;
use crate::state::records::Records;

const SERVICE: &str = "WinDefend";
const POLICY: &str = r"SOFTWARE\Policies\Microsoft\Windows Defender\Exclusions";
const ON: RegistryData = RegistryData::Number(1);

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

/// Only the name of a list entry counts; its data is always this.
fn entry_data() -> RegistryData {
    RegistryData::Text("0".to_owned())
}

impl Kind for DefenderExclusion {
    fn observe(&self, context: &KindContext<'_>) -> Result<Diff> {
        if context.platform.service(SERVICE)?.is_none() {
            return Ok(self.diff(DefenderFacts::Absent));
        }
        let entry = entry(&self.exclusion);
        let found = context.platform.registry_value(&entry.key, entry.name)?;
        let switch = context.platform.registry_value(POLICY, entry.switch)?;
        Ok(self.diff(DefenderFacts::Present {
            listed: found == Some(entry_data()),
            enforced: switch == Some(ON),
        }))
    }

    fn prior(&self, context: &KindContext<'_>) -> Result<Prior> {
        let entry = entry(&self.exclusion);
        let switch = match switch_before(self, context)? {
            Some(before) => before,
            None => context.platform.registry_value(POLICY, entry.switch)?,
        };
        Ok(Prior::DefenderExclusion {
            missing_keys: missing_keys(context, &entry.key)?,
            switch,
            entry: context.platform.registry_value(&entry.key, entry.name)?,
        })
    }

    fn apply(
        &self,
        context: &KindContext<'_>,
        _prior: &Prior,
        _previous: Option<&Resource>,
    ) -> Result<()> {
        let entry = entry(&self.exclusion);
        context
            .platform
            .set_registry_value(&entry.key, entry.name, &entry_data())?;
        context
            .platform
            .set_registry_value(POLICY, entry.switch, &ON)
    }

    fn undo(&self, context: &KindContext<'_>, prior: &Prior) -> Result<()> {
        let Prior::DefenderExclusion {
            missing_keys,
            switch,
            entry: before,
        } = prior
        else {
            return Err(wrong_prior("a Defender exclusion", prior));
        };
        let entry = entry(&self.exclusion);
        restore_value(context, &entry.key, entry.name, before.as_ref())?;
        if switch_before(self, context)?.is_none() {
            restore_value(context, POLICY, entry.switch, switch.as_ref())?;
        }
        delete_created_keys(context, missing_keys)
    }
}

/// The prior value of the switch of this exclusion's list, if casement has another
/// exclusion in the list.
fn switch_before(
    exclusion: &DefenderExclusion,
    context: &KindContext<'_>,
) -> Result<Option<Option<RegistryData>>> {
    let own = entry(&exclusion.exclusion).switch;
    let records = Records::load(context.layout)?.newest_first();
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
