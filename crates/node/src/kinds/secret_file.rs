//! `secretFile`: rendered with secrets that are only in memory. Its hash is recorded,
//! so that later runs can compare the file without the secrets.

use casement_resource::{
    Code, Diff, Failure, FileFacts, HostPath, Prior, Resource, SecretFile, SecretFileFacts,
    SecretFileRecord, Sha256,
};

use super::directory::{
    create_parents, in_the_way, missing, remove_created_parents, require_trust,
};
use super::file;
use super::{Kind, KindContext, wrong_prior};
use crate::platform::{Result, WriteOptions};
use crate::state::{Layout, delete, read, write_durably};

impl Kind for SecretFile {
    fn observe(&self, context: &KindContext<'_>) -> Result<Diff> {
        let facts = match file::file_facts(context.platform, &self.path)? {
            FileFacts::Absent => SecretFileFacts::Absent,
            FileFacts::InTheWay => SecretFileFacts::InTheWay,
            FileFacts::Present { sha256, access, .. } => SecretFileFacts::Present {
                sha256,
                access,
                note: note(context.layout, &self.path)?,
            },
        };
        Ok(self.diff(&facts))
    }

    fn prior(&self, context: &KindContext<'_>) -> Result<Prior> {
        let saved = file::save(context, &self.path, Self::ACCESS)?;
        let missing = missing(context, self.path.parent())?;
        Ok(Prior::File { missing, saved })
    }

    fn apply(
        &self,
        context: &KindContext<'_>,
        _prior: &Prior,
        _previous: Option<&Resource>,
    ) -> Result<()> {
        let Some(text) = self.render(context.secrets) else {
            return Err(Failure::new(
                Code::SecretMissing,
                format!("a secret for `{}` was not received", self.path),
                "run `casement apply` again, and check where the spec reads the secret from",
            ));
        };
        match file::file_facts(context.platform, &self.path)? {
            FileFacts::InTheWay => return Err(in_the_way(&self.path, "a regular file")),
            FileFacts::Absent => create_parents(context.platform, &self.path)?,
            FileFacts::Present { access, .. } => require_trust(
                &self.path,
                Self::ACCESS,
                access.owner_trusted,
                &access.descriptor,
            )?,
        }
        let form = WriteOptions {
            access: Self::ACCESS,
            executable: false,
        };
        let bytes = text.expose().as_bytes();
        context.platform.write(&self.path, &mut &*bytes, form)?;
        let note = self.note(Sha256::of(bytes));
        let json = serde_json::to_vec(&note).unwrap_or_default();
        write_durably(&context.layout.secret_note(&self.path), &json)
    }

    fn undo(&self, context: &KindContext<'_>, prior: &Prior) -> Result<()> {
        let Prior::File { missing, saved } = prior else {
            return Err(wrong_prior("a file with secrets", prior));
        };
        file::restore(context, &self.path, saved.as_ref())?;
        delete(&context.layout.secret_note(&self.path))?;
        remove_created_parents(context, missing, &self.path)
    }
}

/// The recorded hash; an unreadable record counts as none.
fn note(layout: &Layout, path: &HostPath) -> Result<Option<SecretFileRecord>> {
    let bytes = read(&layout.secret_note(path))?;
    Ok(bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()))
}
