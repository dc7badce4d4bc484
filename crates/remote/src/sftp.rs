//! Files on a host, by SFTP: a subsystem, with no shell in between.

use std::sync::Arc;

use russh_sftp::client::error::Error as SftpError;
use russh_sftp::client::rawsession::Limits;
use russh_sftp::client::{Config, RawSftpSession};
use russh_sftp::protocol::{FileAttributes, OpenFlags, StatusCode};
use tokio::io::{AsyncRead, AsyncWrite};

use crate::error::{Place, RemoteError};
use crate::places::RemotePath;

mod agent;
mod blob;
mod transfer;

pub use blob::Progress;

/// What every server takes in one request.
const SAFE_SIZE: usize = 32 * 1024;
/// More in one request gains nothing.
const LARGEST_SIZE: usize = 255 * 1024;
/// So many bytes are on the way at once, to each host. Each is held a few times until
/// it is acknowledged, which with a hundred hosts is most of the controller's memory;
/// OpenSSH takes two megabytes at most before it wants to be waited for.
const IN_FLIGHT: usize = 1024 * 1024;
/// A server on a busy disk may take its time with one request.
const PATIENCE_SECONDS: u64 = 60;

/// What a path on the host is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileFacts {
    /// Its length in bytes.
    pub size: u64,
    /// Whether it is a folder.
    pub is_folder: bool,
}

/// An SFTP session.
pub struct Sftp {
    raw: Arc<RawSftpSession>,
    place: Place,
    read_size: usize,
    write_size: usize,
    can_sync: bool,
}

