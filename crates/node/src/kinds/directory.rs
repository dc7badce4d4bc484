//! `directory`.

use casement_resource::{
    Access, Code, Diff, Directory, DirectoryFacts, Failure, HostPath, Prior, Resource,
};

use super::{Kind, Place, wrong_prior};
use crate::platform::{EntryKind, Platform, Result};
use crate::state::records::Records;

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
        let missing = missing(at, Some(self.path.clone()))?;
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
        remove_made_parents(at, missing, &self.path)
    }
}

fn observe(files: &dyn Platform, path: &HostPath) -> Result<DirectoryFacts> {
    Ok(match files.entry(path)? {
        None => DirectoryFacts::Absent,
        Some(entry) if entry.kind == EntryKind::Directory => DirectoryFacts::Present(entry.access),
        Some(_) => DirectoryFacts::InTheWay,
    })
}

/// A path and those of its parents that were absent before casement, outermost
/// first: what is absent now, and what another record says that casement made.
/// So of several things in one folder, the last to go takes the folder along,
/// whichever that is.
pub(super) fn missing(at: &Place<'_>, start: Option<HostPath>) -> Result<Vec<HostPath>> {
    let records = Records::load(at.layout)?.backwards();
    let made = |path: &HostPath| {
        let mut folders = records.iter().flat_map(|(_, it)| made_folders(&it.prior));
        folders.any(|folder| folder == path)
    };
    let mut missing = Vec::new();
    let mut next = start;
    while let Some(path) = next
        && (at.platform.entry(&path)?.is_none() || made(&path))
    {
        next = path.parent();
        missing.push(path);
    }
    missing.reverse();
    Ok(missing)
}

fn made_folders(prior: &Prior) -> &[HostPath] {
    match prior {
        Prior::Directory { missing, .. }
        | Prior::File { missing, .. }
        | Prior::Artifact { missing, .. }
        | Prior::Symlink { missing, .. }
        | Prior::Line { missing, .. } => missing,
        _ => &[],
    }
}

/// Makes the parents of a path that are absent.
pub(super) fn make_parents(files: &dyn Platform, path: &HostPath) -> Result<()> {
    let mut missing = Vec::new();
    let mut next = path.parent();
    while let Some(parent) = next
        && files.entry(&parent)?.is_none()
    {
        next = parent.parent();
        missing.push(parent);
    }
    for parent in missing.iter().rev() {
        files.make_directory(parent, Access::Inherited)?;
    }
    Ok(())
}

/// Deletes parents that casement made, as far as nothing is in them, and nothing
/// but `own` is about one of them.
pub(super) fn remove_made_parents(at: &Place<'_>, made: &[HostPath], own: &HostPath) -> Result<()> {
    if made.is_empty() {
        return Ok(());
    }
    let records = Records::load(at.layout)?.backwards();
    let wanted = |path: &HostPath| {
        let is_about = |resource: &Resource| match resource {
            Resource::Directory(it) => it.path == *path,
            Resource::ContainerStore(it) => it.path == *path,
            _ => false,
        };
        path != own && records.iter().any(|(_, it)| is_about(&it.resource))
    };
    for path in made.iter().rev() {
        if wanted(path) || !at.platform.remove_empty_directory(path)? {
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
