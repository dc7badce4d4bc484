//! `sysctl`.

use casement_resource::{Code, Diff, Failure, Prior, Resource, Sysctl, SysctlFacts};

use super::{Kind, KindContext, wrong_prior};
use crate::platform::Result;

impl Kind for Sysctl {
    fn observe(&self, context: &KindContext<'_>) -> Result<Diff> {
        let value = context.platform.sysctl(&self.name)?;
        Ok(self.diff(&SysctlFacts { value }))
    }

    fn prior(&self, context: &KindContext<'_>) -> Result<Prior> {
        match context.platform.sysctl(&self.name)? {
            Some(value) => Ok(Prior::Sysctl(value)),
            None => Err(Failure::new(
                Code::Unsupported,
                format!("the kernel has no sysctl `{}`", self.name),
                "load the kernel module that provides it, or remove the step",
            )
            .values(&self.value, "no such sysctl")),
        }
    }

    fn apply(
        &self,
        context: &KindContext<'_>,
        _prior: &Prior,
        _previous: Option<&Resource>,
    ) -> Result<()> {
        context.platform.set_sysctl(&self.name, &self.value)
    }

    /// A missing value went with its kernel module.
    fn undo(&self, context: &KindContext<'_>, prior: &Prior) -> Result<()> {
        let Prior::Sysctl(value) = prior else {
            return Err(wrong_prior("a sysctl", prior));
        };
        match context.platform.sysctl(&self.name)? {
            Some(now) if now != *value => context.platform.set_sysctl(&self.name, value),
            _ => Ok(()),
        }
    }
}
