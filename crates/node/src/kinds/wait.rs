//! `wait`.

use std::time::Duration;

use casement_resource::{Code, Diff, Failure, Prior, Resource, Wait};

use super::{Kind, KindContext, wait_for};
use crate::platform::Result;

impl Kind for Wait {
    fn observe(&self, context: &KindContext<'_>) -> Result<Diff> {
        Ok(self.diff(&context.platform.condition(&self.condition)?))
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
        let timeout = Duration::from_secs(u64::from(self.timeout_seconds));
        let waited = wait_for(context, &self.condition, timeout);
        waited.map_err(|failure| match &self.help {
            Some(help) if failure.code == Code::TimedOut => Failure {
                code: Code::ActionRequired,
                help: help.clone(),
                ..failure
            },
            _ => failure,
        })
    }

    fn undo(&self, _context: &KindContext<'_>, _prior: &Prior) -> Result<()> {
        Ok(())
    }
}
