//! Bytes to and from an open file, with many requests on the way at once.

use std::sync::Arc;

use futures_util::StreamExt as _;
use futures_util::stream::{FuturesOrdered, FuturesUnordered};
use russh_sftp::client::error::Error as SftpError;
use russh_sftp::protocol::{FileAttributes, OpenFlags, StatusCode};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

use super::{IN_FLIGHT, Sftp, mode};
use crate::error::RemoteError;
use crate::places::RemotePath;

/// Why a transfer stopped: over there, or here.
pub(super) enum TransferError {
    There(SftpError),
    Here(std::io::Error),
}

impl Sftp {
    /// Writes all of `source` from `offset` on. Requests leave in order, and
    /// servers serve them in order, so that after a break the file is a prefix.
    pub(super) async fn write_all(
        &self,
        handle: &str,
        mut offset: u64,
        mut source: impl AsyncRead + Unpin,
        mut sent: impl FnMut(u64, &[u8]),
    ) -> Result<u64, TransferError> {
        let most = (IN_FLIGHT / self.write_size).max(1);
        let mut under_way = FuturesUnordered::new();
        loop {
            let piece = read_piece(&mut source, self.write_size).await;
            let piece = piece.map_err(TransferError::Here)?;
            if piece.is_empty() {
                break;
            }
            let at = offset;
            offset += piece.len() as u64;
            sent(offset, &piece);
            let raw = Arc::clone(&self.raw);
            let handle = handle.to_owned();
            under_way.push(async move { raw.write(handle, at, piece).await });
            while under_way.len() >= most {
                if let Some(done) = under_way.next().await {
                    done.map_err(TransferError::There)?;
                }
            }
        }
        while let Some(done) = under_way.next().await {
            done.map_err(TransferError::There)?;
        }
        Ok(offset)
    }

    /// Hands `length` bytes of an open file on, in order; fewer if it is shorter.
    pub(super) async fn read_all(
        &self,
        handle: &str,
        length: u64,
        mut taken: impl FnMut(&[u8]),
    ) -> Result<(), SftpError> {
        let most = (IN_FLIGHT / self.read_size).max(1);
        let mut under_way = FuturesOrdered::new();
        let mut asked = 0;
        loop {
            while asked < length && under_way.len() < most {
                let size = (length - asked).min(self.read_size as u64);
                under_way.push_back(self.read_piece(handle.to_owned(), asked, size));
                asked += size;
            }
            let Some(piece) = under_way.next().await else {
                return Ok(());
            };
            taken(&piece?);
        }
    }

    /// A server may give less than was asked for: the rest is asked for again.
    async fn read_piece(
        &self,
        handle: String,
        start: u64,
        size: u64,
    ) -> Result<Vec<u8>, SftpError> {
        let mut piece = Vec::new();
        loop {
            let at = piece.len() as u64;
            if at >= size {
                return Ok(piece);
            }
            let left = u32::try_from(size - at).unwrap_or(u32::MAX);
            match self.raw.read(handle.clone(), start + at, left).await {
                Ok(data) if data.data.is_empty() => return Ok(piece),
                Ok(data) => piece.extend_from_slice(&data.data),
                Err(SftpError::Status(status)) if status.status_code == StatusCode::Eof => {
                    return Ok(piece);
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Reads a whole file into memory.
    pub async fn read(&self, path: &RemotePath) -> Result<Vec<u8>, RemoteError> {
        let mut content = Vec::new();
        self.read_into(path, |piece| content.extend_from_slice(piece))
            .await?;
        Ok(content)
    }

    /// What a file holds from a place on.
    pub async fn read_from(&self, path: &RemotePath, start: u64) -> Result<Vec<u8>, RemoteError> {
        let attributes = FileAttributes::empty();
        let handle = self.open(path, OpenFlags::READ, attributes, "read").await?;
        let mut content = Vec::new();
        let read = loop {
            let at = start + content.len() as u64;
            match self
                .read_piece(handle.clone(), at, self.read_size as u64)
                .await
            {
                Ok(piece) if piece.is_empty() => break Ok(()),
                Ok(piece) => content.extend_from_slice(&piece),
                Err(error) => break Err(error),
            }
        };
        let closed = self.raw.close(handle).await;
        read.map_err(|error| self.failed("read", path, error))?;
        closed.map_err(|error| self.failed("read", path, error))?;
        Ok(content)
    }

    /// Copies a file from the host, to any place that takes bytes.
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
        written.await.map_err(|source| RemoteError::LocalFile {
            action: "write a copy of",
            path: path.native().into(),
            source,
        })?;
        Ok(content.len() as u64)
    }

    /// Writes a small file in place, for the owner only where modes are known.
    pub async fn write(&self, path: &RemotePath, content: &[u8]) -> Result<(), RemoteError> {
        let flags = OpenFlags::CREATE | OpenFlags::WRITE | OpenFlags::TRUNCATE;
        let handle = self.open(path, flags, mode(0o600), "write").await?;
        let written = self.write_all(&handle, 0, content, |_, _| {}).await;
        let closed = self.raw.close(handle).await;
        match written {
            Err(TransferError::There(error)) => Err(self.failed("write", path, error)),
            Err(TransferError::Here(source)) => Err(RemoteError::LocalFile {
                action: "read the content for",
                path: path.native().into(),
                source,
            }),
            Ok(_) => match closed {
                Ok(_) => Ok(()),
                Err(error) => Err(self.failed("write", path, error)),
            },
        }
    }

    pub(super) async fn read_into(
        &self,
        path: &RemotePath,
        taken: impl FnMut(&[u8]),
    ) -> Result<(), RemoteError> {
        let attributes = FileAttributes::empty();
        let handle = self.open(path, OpenFlags::READ, attributes, "read").await?;
        let length = match self.raw.fstat(handle.clone()).await {
            Ok(found) => found.attrs.size.unwrap_or(0),
            Err(error) => return Err(self.failed("read", path, error)),
        };
        let read = self.read_all(&handle, length, taken).await;
        let closed = self.raw.close(handle).await;
        read.map_err(|error| self.failed("read", path, error))?;
        closed.map_err(|error| self.failed("read", path, error))?;
        Ok(())
    }
}

/// As much as fits one request; less only at the end.
async fn read_piece(
    source: &mut (impl AsyncRead + Unpin),
    size: usize,
) -> std::io::Result<Vec<u8>> {
    let mut piece = Vec::with_capacity(size);
    let mut limited = source.take(size as u64);
    limited.read_to_end(&mut piece).await?;
    Ok(piece)
}
