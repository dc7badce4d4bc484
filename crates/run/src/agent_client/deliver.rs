//! Delivers missing blobs: the host pulls what the mirror has, the rest is sent from here.

use std::collections::BTreeSet;
use std::path::Path;

use casement_remote::{Reconnect, RemoteError, TransferProgress};
use casement_resource::wire::{Pull, ToAgent, ToController};
use casement_resource::{Code, Failure, Sha256};

use super::AgentClient;
use crate::blob_source::{BlobProgress, Blobs, contained_blobs, pulls};
use crate::error::RunError;

type OnProgress<'a> = dyn Fn(BlobProgress<'_>) + Sync + 'a;

/// In bytes.
#[derive(Default)]
pub(super) struct Transferred {
    done: u64,
    size: u64,
    pub(super) pulled: u64,
    pub(super) sent: u64,
}

impl AgentClient {
    /// Returns the blobs that the host has afterwards.
    pub(super) async fn pull_from_mirror(
        &mut self,
        missing: &[Sha256],
        blobs: &Blobs,
        transferred: &mut Transferred,
        on_progress: &OnProgress<'_>,
    ) -> Result<BTreeSet<Sha256>, RunError> {
        let pulls = pulls(missing, blobs);
        transferred.size = pulls.iter().map(|it| it.pull.download.size).sum();
        let mut pulled_blobs = BTreeSet::new();
        for (index, mirrored) in pulls.iter().enumerate() {
            let progress = |bytes| {
                let (done, size) = (transferred.done + bytes, transferred.size);
                let pulled = true;
                on_progress(BlobProgress::Progress { done, size, pulled });
            };
            let result = self.pull(&mirrored.pull, &progress).await?;
            let Err(failure) = result else {
                transferred.done += mirrored.pull.download.size;
                transferred.pulled += mirrored.pull.download.size;
                pulled_blobs.extend(contained_blobs(&mirrored.pull));
                continue;
            };
            // An unreachable mirror fails for the other downloads too, possibly after a long
            // timeout each.
            let last = match failure.code {
                Code::MirrorUnreachable => pulls.len(),
                _ => index + 1,
            };
            let failed = pulls.get(index..last).unwrap_or_default();
            transferred.size -= failed.iter().map(|it| it.pull.download.size).sum::<u64>();
            let names: Vec<&str> = failed.iter().map(|it| it.name.as_str()).collect();
            let (names, failure) = (names.as_slice(), &failure);
            on_progress(BlobProgress::PullFailed { names, failure });
            if last == pulls.len() {
                break;
            }
        }
        Ok(pulled_blobs)
    }

    /// The inner error is the host's, which does not end the run.
    async fn pull(
        &mut self,
        pull: &Pull,
        on_bytes: &(dyn Fn(u64) + Sync),
    ) -> Result<Result<(), Failure>, RunError> {
        let request = ToAgent::Pull(pull.clone());
        let (mut drops, reconnect) = (0, Reconnect::default());
        loop {
            let result = self.try_pull(&request, on_bytes).await;
            if let Some(result) = self.unless_dropped(result, &mut drops, reconnect).await? {
                return Ok(result);
            }
        }
    }

    async fn try_pull(
        &mut self,
        request: &ToAgent,
        on_bytes: &(dyn Fn(u64) + Sync),
    ) -> Result<Result<(), Failure>, RunError> {
        self.send(request).await?;
        loop {
            match self.receive().await? {
                ToController::Pulling { bytes } => on_bytes(bytes),
                ToController::Pulled => return Ok(Ok(())),
                ToController::Failed(failure) => return Ok(Err(failure)),
                // The end of an earlier, canceled run.
                ToController::Event(_) => {}
                other => return Err(self.unexpected(other)),
            }
        }
    }

    pub(super) async fn send_files(
        &mut self,
        files: &[(Sha256, &Path)],
        transferred: &mut Transferred,
        on_progress: &OnProgress<'_>,
    ) -> Result<(), RunError> {
        // An unreadable file is reported when it is sent.
        let size = |path: &Path| path.metadata().map_or(0, |file| file.len());
        transferred.size += files.iter().map(|(_, path)| size(path)).sum::<u64>();
        for (hash, path) in files {
            let progress = |done| {
                let (done, size) = (transferred.done + done, transferred.size);
                let pulled = false;
                on_progress(BlobProgress::Progress { done, size, pulled });
            };
            let (mut drops, reconnect) = (0, Reconnect::default());
            let sent = loop {
                let sent = self.send_file(path, hash, &progress).await;
                let sent = sent.map_err(RunError::from);
                if let Some(sent) = self.unless_dropped(sent, &mut drops, reconnect).await? {
                    break sent;
                }
            };
            transferred.done += size(path);
            transferred.sent += sent;
        }
        Ok(())
    }

    async fn send_file(
        &self,
        from: &Path,
        hash: &Sha256,
        on_bytes: &(dyn Fn(u64) + Sync),
    ) -> Result<u64, RemoteError> {
        let progress = |progress: TransferProgress| on_bytes(progress.done);
        let files = [(from, *hash)];
        self.session.send_blobs(&self.home, &files, progress).await
    }
}
