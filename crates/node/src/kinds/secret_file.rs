//! `secretFile`: written with secrets that are in memory only, and known again by
//! what was noted then.

use casement_resource::{
    Code, Diff, Failure, FileFacts, HostPath, Prior, Resource, SecretFile, SecretFileFacts,
    SecretFileNote, Sha256,
};

use super::directory::{in_the_way, make_parents, missing, remove_made_parents, require_trust};
use super::file;
use super::{Kind, Place, wrong_prior};
use crate::platform::{Form, Result};
use crate::state::{Layout, delete, read, write_durably};

impl Kind for SecretFile {
    fn look(&self, at: &Place<'_>) -> Result<Diff> {
        let facts = match file::observe(at.platform, &self.path)? {
            FileFacts::Absent => SecretFileFacts::Absent,
            FileFacts::InTheWay => SecretFileFacts::InTheWay,
            FileFacts::Present { sha256, access, .. } => SecretFileFacts::Present {
                sha256,
                access,
                note: note(at.layout, &self.path)?,
            },
        };
        Ok(self.diff(&facts))
    }

    fn prior(&self, at: &Place<'_>) -> Result<Prior> {
        let saved = file::save(at, &self.path, Self::ACCESS)?;
        let missing = missing(at, self.path.parent())?;
        Ok(Prior::File { missing, saved })
    }

    fn change(&self, at: &Place<'_>, _prior: &Prior, _earlier: Option<&Resource>) -> Result<()> {
        let Some(text) = self.filled(at.secrets) else {
            return Err(Failure::new(
                Code::SecretMissing,
                format!("a secret for `{}` did not come", self.path),
                "apply again: the file of the cluster says where it is",
            ));
        };
        match file::observe(at.platform, &self.path)? {
            FileFacts::InTheWay => return Err(in_the_way(&self.path, "a plain file")),
            FileFacts::Absent => make_parents(at.platform, &self.path)?,
            FileFacts::Present { access, .. } => require_trust(
                &self.path,
                Self::ACCESS,
                access.owner_trusted,
                &access.descriptor,
            )?,
        }
        let form = Form {
            access: Self::ACCESS,
            executable: false,
        };
        let bytes = text.expose().as_bytes();
        at.platform.write(&self.path, &mut &*bytes, form)?;
        let note = self.note(Sha256::of(bytes));
        let json = serde_json::to_vec(&note).unwrap_or_default();
        write_durably(&at.layout.secret_note(&self.path), &json)
    }

    fn undo(&self, at: &Place<'_>, prior: &Prior) -> Result<()> {
        let Prior::File { missing, saved } = prior else {
            return Err(wrong_prior("a file with secrets", prior));
        };
        file::restore(at, &self.path, saved.as_ref())?;
        delete(&at.layout.secret_note(&self.path))?;
        remove_made_parents(at, missing, &self.path)
    }
}

/// What was noted of a file; one that cannot be understood is as good as none.
fn note(layout: &Layout, path: &HostPath) -> Result<Option<SecretFileNote>> {
    let bytes = read(&layout.secret_note(path))?;
    Ok(bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()))
}
