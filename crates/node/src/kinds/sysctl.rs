//! `sysctl`.

use casement_resource::{Code, Diff, Failure, Prior, Resource, Sysctl, SysctlFacts};

use super::{Kind, Place, wrong_prior};
use crate::platform::Result;

impl Kind for Sysctl {
    fn look(&self, at: &Place<'_>) -> Result<Diff> {
        let value = at.platform.sysctl(&self.name)?;
        Ok(self.diff(&SysctlFacts { value }))
    }

    fn prior(&self, at: &Place<'_>) -> Result<Prior> {
        match at.platform.sysctl(&self.name)? {
            Some(value) => Ok(Prior::Sysctl(value)),
            None => Err(Failure::new(
                Code::Unsupported,
                format!("the kernel of this host has no value `{}`", self.name),
                "load the kernel module that brings it, or take the step out",
            )
            .values(&self.value, "no such value")),
        }
    }

    fn change(&self, at: &Place<'_>, _prior: &Prior, _earlier: Option<&Resource>) -> Result<()> {
        at.platform.set_sysctl(&self.name, &self.value)
    }

    /// A value that is gone went with the module that brought it.
    fn undo(&self, at: &Place<'_>, prior: &Prior) -> Result<()> {
        let Prior::Sysctl(value) = prior else {
            return Err(wrong_prior("a kernel value", prior));
        };
        match at.platform.sysctl(&self.name)? {
            Some(now) if now != *value => at.platform.set_sysctl(&self.name, value),
            _ => Ok(()),
        }
    }
}
