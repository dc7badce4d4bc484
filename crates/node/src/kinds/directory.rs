//! `directory`.

use casement_resource::{
    Access, Code, Diff, Directory, DirectoryFacts, Failure, HostPath, Prior, Resource,
};

use super::{Kind, Place, wrong_prior};
use crate::platform::{EntryKind, Platform, Result};

impl Kind for Directory {
    fn look(&self, at: &Place<'_>) -> Result<Diff> {
        Ok(self.diff(&observe(at.platform, &self.path)?))
    }

    fn prior(&self, at: &Place<'_>) -> Result<Prior> {
        let access = match observe(at.platform, &self.path)? {
            DirectoryFacts::Absent => None,
            DirectoryFacts::InTheWay => return Err(in_the_way(&self.path, "a folder")),
            DirectoryFacts::Present(access) => {
                require_trust(
                    &self.path,
                    self.access,
                    access.owner_trusted,
                    &access.descriptor,
                )?;
                Some(access.descriptor)
            }
        };
        let missing = missing(at.platform, Some(self.path.clone()))?;
        Ok(Prior::Directory { missing, access })
    }

    fn change(&self, at: &Place<'_>, _prior: &Prior, _earlier: Option<&Resource>) -> Result<()> {
        match observe(at.platform, &self.path)? {
            DirectoryFacts::InTheWay => Err(in_the_way(&self.path, "a folder")),
            DirectoryFacts::Present(access) => {
                require_trust(
                    &self.path,
                    self.access,
                    access.owner_trusted,
                    &access.descriptor,
                )?;
                at.platform.set_access(&self.path, self.access)
            }
            DirectoryFacts::Absent => {
                make_parents(at.platform, &self.path)?;
                at.platform.make_directory(&self.path, self.access)
            }
        }
    }

    fn undo(&self, at: &Place<'_>, prior: &Prior) -> Result<()> {
        let Prior::Directory { missing, access } = prior else {
            return Err(wrong_prior("a folder", prior));
        };
        match access {
            None => at.platform.remove_tree(&self.path)?,
            Some(descriptor) => {
                if let DirectoryFacts::Present(found) = observe(at.platform, &self.path)?
                    && found.descriptor != *descriptor
                {
                    at.platform.restore_access(&self.path, descriptor)?;
                }
            }
        }
        remove_made_parents(at.platform, missing)
    }
}

fn observe(files: &dyn Platform, path: &HostPath) -> Result<DirectoryFacts> {
    Ok(match files.entry(path)? {
        None => DirectoryFacts::Absent,
        Some(entry) if entry.kind == EntryKind::Directory => DirectoryFacts::Present(entry.access),
        Some(_) => DirectoryFacts::InTheWay,
    })
}

/// A path and those of its parents that are absent, outermost first.
pub(super) fn missing(files: &dyn Platform, start: Option<HostPath>) -> Result<Vec<HostPath>> {
    let mut missing = Vec::new();
    let mut next = start;
    while let Some(path) = next {
        if files.entry(&path)?.is_some() {
            break;
        }
        next = path.parent();
        missing.push(path);
    }
    missing.reverse();
    Ok(missing)
}

/// Makes the parents of a path that are absent.
pub(super) fn make_parents(files: &dyn Platform, path: &HostPath) -> Result<()> {
    for parent in missing(files, path.parent())? {
        files.make_directory(&parent, Access::Inherited)?;
    }
    Ok(())
}

/// Deletes parents that casement made, as far as nothing is in them.
pub(super) fn remove_made_parents(files: &dyn Platform, made: &[HostPath]) -> Result<()> {
    for path in made.iter().rev() {
        if !files.remove_empty_directory(path)? {
            break;
        }
    }
    Ok(())
}

/// Somebody who owns a path can change its access back, or put programs in it.
pub(super) fn require_trust(
    path: &HostPath,
    wanted: Access,
    trusted: bool,
    descriptor: &str,
) -> Result<()> {
    if trusted || wanted == Access::Inherited {
        return Ok(());
    }
    Err(Failure::new(
        Code::Untrusted,
        format!("`{path}` exists and belongs to somebody who is no administrator"),
        "look at what is in it, then delete it or give it to the administrators",
    )
    .values("owned by administrators", descriptor))
}

pub(super) fn in_the_way(path: &HostPath, wanted: &str) -> Failure {
    Failure::new(
        Code::Foreign,
        format!("`{path}` is something else than {wanted}; casement did not make it"),
        "look at what it is, move it away and apply again",
    )
    .values(wanted, "something else of that name")
}
