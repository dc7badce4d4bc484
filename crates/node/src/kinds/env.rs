//! `env` and `pathEntry`.

use casement_resource::{Diff, Env, EnvFacts, PathEntry, PathEntryFacts, Prior, Resource};

use super::{Kind, KindContext, wrong_prior};
use crate::platform::Result;

impl Kind for Env {
    fn observe(&self, context: &KindContext<'_>) -> Result<Diff> {
        let value = context.platform.env(&self.name)?;
        Ok(self.diff(&EnvFacts { value }))
    }

    fn prior(&self, context: &KindContext<'_>) -> Result<Prior> {
        Ok(Prior::Env(context.platform.env(&self.name)?))
    }

    fn apply(
        &self,
        context: &KindContext<'_>,
        _prior: &Prior,
        _previous: Option<&Resource>,
    ) -> Result<()> {
        context.platform.set_env(&self.name, Some(&self.value))
    }

    fn undo(&self, context: &KindContext<'_>, prior: &Prior) -> Result<()> {
        let Prior::Env(value) = prior else {
            return Err(wrong_prior("an environment variable", prior));
        };
        context.platform.set_env(&self.name, value.as_deref())
    }
}

impl Kind for PathEntry {
    fn observe(&self, context: &KindContext<'_>) -> Result<Diff> {
        let entries = context.platform.path_entries()?;
        Ok(self.diff(&PathEntryFacts { entries }))
    }

    fn prior(&self, _context: &KindContext<'_>) -> Result<Prior> {
        Ok(Prior::Nothing)
    }

    fn apply(
        &self,
        context: &KindContext<'_>,
        _prior: &Prior,
        _previous: Option<&Resource>,
    ) -> Result<()> {
        let mut entries = context.platform.path_entries()?;
        entries.push(self.path.to_string());
        context.platform.set_path_entries(&entries)
    }

    /// Others may have added entries since: only the own entry is removed.
    fn undo(&self, context: &KindContext<'_>, _prior: &Prior) -> Result<()> {
        let mut entries = context.platform.path_entries()?;
        let before = entries.len();
        entries.retain(|entry| !self.is(entry));
        if entries.len() == before {
            return Ok(());
        }
        context.platform.set_path_entries(&entries)
    }
}
