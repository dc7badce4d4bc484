//! `forwarding`.

use casement_resource::{Code, Diff, Failure, Forwarding, ForwardingFacts, Prior, Resource};

use super::{Kind, KindContext, wrong_prior};
use crate::platform::Result;

impl Kind for Forwarding {
    fn observe(&self, context: &KindContext<'_>) -> Result<Diff> {
        let enabled = context.platform.forwarding(&self.interface)?;
        Ok(self.diff(&ForwardingFacts { enabled }))
    }

    fn prior(&self, context: &KindContext<'_>) -> Result<Prior> {
        match context.platform.forwarding(&self.interface)? {
            Some(enabled) => Ok(Prior::Forwarding(enabled)),
            None => Err(Failure::new(
                Code::InterfaceMissing,
                format!("cannot enable forwarding: {} not found", self.interface),
                "compare the address of the host in the cluster file with its interfaces",
            )
            .values(self.interface.to_string(), "no such interface")),
        }
    }

    fn apply(
        &self,
        context: &KindContext<'_>,
        _prior: &Prior,
        _previous: Option<&Resource>,
    ) -> Result<()> {
        context.platform.set_forwarding(&self.interface, true)
    }

    /// A missing interface has no setting to restore.
    fn undo(&self, context: &KindContext<'_>, prior: &Prior) -> Result<()> {
        let Prior::Forwarding(enabled) = prior else {
            return Err(wrong_prior("forwarding", prior));
        };
        match context.platform.forwarding(&self.interface)? {
            Some(now) if now != *enabled => {
                context.platform.set_forwarding(&self.interface, *enabled)
            }
            _ => Ok(()),
        }
    }
}
