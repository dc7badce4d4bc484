//! The SFTP server of the fake host: a local folder is its root.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;
use std::sync::Arc;

use russh_sftp::protocol::{Attrs, Data, FileAttributes, Handle, OpenFlags, Status, StatusCode};
use russh_sftp::server::Handler;

use crate::fake_server::{Shared, count_written};

pub struct FakeSftp {
    shared: Arc<Shared>,
    open: HashMap<String, File>,
    next: u64,
}

impl FakeSftp {
    pub fn new(shared: Arc<Shared>) -> Self {
        Self {
            shared,
            open: HashMap::new(),
            next: 0,
        }
    }

    fn local_path(&self, path: &str) -> PathBuf {
        self.shared.root.join(path.trim_start_matches('/'))
    }

    fn file(&self, handle: &str) -> Result<&File, StatusCode> {
        self.open.get(handle).ok_or(StatusCode::Failure)
    }
}

fn code(error: io::Error) -> StatusCode {
    match error.kind() {
        io::ErrorKind::NotFound => StatusCode::NoSuchFile,
        io::ErrorKind::PermissionDenied => StatusCode::PermissionDenied,
        _ => StatusCode::Failure,
    }
}

fn ok(id: u32) -> Status {
    Status {
        id,
        status_code: StatusCode::Ok,
        error_message: String::new(),
        language_tag: String::new(),
    }
}

impl Handler for FakeSftp {
    type Error = StatusCode;

    fn unimplemented(&self) -> StatusCode {
        StatusCode::OpUnsupported
    }

    async fn open(
        &mut self,
        id: u32,
        path: String,
        flags: OpenFlags,
        _: FileAttributes,
    ) -> Result<Handle, StatusCode> {
        let file = OpenOptions::from(flags).open(self.local_path(&path));
        self.next += 1;
        let handle = self.next.to_string();
        self.open.insert(handle.clone(), file.map_err(code)?);
        Ok(Handle { id, handle })
    }

    async fn close(&mut self, id: u32, handle: String) -> Result<Status, StatusCode> {
        self.open.remove(&handle);
        Ok(ok(id))
    }

    /// Returns less than requested, as servers may.
    async fn read(
        &mut self,
        id: u32,
        handle: String,
        offset: u64,
        length: u32,
    ) -> Result<Data, StatusCode> {
        let mut data = vec![0; (length as usize).min(20_000)];
        let count = self.file(&handle)?.read_at(&mut data, offset);
        data.truncate(count.map_err(code)?);
        match data.is_empty() {
            true => Err(StatusCode::Eof),
            false => Ok(Data { id, data }),
        }
    }

    async fn write(
        &mut self,
        id: u32,
        handle: String,
        offset: u64,
        data: Vec<u8>,
    ) -> Result<Status, StatusCode> {
        let written = self.file(&handle)?.write_all_at(&data, offset);
        written.map_err(code)?;
        count_written(&self.shared, data.len());
        Ok(ok(id))
    }

    async fn stat(&mut self, id: u32, path: String) -> Result<Attrs, StatusCode> {
        let meta = std::fs::metadata(self.local_path(&path)).map_err(code)?;
        Ok(Attrs {
            id,
            attrs: FileAttributes::from(&meta),
        })
    }

    async fn fstat(&mut self, id: u32, handle: String) -> Result<Attrs, StatusCode> {
        let meta = self.file(&handle)?.metadata().map_err(code)?;
        Ok(Attrs {
            id,
            attrs: FileAttributes::from(&meta),
        })
    }

    async fn mkdir(
        &mut self,
        id: u32,
        path: String,
        _: FileAttributes,
    ) -> Result<Status, StatusCode> {
        std::fs::create_dir(self.local_path(&path)).map_err(code)?;
        Ok(ok(id))
    }

    async fn remove(&mut self, id: u32, path: String) -> Result<Status, StatusCode> {
        std::fs::remove_file(self.local_path(&path)).map_err(code)?;
        Ok(ok(id))
    }

    async fn rename(&mut self, id: u32, from: String, to: String) -> Result<Status, StatusCode> {
        if self.local_path(&to).exists() {
            return Err(StatusCode::Failure);
        }
        std::fs::rename(self.local_path(&from), self.local_path(&to)).map_err(code)?;
        Ok(ok(id))
    }
}
