//! `networkLink`.

use casement_resource::{
    Code, Diff, Failure, NetworkLink, NetworkLinkFacts, ObservedLink, Prior, Resource,
};

use super::{Kind, KindContext, wrong_prior};
use crate::platform::Result;

impl Kind for NetworkLink {
    fn observe(&self, context: &KindContext<'_>) -> Result<Diff> {
        let current = context.platform.link(&self.name)?;
        Ok(self.diff(&NetworkLinkFacts { observed: current }))
    }

    /// A link of another type is foreign. One of the same type only gets its MTU and
    /// is set up; removal restores both.
    fn prior(&self, context: &KindContext<'_>) -> Result<Prior> {
        let current = context.platform.link(&self.name)?;
        match current {
            Some(current) if current.link.as_ref() != Some(&self.link) => {
                Err(foreign(self, &current))
            }
            current => Ok(Prior::NetworkLink(current)),
        }
    }

    fn apply(
        &self,
        context: &KindContext<'_>,
        prior: &Prior,
        _previous: Option<&Resource>,
    ) -> Result<()> {
        let mut current = context.platform.link(&self.name)?;
        if let Some(found) = &current
            && found.link.as_ref() != Some(&self.link)
        {
            // Only a link that casement created may be replaced.
            if *prior != Prior::NetworkLink(None) {
                return Err(foreign(self, found));
            }
            context.platform.delete_link(&self.name)?;
            current = None;
        }
        if current.is_none() {
            context.platform.add_link(&self.name, &self.link)?;
        }
        if let Some(mtu) = self.mtu {
            context.platform.set_link_mtu(&self.name, mtu)?;
        }
        context.platform.set_link_up(&self.name, true)
    }

    fn undo(&self, context: &KindContext<'_>, prior: &Prior) -> Result<()> {
        let Prior::NetworkLink(before) = prior else {
            return Err(wrong_prior("a network link", prior));
        };
        match (context.platform.link(&self.name)?, before) {
            // Never a link of a type that casement does not create.
            (Some(now), None) if now.link.is_some() => context.platform.delete_link(&self.name),
            (Some(now), Some(before)) if now.link == before.link => {
                if now.mtu != before.mtu {
                    context.platform.set_link_mtu(&self.name, before.mtu)?;
                }
                if now.up != before.up {
                    context.platform.set_link_up(&self.name, before.up)?;
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

fn foreign(link: &NetworkLink, found: &ObservedLink) -> Failure {
    Failure::new(
        Code::Foreign,
        format!("casement did not create the existing link `{}`", link.name),
        "delete it if it is not needed, or use another name",
    )
    .values(link.link.to_string(), found.kind())
}