impl Sftp {
    pub(crate) async fn start<S>(stream: S, place: Place) -> Result<Self, RemoteError>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let config = Config {
            max_packet_len: 1024 * 1024,
            request_timeout_secs: PATIENCE_SECONDS,
            ..Config::default()
        };
        let mut raw = RawSftpSession::new_with_config(stream, config);
        let refused = |error: SftpError| match error {
            SftpError::Timeout => RemoteError::Lost {
                place: place.clone(),
                step: "starting SFTP",
                source: Some(Box::new(error)),
            },
            _ => RemoteError::NotStarted {
                place: place.clone(),
                what: "SFTP".to_owned(),
            },
        };
        let version = raw.init().await.map_err(refused)?;
        let offers = |name: &str| version.extensions.contains_key(name);
        let (mut read_size, mut write_size) = (SAFE_SIZE, SAFE_SIZE);
        if offers("limits@openssh.com") {
            let limits = Limits::from(raw.limits().await.map_err(refused)?);
            read_size = clamp(limits.read_len);
            write_size = clamp(limits.write_len);
            raw.set_limits(limits);
        }
        Ok(Self {
            can_sync: offers("fsync@openssh.com"),
            raw: Arc::new(raw),
            place,
            read_size,
            write_size,
        })
    }

    /// What is there, if anything.
    pub async fn stat(&self, path: &RemotePath) -> Result<Option<FileFacts>, RemoteError> {
        match self.raw.stat(path.sftp()).await {
            Ok(found) => Ok(Some(FileFacts {
                size: found.attrs.size.unwrap_or(0),
                is_folder: found.attrs.is_dir(),
            })),
            Err(error) if is_missing(&error) => Ok(None),
            Err(error) => Err(self.failed("look at", path, error)),
        }
    }

    /// The names in a folder, in their order; none if it is not there.
    pub async fn list(&self, path: &RemotePath) -> Result<Vec<String>, RemoteError> {
        let handle = match self.raw.opendir(path.sftp()).await {
            Ok(opened) => opened.handle,
            Err(error) if is_missing(&error) => return Ok(Vec::new()),
            Err(error) => return Err(self.failed("list", path, error)),
        };
        let mut names = Vec::new();
        let read = loop {
            match self.raw.readdir(handle.as_str()).await {
                Ok(found) => names.extend(found.files.into_iter().map(|it| it.filename)),
                Err(SftpError::Status(status)) if status.status_code == StatusCode::Eof => {
                    break Ok(());
                }
                Err(error) => break Err(error),
            }
        };
        let closed = self.raw.close(handle).await;
        read.map_err(|error| self.failed("list", path, error))?;
        closed.map_err(|error| self.failed("list", path, error))?;
        names.retain(|name| name != "." && name != "..");
        names.sort();
        Ok(names)
    }

    /// Makes a folder and those that it is in, for the owner only where the
    /// system knows modes.
    pub async fn make_folders(&self, path: &RemotePath) -> Result<(), RemoteError> {
        let mut missing = Vec::new();
        let mut next = Some(path.clone());
        while let Some(folder) = next {
            match self.stat(&folder).await? {
                Some(found) if found.is_folder => break,
                Some(_) => {
                    return Err(RemoteError::File {
                        place: self.place.clone(),
                        action: "make the folder",
                        path: folder.native(),
                        reason: "a file has that name".to_owned(),
                    });
                }
                None => {}
            }
            next = folder.parent();
            missing.push(folder);
        }
        for folder in missing.into_iter().rev() {
            let made = self.raw.mkdir(folder.sftp(), mode(0o700)).await;
            let Err(error) = made else { continue };
            // Another run may have been faster.
            if !self
                .stat(&folder)
                .await?
                .is_some_and(|found| found.is_folder)
            {
                return Err(self.failed("make the folder", &folder, error));
            }
        }
        Ok(())
    }

    /// Removes a file; one that is not there is fine.
    pub async fn remove(&self, path: &RemotePath) -> Result<(), RemoteError> {
        match self.raw.remove(path.sftp()).await {
            Ok(_) => Ok(()),
            Err(error) if is_missing(&error) => Ok(()),
            Err(error) => Err(self.failed("remove", path, error)),
        }
    }

    /// Removes a folder if it is empty; says whether it is gone now.
    pub async fn remove_empty(&self, path: &RemotePath) -> Result<bool, RemoteError> {
        match self.raw.rmdir(path.sftp()).await {
            Ok(_) => Ok(true),
            Err(error) if is_missing(&error) => Ok(true),
            // The protocol has no word for "not empty".
            Err(russh_sftp::client::error::Error::Status(_)) => Ok(false),
            Err(error) => Err(self.failed("remove the folder", path, error)),
        }
    }

    /// Renames a file; the new name must be free.
    pub async fn rename(&self, from: &RemotePath, to: &RemotePath) -> Result<(), RemoteError> {
        let renamed = self.raw.rename(from.sftp(), to.sftp()).await;
        renamed.map_err(|error| self.failed("rename", from, error))?;
        Ok(())
    }

    pub(crate) async fn open(
        &self,
        path: &RemotePath,
        flags: OpenFlags,
        attributes: FileAttributes,
        action: &'static str,
    ) -> Result<String, RemoteError> {
        let opened = self.raw.open(path.sftp(), flags, attributes).await;
        let opened = opened.map_err(|error| self.failed(action, path, error))?;
        Ok(opened.handle)
    }

    pub(crate) fn failed(
        &self,
        action: &'static str,
        path: &RemotePath,
        error: SftpError,
    ) -> RemoteError {
        match error {
            SftpError::Status(status) => RemoteError::File {
                place: self.place.clone(),
                action,
                path: path.native(),
                reason: match status.error_message.is_empty() {
                    true => status.status_code.to_string().to_lowercase(),
                    false => status.error_message.to_lowercase(),
                },
            },
            other => RemoteError::Lost {
                place: self.place.clone(),
                step: "copying files",
                source: Some(Box::new(other)),
            },
        }
    }
}

fn clamp(limit: Option<u64>) -> usize {
    let limit = limit.and_then(|limit| usize::try_from(limit).ok());
    limit.map_or(SAFE_SIZE, |limit| limit.clamp(1, LARGEST_SIZE))
}

fn is_missing(error: &SftpError) -> bool {
    matches!(error, SftpError::Status(status) if status.status_code == StatusCode::NoSuchFile)
}

/// Attributes that say nothing but who may do what.
pub(crate) fn mode(permissions: u32) -> FileAttributes {
    FileAttributes {
        permissions: Some(permissions),
        ..FileAttributes::empty()
    }
}
