//! `casement lab sftp`: SFTP in front of a Wine prefix, with the paths that
//! Windows' own OpenSSH shows (`/C:/Users/…`).
//!
//! sshd starts one per session and speaks over its standard streams.

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

/// What is renamed atomically over what is there; OpenSSH's own extension.
const POSIX_RENAME: &str = "posix-rename@openssh.com";
/// The most that one READ is answered with.
const MOST: u32 = 256 * 1024 - 1024;

/// Serves one session on standard input and output.
pub fn serve(drive_c: &Path, home: &str) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let (ended, end) = oneshot::channel();
        let session = Session {
            _ended: Some(ended),
            ..windows(drive_c, home)
        };
        let streams = tokio::io::join(tokio::io::stdin(), tokio::io::stdout());
        russh_sftp::server::run(streams, session).await;
        // The session is dropped, and the sender with it, when the client is gone.
        let _ = end.await;
    });
    // A read of standard input may still be under way in a thread of its own.
    runtime.shutdown_background();
    Ok(())
}

/// The files of a Windows host whose drive `C:` is here; `home` in shown form.
pub fn windows(drive_c: &Path, home: &str) -> Session {
    Session::new(Paths::new(drive_c, home))
}

/// The files of a Linux host whose root is here.
pub fn linux(root: &Path, home: &str) -> Session {
    Session::new(Paths::rooted(root, home))
}

/// One session.
pub struct Session {
    paths: Paths,
    open: HashMap<String, Open>,
    next: u64,
    _ended: Option<oneshot::Sender<()>>,
}

enum Open {
    File(File),
    Folder(Vec<russh_sftp::protocol::File>),
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

    fn keep(&mut self, id: u32, open: Open) -> Handle {
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
            FileAttributes::from(&fs::metadata("/").map_err(code)?)
        } else {
            FileAttributes::from(&fs::metadata(self.paths.existing(path)?).map_err(code)?)
        };
        Ok(Attrs { id, attrs })
    }

    fn rename(&self, from: &str, to: &str) -> Result<(), StatusCode> {
        let to = self.paths.new_or_existing(to)?;
        fs::rename(self.paths.existing(from)?, to).map_err(code)
    }
}

/// The protocol's code for an error of the file system.
fn code(error: io::Error) -> StatusCode {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => StatusCode::NoSuchFile,
        io::ErrorKind::PermissionDenied => StatusCode::PermissionDenied,
        _ => StatusCode::Failure,
    }
}

fn done(id: u32) -> Status {
    Status {
        id,
        status_code: StatusCode::Ok,
        error_message: "Ok".to_owned(),
        language_tag: "en-US".to_owned(),
    }
}

/// Size and times; owners and modes mean nothing on Windows.
fn set(file: &File, attrs: &FileAttributes) -> Result<(), StatusCode> {
    if let Some(size) = attrs.size {
        file.set_len(size).map_err(code)?;
    }
    if let Some(seconds) = attrs.mtime {
        let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(seconds.into());
        file.set_modified(time).map_err(code)?;
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
        let file = OpenOptions::from(flags).open(path).map_err(code)?;
        Ok(self.keep(id, Open::File(file)))
    }

    async fn close(&mut self, id: u32, handle: String) -> Result<Status, StatusCode> {
        let known = self.open.remove(&handle);
        known.map(|_| done(id)).ok_or(StatusCode::Failure)
    }

    async fn read(
        &mut self,
        id: u32,
        handle: String,
        offset: u64,
        len: u32,
    ) -> Result<Data, StatusCode> {
        let mut data = vec![0; len.min(MOST) as usize];
        let count = self
            .file(&handle)?
            .read_at(&mut data, offset)
            .map_err(code)?;
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
        file.write_all_at(&data, offset).map_err(code)?;
        Ok(done(id))
    }

    async fn lstat(&mut self, id: u32, path: String) -> Result<Attrs, StatusCode> {
        self.attributes(id, &path)
    }

    async fn stat(&mut self, id: u32, path: String) -> Result<Attrs, StatusCode> {
        self.attributes(id, &path)
    }

    async fn fstat(&mut self, id: u32, handle: String) -> Result<Attrs, StatusCode> {
        let metadata = self.file(&handle)?.metadata().map_err(code)?;
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
            let file = OpenOptions::new().write(true).open(path).map_err(code)?;
            set(&file, &attrs)?;
        }
        Ok(done(id))
    }

    async fn fsetstat(
        &mut self,
        id: u32,
        handle: String,
        attrs: FileAttributes,
    ) -> Result<Status, StatusCode> {
        set(self.file(&handle)?, &attrs)?;
        Ok(done(id))
    }

    async fn opendir(&mut self, id: u32, path: String) -> Result<Handle, StatusCode> {
        let files = self.paths.list(&path)?;
        Ok(self.keep(id, Open::Folder(files)))
    }

    async fn readdir(&mut self, id: u32, handle: String) -> Result<Name, StatusCode> {
        match self.open.get_mut(&handle) {
            Some(Open::Folder(files)) if files.is_empty() => Err(StatusCode::Eof),
            Some(Open::Folder(files)) => {
                // A packet has room for so many names and not for a whole system32.
                let rest = files.split_off(files.len().min(200));
                let files = std::mem::replace(files, rest);
                Ok(Name { id, files })
            }
            _ => Err(StatusCode::Failure),
        }
    }

    async fn remove(&mut self, id: u32, path: String) -> Result<Status, StatusCode> {
        fs::remove_file(self.paths.existing(&path)?).map_err(code)?;
        Ok(done(id))
    }

    async fn mkdir(
        &mut self,
        id: u32,
        path: String,
        _: FileAttributes,
    ) -> Result<Status, StatusCode> {
        fs::create_dir(self.paths.new_or_existing(&path)?).map_err(code)?;
        Ok(done(id))
    }

    async fn rmdir(&mut self, id: u32, path: String) -> Result<Status, StatusCode> {
        fs::remove_dir(self.paths.existing(&path)?).map_err(code)?;
        Ok(done(id))
    }

    async fn realpath(&mut self, id: u32, path: String) -> Result<Name, StatusCode> {
        let file = russh_sftp::protocol::File::dummy(self.paths.shown(&path)?);
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
        Ok(done(id))
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
        let (from, rest) = text(&data).ok_or(StatusCode::BadMessage)?;
        let (to, _) = text(rest).ok_or(StatusCode::BadMessage)?;
        Session::rename(self, from, to)?;
        Ok(Packet::Status(done(id)))
    }
}

/// A string of the protocol: its length in four bytes, then itself.
fn text(bytes: &[u8]) -> Option<(&str, &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<4>()?;
    let length = usize::try_from(u32::from_be_bytes(*length)).ok()?;
    let (text, rest) = rest.split_at_checked(length)?;
    Some((std::str::from_utf8(text).ok()?, rest))
}
