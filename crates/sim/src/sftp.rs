//! `casement lab sftp`: SFTP in front of a Wine prefix, with the paths that
//! Windows' own OpenSSH shows (`/C:/Users/…`).
//!
//! sshd starts one per session and talks to it over its standard streams.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use russh_sftp::protocol::{
    Attrs, Data, FileAttributes, Handle, Name, OpenFlags, Packet, Status, StatusCode, Version,
};
use russh_sftp::server::Handler;
use tokio::sync::oneshot;

mod paths;

use paths::Paths;

/// OpenSSH's extension for a rename that replaces the destination atomically.
const POSIX_RENAME: &str = "posix-rename@openssh.com";
/// Largest response to one READ.
const MAX_READ_BYTES: u32 = 256 * 1024 - 1024;

/// Serves one session on stdin and stdout.
pub fn serve(drive_c: &Path, home: &str) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let (end_sender, ended) = oneshot::channel();
        let session = Session {
            _ended: Some(end_sender),
            ..windows(drive_c, home)
        };
        let streams = tokio::io::join(tokio::io::stdin(), tokio::io::stdout());
        russh_sftp::server::run(streams, session).await;
        // The session, and the sender with it, is dropped when the client disconnects.
        let _ = ended.await;
    });
    // A thread may still be blocked reading stdin.
    runtime.shutdown_background();
    Ok(())
}

/// A session on a Windows host whose drive `C:` is at `drive_c`; `home` in display form.
pub fn windows(drive_c: &Path, home: &str) -> Session {
    Session::new(Paths::windows(drive_c, home))
}

/// A session on a Linux host whose files are below `root`.
pub fn linux(root: &Path, home: &str) -> Session {
    Session::new(Paths::linux(root, home))
}

pub struct Session {
    paths: Paths,
    open: HashMap<String, Open>,
    next: u64,
    _ended: Option<oneshot::Sender<()>>,
}

enum Open {
    File(File),
    Directory(Vec<russh_sftp::protocol::File>),
}

impl Session {
    fn new(paths: Paths) -> Self {
        Self {
            paths,
            open: HashMap::new(),
            next: 0,
            _ended: None,
        }
    }

    fn register(&mut self, id: u32, open: Open) -> Handle {
        self.next += 1;
        let handle = self.next.to_string();
        self.open.insert(handle.clone(), open);
        Handle { id, handle }
    }

    fn file(&self, handle: &str) -> Result<&File, StatusCode> {
        match self.open.get(handle) {
            Some(Open::File(file)) => Ok(file),
            _ => Err(StatusCode::Failure),
        }
    }

    fn attributes(&self, id: u32, path: &str) -> Result<Attrs, StatusCode> {
        let attrs = if self.paths.is_root(path) {
            FileAttributes::from(&fs::metadata("/").map_err(status_code)?)
        } else {
            FileAttributes::from(&fs::metadata(self.paths.existing(path)?).map_err(status_code)?)
        };
        Ok(Attrs { id, attrs })
    }

    fn rename(&self, from: &str, to: &str) -> Result<(), StatusCode> {
        let to = self.paths.new_or_existing(to)?;
        fs::rename(self.paths.existing(from)?, to).map_err(status_code)
    }
}

/// Maps an I/O error to an SFTP status.
fn status_code(error: io::Error) -> StatusCode {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => StatusCode::NoSuchFile,
        io::ErrorKind::PermissionDenied => StatusCode::PermissionDenied,
        _ => StatusCode::Failure,
    }
}

fn ok_status(id: u32) -> Status {
    Status {
        id,
        status_code: StatusCode::Ok,
        error_message: "Ok".to_owned(),
        language_tag: "en-US".to_owned(),
    }
}

/// Sets size and times; owners and modes mean nothing on Windows.
fn set_attributes(file: &File, attrs: &FileAttributes) -> Result<(), StatusCode> {
    if let Some(size) = attrs.size {
        file.set_len(size).map_err(status_code)?;
    }
    if let Some(seconds) = attrs.mtime {
        let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(seconds.into());
        file.set_modified(time).map_err(status_code)?;
    }
    Ok(())
}

impl Handler for Session {
    type Error = StatusCode;

    fn unimplemented(&self) -> StatusCode {
        StatusCode::OpUnsupported
    }

    async fn init(&mut self, _: u32, _: HashMap<String, String>) -> Result<Version, StatusCode> {
        let mut version = Version::new();
        version
            .extensions
            .insert(POSIX_RENAME.to_owned(), "1".to_owned());
        Ok(version)
    }

    async fn open(
        &mut self,
        id: u32,
        path: String,
        flags: OpenFlags,
        _: FileAttributes,
    ) -> Result<Handle, StatusCode> {
        let path = if flags.contains(OpenFlags::CREATE) {
            self.paths.new_or_existing(&path)?
        } else {
            self.paths.existing(&path)?
        };
        let file = OpenOptions::from(flags).open(path).map_err(status_code)?;
        Ok(self.register(id, Open::File(file)))
    }

