//! Blobs: files that are named by their hash.
//!
//! A blob is written under a temporary name in the same directory and renamed when it is
//! complete. The partial file of an interrupted attempt is read back and hashed, and the
//! copy resumes behind it. Two runs that send the same blob at the same time write the
//! same bytes to the same offsets.

use std::path::Path;

use casement_resource::Sha256;
use russh_sftp::protocol::OpenFlags;
use sha2::Digest as _;
use tokio::fs::File;
use tokio::io::{AsyncReadExt as _, AsyncSeekExt as _};

use super::transfer::TransferError;
use super::{Sftp, mode};
use crate::error::{FileError, RemoteError};
use crate::paths::RemotePath;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TransferProgress {
    /// Bytes written or in flight.
    pub done: u64,
    pub total: u64,
    /// Bytes already copied by an earlier attempt.
    pub resumed: u64,
}

/// A local file to copy.
struct Source<'a> {
    path: &'a Path,
    hash: &'a Sha256,
    total: u64,
}

impl Source<'_> {
    fn failed(&self, source: std::io::Error) -> RemoteError {
        RemoteError::File(FileError::Local {
            action: "read",
            path: self.path.to_owned(),
            source,
        })
    }

    async fn open(&self) -> Result<File, RemoteError> {
        File::open(self.path)
            .await
            .map_err(|error| self.failed(error))
    }

    /// A hasher that has read the first `length` bytes.
    async fn hash_prefix(&self, length: u64) -> Result<sha2::Sha256, RemoteError> {
        let mut file = self.open().await?.take(length);
        let mut hasher = sha2::Sha256::new();
        let mut buffer = vec![0; 256 * 1024];
        loop {
            let count = file.read(&mut buffer).await;
            let count = count.map_err(|error| self.failed(error))?;
            if count == 0 {
                return Ok(hasher);
            }
            hasher.update(buffer.get(..count).unwrap_or_default());
        }
    }
}

impl Sftp {
    /// Copies the file at `from`, whose hash is `hash`, to `to`; the directory must
    /// exist. Returns the number of bytes sent: 0 if the blob was there already.
    pub async fn put_blob(
        &self,
        from: &Path,
        hash: &Sha256,
        to: &RemotePath,
        mut progress: impl FnMut(TransferProgress),
    ) -> Result<u64, RemoteError> {
        let meta = tokio::fs::metadata(from).await;
        let total = meta.map(|meta| meta.len());
        let mut source = Source {
            path: from,
            hash,
            total: 0,
        };
        source.total = total.map_err(|error| source.failed(error))?;
        match self.stat(to).await? {
            Some(found) if found.size == source.total => return Ok(0),
            Some(_) => self.remove(to).await?,
            None => {}
        }
        let sent = self.send_blob(&source, to, &mut progress).await;
        if sent.is_err() {
            // Another run may have sent the same blob meanwhile and renamed the partial
            // file.
            let existing = self.stat(to).await.ok().flatten();
            if existing.is_some_and(|found| found.size == source.total) {
                return Ok(0);
            }
        }
        sent
    }

    async fn send_blob(
        &self,
        source: &Source<'_>,
        to: &RemotePath,
        progress: &mut impl FnMut(TransferProgress),
    ) -> Result<u64, RemoteError> {
        let part = RemotePath::new(&format!("{}.part", to.sftp()));
        let (resumed, hasher) = self.resume_point(source, &part).await?;
        let sent = |done| {
            progress(TransferProgress {
                done,
                total: source.total,
                resumed,
            });
        };
        self.send_rest(source, &part, (resumed, hasher), sent)
            .await?;
        self.finish(source, &part, to).await?;
        Ok(source.total - resumed)
    }

    /// The offset behind the partial file, if that is a prefix of the source.
    async fn resume_point(
        &self,
        source: &Source<'_>,
        part: &RemotePath,
    ) -> Result<(u64, sha2::Sha256), RemoteError> {
        let Some(found) = self.stat(part).await? else {
            return Ok((0, sha2::Sha256::new()));
        };
        if found.size == 0 {
            // Another run may be about to write it.
            return Ok((0, sha2::Sha256::new()));
        }
        if found.size <= source.total {
            let ours = source.hash_prefix(found.size).await?;
            let mut theirs = sha2::Sha256::new();
            self.read_into(part, |piece| theirs.update(piece)).await?;
            if ours.clone().finalize() == theirs.finalize() {
                return Ok((found.size, ours));
            }
        }
        self.remove(part).await?;
        Ok((0, sha2::Sha256::new()))
    }

    async fn send_rest(
        &self,
        source: &Source<'_>,
        part: &RemotePath,
        (start, mut hasher): (u64, sha2::Sha256),
        mut sent: impl FnMut(u64),
    ) -> Result<(), RemoteError> {
        let mut file = source.open().await?;
        let moved = file.seek(std::io::SeekFrom::Start(start)).await;
        moved.map_err(|error| source.failed(error))?;
        // A partial file to resume must still exist: a new one would start with a hole.
        let flags = match start {
            0 => OpenFlags::CREATE | OpenFlags::WRITE,
            _ => OpenFlags::WRITE,
        };
        let handle = self.open(part, flags, mode(0o700), "write").await?;
        let written = self
            .write_all(&handle, start, file, |done, piece| {
                hasher.update(piece);
                sent(done);
            })
            .await;
        let synced = match (&written, self.can_sync) {
            (Ok(_), true) => self.raw.fsync(handle.clone()).await.map(drop),
            _ => Ok(()),
        };
        let closed = self.raw.close(handle).await.map(drop);
        match written {
            Err(TransferError::Remote(error)) => return Err(self.failed("write", part, error)),
            Err(TransferError::Local(error)) => return Err(source.failed(error)),
            Ok(_) => synced.and(closed),
        }
        .map_err(|error| self.failed("write", part, error))?;
        let hash = Sha256::from_bytes(hasher.finalize().into());
        if hash != *source.hash {
            self.remove(part).await?;
            let reason = format!("its hash is `{hash}`, not `{}`", source.hash);
            return Err(source.failed(std::io::Error::other(reason)));
        }
        Ok(())
    }

    async fn finish(
        &self,
        source: &Source<'_>,
        part: &RemotePath,
        to: &RemotePath,
    ) -> Result<(), RemoteError> {
        let existing = self.stat(part).await?.map(|found| found.size);
        if let Some(size) = existing.filter(|size| *size != source.total) {
            self.remove(part).await?;
            return Err(RemoteError::File(FileError::Remote {
                host: self.host.clone(),
                action: "write",
                path: part.native(),
                reason: format!("only {size} of {} bytes were received", source.total),
            }));
        }
        let Err(error) = self.rename(part, to).await else {
            return Ok(());
        };
        // Another run may have renamed the same blob meanwhile.
        match self.stat(to).await? {
            Some(found) if found.size == source.total => self.remove(part).await,
            _ => Err(error),
        }
    }
}
