//! `symlink`.

use casement_resource::{Diff, Prior, Resource, Symlink, SymlinkFacts};

use super::directory::{in_the_way, make_parents, missing, remove_made_parents};
use super::{Kind, Place, wrong_prior};
use crate::platform::Result;

impl Kind for Symlink {
    fn look(&self, at: &Place<'_>) -> Result<Diff> {
        Ok(self.diff(&observe(self, at)?))
    }

    fn prior(&self, at: &Place<'_>) -> Result<Prior> {
        let target = match observe(self, at)? {
            SymlinkFacts::Absent => None,
            SymlinkFacts::InTheWay => return Err(in_the_way(&self.path, "a link")),
            SymlinkFacts::Present(target) => Some(target),
        };
        let missing = missing(at, self.path.parent())?;
        Ok(Prior::Symlink { missing, target })
    }

    fn change(&self, at: &Place<'_>, _prior: &Prior, _earlier: Option<&Resource>) -> Result<()> {
        match observe(self, at)? {
            SymlinkFacts::InTheWay => return Err(in_the_way(&self.path, "a link")),
            SymlinkFacts::Absent => make_parents(at.platform, &self.path)?,
            SymlinkFacts::Present(_) => {}
        }
        at.platform.make_link(&self.path, &self.target)
    }

    /// What somebody put in the link's place since is not casement's.
    fn undo(&self, at: &Place<'_>, prior: &Prior) -> Result<()> {
        let Prior::Symlink { missing, target } = prior else {
            return Err(wrong_prior("a link", prior));
        };
        match (observe(self, at)?, target) {
            (SymlinkFacts::Present(now), Some(before)) if now == *before => {}
            (SymlinkFacts::Present(_), None) => at.platform.remove_file(&self.path)?,
            (SymlinkFacts::InTheWay, Some(_)) => return Err(in_the_way(&self.path, "a link")),
            (SymlinkFacts::InTheWay | SymlinkFacts::Absent, None) => {}
            (SymlinkFacts::Present(_) | SymlinkFacts::Absent, Some(before)) => {
                make_parents(at.platform, &self.path)?;
                at.platform.make_link(&self.path, before)?;
            }
        }
        remove_made_parents(at, missing, &self.path)
    }
}

fn observe(link: &Symlink, at: &Place<'_>) -> Result<SymlinkFacts> {
    if at.platform.entry(&link.path)?.is_none() {
        return Ok(SymlinkFacts::Absent);
    }
    let target = at.platform.read_link(&link.path)?;
    Ok(target.map_or(SymlinkFacts::InTheWay, SymlinkFacts::Present))
}
