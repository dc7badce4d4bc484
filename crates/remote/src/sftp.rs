//! Files on a host over SFTP.

use std::sync::Arc;

use russh_sftp::client::error::Error as SftpError;
use russh_sftp::client::rawsession::Limits;
use russh_sftp::client::{Config, RawSftpSession};
use russh_sftp::protocol::{FileAttributes, OpenFlags, StatusCode};
use tokio::io::{AsyncRead, AsyncWrite};

use crate::error::{AgentError, ConnectionError, FileError, HostLabel, RemoteError};
use crate::paths::RemotePath;

mod agent;
mod blob;
mod transfer;

pub use blob::TransferProgress;

/// Accepted by every server in one request.
const SAFE_REQUEST_SIZE: usize = 32 * 1024;
/// Larger requests are not faster.
const MAX_REQUEST_SIZE: usize = 255 * 1024;
/// Unacknowledged bytes per host. Each is buffered several times, which with a hundred
/// hosts is most of the controller's memory; OpenSSH accepts two megabytes before it
/// blocks.
const MAX_IN_FLIGHT: usize = 1024 * 1024;
/// Per request: a server with a busy disk may be slow.
const REQUEST_TIMEOUT_SECONDS: u64 = 60;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileStat {
    /// In bytes.
    pub size: u64,
    pub is_dir: bool,
}

pub struct Sftp {
    raw: Arc<RawSftpSession>,
    host: HostLabel,
    read_size: usize,
    write_size: usize,
    can_sync: bool,
}

impl Sftp {
    pub(crate) async fn start<S>(stream: S, host: HostLabel) -> Result<Self, RemoteError>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let config = Config {
            max_packet_len: 1024 * 1024,
            request_timeout_secs: REQUEST_TIMEOUT_SECONDS,
            ..Config::default()
        };
        let mut raw = RawSftpSession::new_with_config(stream, config);
        let start_error = |error: SftpError| match error {
            SftpError::Timeout => RemoteError::Connection(ConnectionError::Lost {
                host: host.clone(),
                step: "starting SFTP",
                source: Some(Box::new(error)),
            }),
            _ => RemoteError::Agent(AgentError::StartRefused {
                host: host.clone(),
                what: "SFTP".to_owned(),
            }),
        };
        let version = raw.init().await.map_err(start_error)?;
        let supports = |name: &str| version.extensions.contains_key(name);
        let (mut read_size, mut write_size) = (SAFE_REQUEST_SIZE, SAFE_REQUEST_SIZE);
        if supports("limits@openssh.com") {
            let limits = Limits::from(raw.limits().await.map_err(start_error)?);
            read_size = clamp(limits.read_len);
            write_size = clamp(limits.write_len);
            raw.set_limits(limits);
        }
        Ok(Self {
            can_sync: supports("fsync@openssh.com"),
            raw: Arc::new(raw),
            host,
            read_size,
            write_size,
        })
    }

    pub async fn stat(&self, path: &RemotePath) -> Result<Option<FileStat>, RemoteError> {
        match self.raw.stat(path.sftp()).await {
            Ok(found) => Ok(Some(FileStat {
                size: found.attrs.size.unwrap_or(0),
                is_dir: found.attrs.is_dir(),
            })),
            Err(error) if is_missing(&error) => Ok(None),
            Err(error) => Err(self.failed("inspect", path, error)),
        }
    }

    /// The sorted names in a directory; empty if it does not exist.
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

    /// Creates a directory and its parents, for the owner only where the system has
    /// modes.
    pub async fn create_dirs(&self, path: &RemotePath) -> Result<(), RemoteError> {
        let mut missing = Vec::new();
        let mut next = Some(path.clone());
        while let Some(dir) = next {
            match self.stat(&dir).await? {
                Some(found) if found.is_dir => break,
                Some(_) => {
                    return Err(RemoteError::File(FileError::Remote {
                        host: self.host.clone(),
                        action: "create the directory",
                        path: dir.native(),
                        reason: "a file with this name exists".to_owned(),
                    }));
                }
                None => {}
            }
            next = dir.parent();
            missing.push(dir);
        }
        for dir in missing.into_iter().rev() {
            let created = self.raw.mkdir(dir.sftp(), mode(0o700)).await;
            let Err(error) = created else { continue };
            // Another run may have created it.
            if !self.stat(&dir).await?.is_some_and(|found| found.is_dir) {
                return Err(self.failed("create the directory", &dir, error));
            }
        }
        Ok(())
    }

    /// A missing file is not an error.
    pub async fn remove(&self, path: &RemotePath) -> Result<(), RemoteError> {
        match self.raw.remove(path.sftp()).await {
            Ok(_) => Ok(()),
            Err(error) if is_missing(&error) => Ok(()),
            Err(error) => Err(self.failed("remove", path, error)),
        }
    }

    /// Removes a directory if it is empty; returns whether it is gone.
    pub async fn remove_empty_dir(&self, path: &RemotePath) -> Result<bool, RemoteError> {
        match self.raw.rmdir(path.sftp()).await {
            Ok(_) => Ok(true),
            Err(error) if is_missing(&error) => Ok(true),
            // SFTP has no status code for "not empty".
            Err(russh_sftp::client::error::Error::Status(_)) => Ok(false),
            Err(error) => Err(self.failed("remove the directory", path, error)),
        }
    }

    /// The new name must not exist.
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
            SftpError::Status(status) => RemoteError::File(FileError::Remote {
                host: self.host.clone(),
                action,
                path: path.native(),
                reason: match status.error_message.is_empty() {
                    true => status.status_code.to_string().to_lowercase(),
                    false => status.error_message.to_lowercase(),
                },
            }),
            other => RemoteError::Connection(ConnectionError::Lost {
                host: self.host.clone(),
                step: "copying files",
                source: Some(Box::new(other)),
            }),
        }
    }
}

fn clamp(limit: Option<u64>) -> usize {
    let limit = limit.and_then(|limit| usize::try_from(limit).ok());
    limit.map_or(SAFE_REQUEST_SIZE, |limit| limit.clamp(1, MAX_REQUEST_SIZE))
}

fn is_missing(error: &SftpError) -> bool {
    matches!(error, SftpError::Status(status) if status.status_code == StatusCode::NoSuchFile)
}

/// Attributes with permissions only.
pub(crate) fn mode(permissions: u32) -> FileAttributes {
    FileAttributes {
        permissions: Some(permissions),
        ..FileAttributes::empty()
    }
}
