//! Reads and writes an open file with many requests in flight.

use std::sync::Arc;

use futures_util::StreamExt as _;
use futures_util::stream::{FuturesOrdered, FuturesUnordered};
use russh_sftp::client::error::Error as SftpError;
use russh_sftp::protocol::{FileAttributes, OpenFlags, StatusCode};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

use super::{MAX_IN_FLIGHT, Sftp, mode};
use crate::error::{FileError, RemoteError};
use crate::paths::RemotePath;

pub(super) enum TransferError {
    Remote(SftpError),
    Local(std::io::Error),
}

impl Sftp {
    /// Writes all of `source` starting at `offset`. Requests are sent and served in
    /// order, so that an interrupted transfer leaves a prefix of the file.
    pub(super) async fn write_all(
        &self,
        handle: &str,
        mut offset: u64,
        mut source: impl AsyncRead + Unpin,
        mut on_sent: impl FnMut(u64, &[u8]),
    ) -> Result<u64, TransferError> {
        let max_requests = (MAX_IN_FLIGHT / self.write_size).max(1);
        let mut in_flight = FuturesUnordered::new();
        loop {
            let chunk = read_chunk(&mut source, self.write_size).await;
            let chunk = chunk.map_err(TransferError::Local)?;
            if chunk.is_empty() {
                break;
            }
            let at = offset;
            offset += chunk.len() as u64;
            on_sent(offset, &chunk);
            let raw = Arc::clone(&self.raw);
            let handle = handle.to_owned();
            in_flight.push(async move { raw.write(handle, at, chunk).await });
            while in_flight.len() >= max_requests {
                if let Some(done) = in_flight.next().await {
                    done.map_err(TransferError::Remote)?;
                }
            }
        }
        while let Some(done) = in_flight.next().await {
            done.map_err(TransferError::Remote)?;
        }
        Ok(offset)
    }

    /// Passes `length` bytes of an open file to `on_data`, in order; fewer if it is
    /// shorter.
    pub(super) async fn read_all(
        &self,
        handle: &str,
        length: u64,
        mut on_data: impl FnMut(&[u8]),
    ) -> Result<(), SftpError> {
        let max_requests = (MAX_IN_FLIGHT / self.read_size).max(1);
        let mut in_flight = FuturesOrdered::new();
        let mut requested = 0;
        loop {
            while requested < length && in_flight.len() < max_requests {
                let size = (length - requested).min(self.read_size as u64);
                in_flight.push_back(self.read_chunk(handle.to_owned(), requested, size));
                requested += size;
            }
            let Some(chunk) = in_flight.next().await else {
                return Ok(());
            };
            on_data(&chunk?);
        }
    }

    /// A server may return less than requested: the rest is requested again.
    async fn read_chunk(
        &self,
        handle: String,
        start: u64,
        size: u64,
    ) -> Result<Vec<u8>, SftpError> {
        let mut chunk = Vec::new();
        loop {
            let at = chunk.len() as u64;
            if at >= size {
                return Ok(chunk);
            }
            let remaining = u32::try_from(size - at).unwrap_or(u32::MAX);
            match self.raw.read(handle.clone(), start + at, remaining).await {
                Ok(data) if data.data.is_empty() => return Ok(chunk),
                Ok(data) => chunk.extend_from_slice(&data.data),
                Err(SftpError::Status(status)) if status.status_code == StatusCode::Eof => {
                    return Ok(chunk);
                }
                Err(error) => return Err(error),
            }
        }
    }

    pub async fn read(&self, path: &RemotePath) -> Result<Vec<u8>, RemoteError> {
        let mut content = Vec::new();
        self.read_into(path, |chunk| content.extend_from_slice(chunk))
            .await?;
        Ok(content)
    }

    /// The content of a file from `offset` on.
    pub async fn read_from(&self, path: &RemotePath, start: u64) -> Result<Vec<u8>, RemoteError> {
        let attributes = FileAttributes::empty();
        let handle = self.open(path, OpenFlags::READ, attributes, "read").await?;
        let mut content = Vec::new();
        let read = loop {
            let at = start + content.len() as u64;
            match self
                .read_chunk(handle.clone(), at, self.read_size as u64)
                .await
            {
                Ok(chunk) if chunk.is_empty() => break Ok(()),
                Ok(chunk) => content.extend_from_slice(&chunk),
                Err(error) => break Err(error),
            }
        };
        let closed = self.raw.close(handle).await;
        read.map_err(|error| self.failed("read", path, error))?;
        closed.map_err(|error| self.failed("read", path, error))?;
        Ok(content)
    }

    pub async fn download(
        &self,
        path: &RemotePath,
        mut to: impl AsyncWrite + Unpin,
    ) -> Result<u64, RemoteError> {
        let content = self.read(path).await?;
        let written = async {
            to.write_all(&content).await?;
            to.flush().await
        };
        written.await.map_err(|source| {
            RemoteError::File(FileError::Local {
                action: "write a copy of",
                path: path.native().into(),
                source,
            })
        })?;
        Ok(content.len() as u64)
    }

    /// Writes a small file in place, for the owner only where the system has modes.
    pub async fn write(&self, path: &RemotePath, content: &[u8]) -> Result<(), RemoteError> {
        let flags = OpenFlags::CREATE | OpenFlags::WRITE | OpenFlags::TRUNCATE;
        let handle = self.open(path, flags, mode(0o600), "write").await?;
        let written = self.write_all(&handle, 0, content, |_, _| {}).await;
        let closed = self.raw.close(handle).await;
        match written {
            Err(TransferError::Remote(error)) => Err(self.failed("write", path, error)),
            Err(TransferError::Local(source)) => Err(RemoteError::File(FileError::Local {
                action: "read the content for",
                path: path.native().into(),
                source,
            })),
            Ok(_) => match closed {
                Ok(_) => Ok(()),
                Err(error) => Err(self.failed("write", path, error)),
            },
        }
    }

    pub(super) async fn read_into(
        &self,
        path: &RemotePath,
        on_data: impl FnMut(&[u8]),
    ) -> Result<(), RemoteError> {
        let attributes = FileAttributes::empty();
        let handle = self.open(path, OpenFlags::READ, attributes, "read").await?;
        let length = match self.raw.fstat(handle.clone()).await {
            Ok(found) => found.attrs.size.unwrap_or(0),
            Err(error) => return Err(self.failed("read", path, error)),
        };
        let read = self.read_all(&handle, length, on_data).await;
        let closed = self.raw.close(handle).await;
        read.map_err(|error| self.failed("read", path, error))?;
        closed.map_err(|error| self.failed("read", path, error))?;
        Ok(())
    }
}

/// A full chunk; less only at the end.
async fn read_chunk(
    source: &mut (impl AsyncRead + Unpin),
    size: usize,
) -> std::io::Result<Vec<u8>> {
    let mut chunk = Vec::with_capacity(size);
    let mut limited = source.take(size as u64);
    limited.read_to_end(&mut chunk).await?;
    Ok(chunk)
}