    async fn close(&mut self, id: u32, handle: String) -> Result<Status, StatusCode> {
        let removed = self.open.remove(&handle);
        removed.map(|_| ok_status(id)).ok_or(StatusCode::Failure)
    }

    async fn read(
        &mut self,
        id: u32,
        handle: String,
        offset: u64,
        len: u32,
    ) -> Result<Data, StatusCode> {
        let mut data = vec![0; len.min(MAX_READ_BYTES) as usize];
        let count = self
            .file(&handle)?
            .read_at(&mut data, offset)
            .map_err(status_code)?;
        if count == 0 {
            return Err(StatusCode::Eof);
        }
        data.truncate(count);
        Ok(Data { id, data })
    }

    async fn write(
        &mut self,
        id: u32,
        handle: String,
        offset: u64,
        data: Vec<u8>,
    ) -> Result<Status, StatusCode> {
        let file = self.file(&handle)?;
        file.write_all_at(&data, offset).map_err(status_code)?;
        Ok(ok_status(id))
    }

    async fn lstat(&mut self, id: u32, path: String) -> Result<Attrs, StatusCode> {
        self.attributes(id, &path)
    }

    async fn stat(&mut self, id: u32, path: String) -> Result<Attrs, StatusCode> {
        self.attributes(id, &path)
    }

    async fn fstat(&mut self, id: u32, handle: String) -> Result<Attrs, StatusCode> {
        let metadata = self.file(&handle)?.metadata().map_err(status_code)?;
        let attrs = FileAttributes::from(&metadata);
        Ok(Attrs { id, attrs })
    }

    async fn setstat(
        &mut self,
        id: u32,
        path: String,
        attrs: FileAttributes,
    ) -> Result<Status, StatusCode> {
        let path = self.paths.existing(&path)?;
        if path.is_file() {
            let file = OpenOptions::new()
                .write(true)
                .open(path)
                .map_err(status_code)?;
            set_attributes(&file, &attrs)?;
        }
        Ok(ok_status(id))
    }

    async fn fsetstat(
        &mut self,
        id: u32,
        handle: String,
        attrs: FileAttributes,
    ) -> Result<Status, StatusCode> {
        set_attributes(self.file(&handle)?, &attrs)?;
        Ok(ok_status(id))
    }

    async fn opendir(&mut self, id: u32, path: String) -> Result<Handle, StatusCode> {
        let files = self.paths.list(&path)?;
        Ok(self.register(id, Open::Directory(files)))
    }

    async fn readdir(&mut self, id: u32, handle: String) -> Result<Name, StatusCode> {
        match self.open.get_mut(&handle) {
            Some(Open::Directory(files)) if files.is_empty() => Err(StatusCode::Eof),
            Some(Open::Directory(files)) => {
                // A packet cannot hold the names of a large directory such as system32.
                let rest = files.split_off(files.len().min(200));
                let files = std::mem::replace(files, rest);
                Ok(Name { id, files })
            }
            _ => Err(StatusCode::Failure),
        }
    }

    async fn remove(&mut self, id: u32, path: String) -> Result<Status, StatusCode> {
        fs::remove_file(self.paths.existing(&path)?).map_err(status_code)?;
        Ok(ok_status(id))
    }

    async fn mkdir(
        &mut self,
        id: u32,
        path: String,
        _: FileAttributes,
    ) -> Result<Status, StatusCode> {
        fs::create_dir(self.paths.new_or_existing(&path)?).map_err(status_code)?;
        Ok(ok_status(id))
    }

    async fn rmdir(&mut self, id: u32, path: String) -> Result<Status, StatusCode> {
        fs::remove_dir(self.paths.existing(&path)?).map_err(status_code)?;
        Ok(ok_status(id))
    }

    async fn realpath(&mut self, id: u32, path: String) -> Result<Name, StatusCode> {
        let file = russh_sftp::protocol::File::dummy(self.paths.display(&path)?);
        Ok(Name {
            id,
            files: vec![file],
        })
    }

    async fn rename(&mut self, id: u32, from: String, to: String) -> Result<Status, StatusCode> {
        if self.paths.existing(&to).is_ok() {
            return Err(StatusCode::Failure);
        }
        Session::rename(self, &from, &to)?;
        Ok(ok_status(id))
    }

    async fn extended(
        &mut self,
        id: u32,
        request: String,
        data: Vec<u8>,
    ) -> Result<Packet, StatusCode> {
        if request != POSIX_RENAME {
            return Err(StatusCode::OpUnsupported);
        }
        let (from, rest) = read_string(&data).ok_or(StatusCode::BadMessage)?;
        let (to, _) = read_string(rest).ok_or(StatusCode::BadMessage)?;
        Session::rename(self, from, to)?;
        Ok(Packet::Status(ok_status(id)))
    }
}

/// Reads an SFTP string: four bytes of length, then the bytes.
fn read_string(bytes: &[u8]) -> Option<(&str, &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<4>()?;
    let length = usize::try_from(u32::from_be_bytes(*length)).ok()?;
    let (text, rest) = rest.split_at_checked(length)?;
    Some((std::str::from_utf8(text).ok()?, rest))
}
