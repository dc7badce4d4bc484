//! `env` and `pathEntry`.

use casement_resource::{Diff, Env, EnvFacts, PathEntry, PathEntryFacts, Prior, Resource};

use super::{Kind, Place, wrong_prior};
use crate::platform::Result;

impl Kind for Env {
    fn look(&self, at: &Place<'_>) -> Result<Diff> {
        let value = at.platform.env(&self.name)?;
        Ok(self.diff(&EnvFacts { value }))
    }

    fn prior(&self, at: &Place<'_>) -> Result<Prior> {
        Ok(Prior::Env(at.platform.env(&self.name)?))
    }

    fn change(&self, at: &Place<'_>, _prior: &Prior, _earlier: Option<&Resource>) -> Result<()> {
        at.platform.set_env(&self.name, Some(&self.value))
    }

    fn undo(&self, at: &Place<'_>, prior: &Prior) -> Result<()> {
        let Prior::Env(value) = prior else {
            return Err(wrong_prior("a variable", prior));
        };
        at.platform.set_env(&self.name, value.as_deref())
    }
}

impl Kind for PathEntry {
    fn look(&self, at: &Place<'_>) -> Result<Diff> {
        let entries = at.platform.path_entries()?;
        Ok(self.diff(&PathEntryFacts { entries }))
    }

    fn prior(&self, _at: &Place<'_>) -> Result<Prior> {
        Ok(Prior::Nothing)
    }

    fn change(&self, at: &Place<'_>, _prior: &Prior, _earlier: Option<&Resource>) -> Result<()> {
        let mut entries = at.platform.path_entries()?;
        entries.push(self.path.to_string());
        at.platform.set_path_entries(&entries)
    }

    /// Others may have added entries since: only the own one goes.
    fn undo(&self, at: &Place<'_>, _prior: &Prior) -> Result<()> {
        let mut entries = at.platform.path_entries()?;
        let before = entries.len();
        entries.retain(|entry| !self.is(entry));
        if entries.len() == before {
            return Ok(());
        }
        at.platform.set_path_entries(&entries)
    }
}
