//! `forwarding`.

use casement_resource::{Code, Diff, Failure, Forwarding, ForwardingFacts, Prior, Resource};

use super::{Kind, Place, wrong_prior};
use crate::platform::Result;

impl Kind for Forwarding {
    fn look(&self, at: &Place<'_>) -> Result<Diff> {
        let enabled = at.platform.forwarding(&self.interface)?;
        Ok(self.diff(&ForwardingFacts { enabled }))
    }

    fn prior(&self, at: &Place<'_>) -> Result<Prior> {
        match at.platform.forwarding(&self.interface)? {
            Some(enabled) => Ok(Prior::Forwarding(enabled)),
            None => Err(Failure::new(
                Code::InterfaceMissing,
                format!("{} is not there, so it cannot forward", self.interface),
                "check the host's address in the spec against the host's interfaces",
            )
            .values(self.interface.to_string(), "no such interface")),
        }
    }

    fn change(&self, at: &Place<'_>, _prior: &Prior, _earlier: Option<&Resource>) -> Result<()> {
        at.platform.set_forwarding(&self.interface, true)
    }

    /// An interface that is gone has taken its setting along.
    fn undo(&self, at: &Place<'_>, prior: &Prior) -> Result<()> {
        let Prior::Forwarding(enabled) = prior else {
            return Err(wrong_prior("forwarding", prior));
        };
        match at.platform.forwarding(&self.interface)? {
            Some(now) if now != *enabled => at.platform.set_forwarding(&self.interface, *enabled),
            _ => Ok(()),
        }
    }
}
