//! `wait`.

use std::time::Duration;

use casement_resource::{Code, Diff, Failure, Prior, Resource, Wait};

use super::{Kind, Place, wait_for};
use crate::platform::Result;

impl Kind for Wait {
    fn look(&self, at: &Place<'_>) -> Result<Diff> {
        Ok(self.diff(&at.platform.condition(&self.condition)?))
    }

    fn prior(&self, _at: &Place<'_>) -> Result<Prior> {
        Ok(Prior::Nothing)
    }

    fn change(&self, at: &Place<'_>, _prior: &Prior, _earlier: Option<&Resource>) -> Result<()> {
        let limit = Duration::from_secs(u64::from(self.timeout_seconds));
        let waited = wait_for(at, &self.condition, limit);
        waited.map_err(|failure| match &self.remedy {
            Some(remedy) if failure.code == Code::TimedOut => Failure {
                code: Code::Needed,
                remedy: remedy.clone(),
                ..failure
            },
            _ => failure,
        })
    }

    fn undo(&self, _at: &Place<'_>, _prior: &Prior) -> Result<()> {
        Ok(())
    }
}
