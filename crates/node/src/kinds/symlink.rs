//! `symlink`.

use casement_resource::{Diff, Prior, Resource, Symlink, SymlinkFacts};

use super::directory::{create_parents, in_the_way, missing, remove_created_parents};
use super::{Kind, KindContext, wrong_prior};
use crate::platform::Result;

impl Kind for Symlink {
    fn observe(&self, context: &KindContext<'_>) -> Result<Diff> {
        Ok(self.diff(&facts(self, context)?))
    }

    fn prior(&self, context: &KindContext<'_>) -> Result<Prior> {
        let target = match facts(self, context)? {
            SymlinkFacts::Absent => None,
            SymlinkFacts::InTheWay => return Err(in_the_way(&self.path, "a symbolic link")),
            SymlinkFacts::Present(target) => Some(target),
        };
        let missing = missing(context, self.path.parent())?;
        Ok(Prior::Symlink { missing, target })
    }

    fn apply(
        &self,
        context: &KindContext<'_>,
        _prior: &Prior,
        _previous: Option<&Resource>,
    ) -> Result<()> {
        match facts(self, context)? {
            SymlinkFacts::InTheWay => return Err(in_the_way(&self.path, "a symbolic link")),
            SymlinkFacts::Absent => create_parents(context.platform, &self.path)?,
            SymlinkFacts::Present(_) => {}
        }
        context.platform.create_symlink(&self.path, &self.target)
    }

    /// What has replaced the link since is foreign.
    fn undo(&self, context: &KindContext<'_>, prior: &Prior) -> Result<()> {
        let Prior::Symlink { missing, target } = prior else {
            return Err(wrong_prior("a symbolic link", prior));
        };
        match (facts(self, context)?, target) {
            (SymlinkFacts::Present(now), Some(before)) if now == *before => {}
            (SymlinkFacts::Present(_), None) => context.platform.remove_file(&self.path)?,
            (SymlinkFacts::InTheWay, Some(_)) => {
                return Err(in_the_way(&self.path, "a symbolic link"));
            }
            (SymlinkFacts::InTheWay | SymlinkFacts::Absent, None) => {}
            (SymlinkFacts::Present(_) | SymlinkFacts::Absent, Some(before)) => {
                create_parents(context.platform, &self.path)?;
                context.platform.create_symlink(&self.path, before)?;
            }
        }
        remove_created_parents(context, missing, &self.path)
    }
}

fn facts(link: &Symlink, context: &KindContext<'_>) -> Result<SymlinkFacts> {
    if context.platform.entry(&link.path)?.is_none() {
        return Ok(SymlinkFacts::Absent);
    }
    let target = context.platform.read_link(&link.path)?;
    Ok(target.map_or(SymlinkFacts::InTheWay, SymlinkFacts::Present))
}
