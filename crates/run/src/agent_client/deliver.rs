//! Bringing what a host lacks: it fetches what the mirror has, and is sent the rest.

use std::collections::BTreeSet;
use std::path::Path;

use casement_remote::{Progress, Reconnect, RemoteError, Transport as _};
use casement_resource::wire::{Pull, ToAgent, ToController};
use casement_resource::{Code, Failure, Sha256};

use super::Link;
use crate::error::RunError;
use crate::source::{Blobs, Bringing, brought_by, pulls};

/// Whoever hears how it goes on.
type Tell<'a> = dyn Fn(Bringing<'_>) + Sync + 'a;

/// How much is there, of how much.
#[derive(Default)]
struct Tally {
    done: u64,
    size: u64,
    pulled: u64,
    sent: u64,
}

impl Link {
    /// Brings the blobs that the host lacks. After a cut it goes on where it was.
    pub async fn bring(
        &mut self,
        missing: &[Sha256],
        blobs: &Blobs,
        tell: &Tell<'_>,
    ) -> Result<(), RunError> {
        let mut left = Vec::new();
        for hash in missing {
            let unknown = || RunError::NoBlob {
                host: self.name().to_owned(),
                sha256: hash.to_string(),
            };
            let source = blobs.get(hash).ok_or_else(unknown)?;
            left.push((*hash, source.path.as_path()));
        }
        if left.is_empty() {
            return Ok(());
        }
        let mut tally = Tally::default();
        let pulled = self.fetch(missing, blobs, &mut tally, tell).await?;
        left.retain(|(hash, _)| !pulled.contains(hash));
        self.send(&left, &mut tally, tell).await?;
        let Tally { pulled, sent, .. } = tally;
        tell(Bringing::Brought { pulled, sent });
        Ok(())
    }

    /// Has the host fetch what the mirror has; says what is there then.
    async fn fetch(
        &mut self,
        missing: &[Sha256],
        blobs: &Blobs,
        tally: &mut Tally,
        tell: &Tell<'_>,
    ) -> Result<BTreeSet<Sha256>, RunError> {
        let pulls = pulls(missing, blobs);
        tally.size = pulls.iter().map(|it| it.pull.download.size).sum();
        let mut there = BTreeSet::new();
        for (at, mirrored) in pulls.iter().enumerate() {
            let progress = |bytes| {
                let (done, size) = (tally.done + bytes, tally.size);
                let pulled = true;
                tell(Bringing::Progress { done, size, pulled });
            };
            let ended = self.pull(&mirrored.pull, &progress).await?;
            let Err(why) = ended else {
                tally.done += mirrored.pull.download.size;
                tally.pulled += mirrored.pull.download.size;
                there.extend(brought_by(&mirrored.pull));
                continue;
            };
            // No mirror is none for the rest as well, and may take long to find out.
            let last = match why.code {
                Code::NoMirror => pulls.len(),
                _ => at + 1,
            };
            let sent = pulls.get(at..last).unwrap_or_default();
            tally.size -= sent.iter().map(|it| it.pull.download.size).sum::<u64>();
            let names: Vec<&str> = sent.iter().map(|it| it.name.as_str()).collect();
            let (names, why) = (names.as_slice(), &why);
            tell(Bringing::NotPulled { names, why });
            if last == pulls.len() {
                break;
            }
        }
        Ok(there)
    }

    /// Has the host fetch one download; or why it could not.
    async fn pull(
        &mut self,
        pull: &Pull,
        tell: &(dyn Fn(u64) + Sync),
    ) -> Result<Result<(), Failure>, RunError> {
        let ask = ToAgent::Pull(pull.clone());
        let (mut cuts, patience) = (0, Reconnect::default());
        loop {
            let ended = self.pull_uncut(&ask, tell).await;
            if let Some(ended) = self.unless_cut(ended, &mut cuts, patience).await? {
                return Ok(ended);
            }
        }
    }

    async fn pull_uncut(
        &mut self,
        ask: &ToAgent,
        tell: &(dyn Fn(u64) + Sync),
    ) -> Result<Result<(), Failure>, RunError> {
        self.say(ask).await?;
        loop {
            match self.hear().await? {
                ToController::Pulling { bytes } => tell(bytes),
                ToController::Pulled => return Ok(Ok(())),
                ToController::Failed(failure) => return Ok(Err(failure)),
                // The end of a run that was stopped before.
                ToController::Event(_) => {}
                other => return Err(self.unexpected(other)),
            }
        }
    }

    /// Sends files from here.
    async fn send(
        &mut self,
        files: &[(Sha256, &Path)],
        tally: &mut Tally,
        tell: &Tell<'_>,
    ) -> Result<(), RunError> {
        // One that cannot be read is told when its turn comes.
        let size = |path: &Path| path.metadata().map_or(0, |file| file.len());
        tally.size += files.iter().map(|(_, path)| size(path)).sum::<u64>();
        for (hash, path) in files {
            let progress = |done| {
                let (done, size) = (tally.done + done, tally.size);
                let pulled = false;
                tell(Bringing::Progress { done, size, pulled });
            };
            let (mut cuts, patience) = (0, Reconnect::default());
            let sent = loop {
                let sent = self.send_one(path, hash, &progress).await;
                let sent = sent.map_err(RunError::from);
                if let Some(sent) = self.unless_cut(sent, &mut cuts, patience).await? {
                    break sent;
                }
            };
            tally.done += size(path);
            tally.sent += sent;
        }
        Ok(())
    }

    async fn send_one(
        &self,
        from: &Path,
        hash: &Sha256,
        tell: &(dyn Fn(u64) + Sync),
    ) -> Result<u64, RemoteError> {
        let progress = |progress: Progress| tell(progress.done);
        let files = [(from, *hash)];
        self.session.bring(&self.home, &files, progress).await
    }
}
