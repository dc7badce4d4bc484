//! `networkLink`.

use casement_resource::{
    Code, Diff, Failure, LinkSeen, NetworkLink, NetworkLinkFacts, Prior, Resource,
};

use super::{Kind, Place, wrong_prior};
use crate::platform::Result;

impl Kind for NetworkLink {
    fn look(&self, at: &Place<'_>) -> Result<Diff> {
        let seen = at.platform.link(&self.name)?;
        Ok(self.diff(&NetworkLinkFacts { seen }))
    }

    /// A link of another kind is somebody's. One of the same kind is only
    /// switched on and given its MTU, and keeps that no longer than casement.
    fn prior(&self, at: &Place<'_>) -> Result<Prior> {
        let seen = at.platform.link(&self.name)?;
        match seen {
            Some(seen) if seen.link.as_ref() != Some(&self.link) => Err(foreign(self, &seen)),
            seen => Ok(Prior::NetworkLink(seen)),
        }
    }

    fn change(&self, at: &Place<'_>, prior: &Prior, _earlier: Option<&Resource>) -> Result<()> {
        let mut seen = at.platform.link(&self.name)?;
        if let Some(found) = &seen
            && found.link.as_ref() != Some(&self.link)
        {
            // Only one that casement made may go for another one.
            if *prior != Prior::NetworkLink(None) {
                return Err(foreign(self, found));
            }
            at.platform.delete_link(&self.name)?;
            seen = None;
        }
        if seen.is_none() {
            at.platform.add_link(&self.name, &self.link)?;
        }
        if let Some(mtu) = self.mtu {
            at.platform.set_link_mtu(&self.name, mtu)?;
        }
        at.platform.set_link_up(&self.name, true)
    }

    fn undo(&self, at: &Place<'_>, prior: &Prior) -> Result<()> {
        let Prior::NetworkLink(before) = prior else {
            return Err(wrong_prior("a network link", prior));
        };
        match (at.platform.link(&self.name)?, before) {
            // Never a link of a kind that casement does not make.
            (Some(now), None) if now.link.is_some() => at.platform.delete_link(&self.name),
            (Some(now), Some(before)) if now.link == before.link => {
                if now.mtu != before.mtu {
                    at.platform.set_link_mtu(&self.name, before.mtu)?;
                }
                if now.up != before.up {
                    at.platform.set_link_up(&self.name, before.up)?;
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

fn foreign(link: &NetworkLink, found: &LinkSeen) -> Failure {
    Failure::new(
        Code::Foreign,
        format!("a link `{}` is there that casement did not make", link.name),
        "delete it if nobody needs it, or take another name",
    )
    .values(link.link.to_string(), found.kind())
}
