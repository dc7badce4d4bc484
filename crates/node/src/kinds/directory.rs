//! `directory`.

use casement_resource::{
    Access, Code, Diff, Directory, DirectoryFacts, Failure, HostPath, Prior, Resource,
};

use super::{Kind, KindContext, wrong_prior};
use crate::platform::{EntryKind, Platform, Result};
use crate::state::records::Records;

impl Kind for Directory {
    fn observe(&self, context: &KindContext<'_>) -> Result<Diff> {
        Ok(self.diff(&facts(context.platform, &self.path)?))
    }

    fn prior(&self, context: &KindContext<'_>) -> Result<Prior> {
        let access = match facts(context.platform, &self.path)? {
            DirectoryFacts::Absent => None,
            DirectoryFacts::InTheWay => return Err(in_the_way(&self.path, "a directory")),
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
        let missing = missing(context, Some(self.path.clone()))?;
        Ok(Prior::Directory { missing, access })
    }

    fn apply(
        &self,
        context: &KindContext<'_>,
        _prior: &Prior,
        _previous: Option<&Resource>,
    ) -> Result<()> {
        match facts(context.platform, &self.path)? {
            DirectoryFacts::InTheWay => Err(in_the_way(&self.path, "a directory")),
            DirectoryFacts::Present(access) => {
                require_trust(
                    &self.path,
                    self.access,
                    access.owner_trusted,
                    &access.descriptor,
                )?;
                context.platform.set_access(&self.path, self.access)
            }
            DirectoryFacts::Absent => {
                create_parents(context.platform, &self.path)?;
                context.platform.create_directory(&self.path, self.access)
            }
        }
    }

    fn undo(&self, context: &KindContext<'_>, prior: &Prior) -> Result<()> {
        let Prior::Directory { missing, access } = prior else {
            return Err(wrong_prior("a directory", prior));
        };
        match access {
            None => context.platform.remove_tree(&self.path)?,
            Some(descriptor) => {
                if let DirectoryFacts::Present(found) = facts(context.platform, &self.path)?
                    && found.descriptor != *descriptor
                {
                    context.platform.restore_access(&self.path, descriptor)?;
                }
            }
        }
        remove_created_parents(context, missing, &self.path)
    }
}

fn facts(platform: &dyn Platform, path: &HostPath) -> Result<DirectoryFacts> {
    Ok(match platform.entry(path)? {
        None => DirectoryFacts::Absent,
        Some(entry) if entry.kind == EntryKind::Directory => DirectoryFacts::Present(entry.access),
        Some(_) => DirectoryFacts::InTheWay,
    })
}

/// A path and those of its parents that did not exist before casement, outermost
/// first: those absent now, and those that another record lists as created by
/// casement. So the last removed resource in a folder removes the folder too.
pub(super) fn missing(context: &KindContext<'_>, start: Option<HostPath>) -> Result<Vec<HostPath>> {
    let records = Records::load(context.layout)?.newest_first();
    let created = |path: &HostPath| {
        let mut folders = records
            .iter()
            .flat_map(|(_, it)| created_folders(&it.prior));
        folders.any(|folder| folder == path)
    };
    let mut missing = Vec::new();
    let mut next = start;
    while let Some(path) = next
        && (context.platform.entry(&path)?.is_none() || created(&path))
    {
        next = path.parent();
        missing.push(path);
    }
    missing.reverse();
    Ok(missing)
}

fn created_folders(prior: &Prior) -> &[HostPath] {
    match prior {
        Prior::Directory { missing, .. }
        | Prior::File { missing, .. }
        | Prior::Artifact { missing, .. }
        | Prior::Symlink { missing, .. }
        | Prior::Line { missing, .. } => missing,
        _ => &[],
    }
}

pub(super) fn create_parents(platform: &dyn Platform, path: &HostPath) -> Result<()> {
    let mut missing = Vec::new();
    let mut next = path.parent();
    while let Some(parent) = next
        && platform.entry(&parent)?.is_none()
    {
        next = parent.parent();
        missing.push(parent);
    }
    for parent in missing.iter().rev() {
        platform.create_directory(parent, Access::Inherited)?;
    }
    Ok(())
}

/// Deletes parents that casement created, as long as they are empty and no resource
/// other than `own` manages them.
pub(super) fn remove_created_parents(
    context: &KindContext<'_>,
    created: &[HostPath],
    own: &HostPath,
) -> Result<()> {
    if created.is_empty() {
        return Ok(());
    }
    let records = Records::load(context.layout)?.newest_first();
    let managed = |path: &HostPath| {
        let manages = |resource: &Resource| match resource {
            Resource::Directory(it) => it.path == *path,
            Resource::ContainerStore(it) => it.path == *path,
            _ => false,
        };
        path != own && records.iter().any(|(_, it)| manages(&it.resource))
    };
    for path in created.iter().rev() {
        if managed(path) || !context.platform.remove_empty_directory(path)? {
            break;
        }
    }
    Ok(())
}

/// The owner of a path can change its access back, or put programs in it.
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
        format!("`{path}` exists and its owner is not an administrator"),
        "check its contents, then delete it or change its owner to the administrators",
    )
    .values("owned by administrators", descriptor))
}

pub(super) fn in_the_way(path: &HostPath, wanted: &str) -> Failure {
    Failure::new(
        Code::Foreign,
        format!("`{path}` exists, but is not {wanted}"),
        "check what it is, move it away, then run `casement apply` again",
    )
    .values(wanted, "another type of object")
}
