//! The socket of the service `casement` in the state directory, for root only; both
//! sides check their peer.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use casement_resource::{Code, Failure};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::system_failure;
use super::system_root::SystemRoot;
use crate::platform::Result;
use crate::service_client::{Duplex, Listener, ServiceClient};
use crate::state::{Layout, delete, write_durably};

const UNIT: &str = "/etc/systemd/system/casement.service";

/// How long a started service may take to listen.
const START_TIMEOUT: Duration = Duration::from_secs(15);

fn socket(layout: &Layout) -> PathBuf {
    layout.root().join("casement.socket")
}

pub(super) struct SocketClient {
    layout: Layout,
}

impl SocketClient {
    pub(super) fn new(layout: Layout) -> Self {
        Self { layout }
    }

    fn start(&self) -> Result<()> {
        let failure = |error| system_failure("failed to start the service `casement`", &error);
        let program = std::env::current_exe().map_err(failure)?;
        let system = SystemRoot::default();
        if system.has_systemd() {
            let root = self.layout.root().display();
            let unit = format!(
                "# Written by casement.\n[Unit]\nDescription=casement\n\n[Service]\n\
                 ExecStart=\"{}\" --state-dir \"{root}\" serve\nRestart=on-failure\n\n\
                 [Install]\nWantedBy=multi-user.target\n",
                program.display()
            );
            write_durably(UNIT.as_ref(), unit.as_bytes())?;
            system.systemctl(&["daemon-reload"])?;
            return system
                .systemctl(&["enable", "--now", "casement.service"])
                .map(drop);
        }
        // It detaches itself from this session at once.
        Command::new(program)
            .arg("--state-dir")
            .arg(self.layout.root())
            .args(["serve", "--detach"])
            .current_dir("/")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map(drop)
            .map_err(failure)
    }
}

impl ServiceClient for SocketClient {
    fn connect(&self) -> Result<Duplex> {
        let path = socket(&self.layout);
        let mut started = None;
        loop {
            match UnixStream::connect(&path) {
                Ok(stream) => return duplex(stream),
                Err(error) if started.is_none_or(|at: Instant| at.elapsed() < START_TIMEOUT) => {
                    let _: io::Error = error;
                    if started.is_none() {
                        self.start()?;
                        started = Some(Instant::now());
                    }
                    thread::sleep(Duration::from_millis(20));
                }
                Err(error) => {
                    return Err(Failure::new(
                        Code::ServiceUnreachable,
                        format!(
                            "the service `casement` does not respond at `{}`",
                            path.display()
                        ),
                        "run `casement-node serve` on the host to see why it fails",
                    )
                    .found(error.to_string()));
                }
            }
        }
    }

    fn retire(&self) -> Result<()> {
        let system = SystemRoot::default();
        if system.has_systemd() && fs::exists(UNIT).unwrap_or(false) {
            system.systemctl(&["disable", "--now", "casement.service"])?;
            delete(UNIT.as_ref())?;
            system.systemctl(&["daemon-reload"])?;
        }
        Ok(())
    }
}

/// The peer must be root, or the same user where neither is root (tests).
fn duplex(stream: UnixStream) -> Result<Duplex> {
    let failure =
        |error: io::Error| system_failure("the socket of `casement` cannot be used", &error);
    let peer =
        rustix::net::sockopt::socket_peercred(&stream).map_err(|error| failure(error.into()))?;
    if !peer.uid.is_root() && peer.uid != rustix::process::geteuid() {
        return Err(Failure::new(
            Code::Untrusted,
            "the peer of casement's socket is not root",
            "find out which process created the socket in the state directory",
        )
        .values("user 0", format!("user {}", peer.uid.as_raw())));
    }
    Ok(Duplex {
        reader: Box::new(stream.try_clone().map_err(failure)?),
        writer: Box::new(CloseOnDrop(stream)),
    })
}

/// Closes both directions when the writer is dropped, so that a thread that reads the
/// other half reaches its end.
struct CloseOnDrop(UnixStream);

impl io::Write for CloseOnDrop {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl Drop for CloseOnDrop {
    fn drop(&mut self) {
        let _ = self.0.shutdown(std::net::Shutdown::Both);
    }
}

/// Does not remove the socket file: it may belong to the next service by then, and a
/// stale one refuses connections.
pub(super) struct SocketListener {
    listener: UnixListener,
    quit: Arc<AtomicBool>,
    _lock: File,
}

/// Listens until `quit` is set; `None` if another process already serves.
pub(super) fn listen(layout: &Layout, quit: Arc<AtomicBool>) -> Result<Option<SocketListener>> {
    let path = socket(layout);
    let failure =
        |error: io::Error| system_failure(format!("failed to open `{}`", path.display()), &error);
    let lock = layout.root().join("serve.lock");
    let lock = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .open(lock)
        .map_err(failure)?;
    match lock.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Ok(None),
        Err(TryLockError::Error(error)) => return Err(failure(error)),
    }
    delete(&path)?;
    let listener = UnixListener::bind(&path).map_err(failure)?;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).map_err(failure)?;
    listener.set_nonblocking(true).map_err(failure)?;
    Ok(Some(SocketListener {
        listener,
        quit,
        _lock: lock,
    }))
}

impl Listener for SocketListener {
    fn accept(&mut self) -> Result<Option<Duplex>> {
        const POLL_INTERVAL: Timespec = Timespec {
            tv_sec: 0,
            tv_nsec: 200_000_000,
        };
        while !self.quit.load(Ordering::SeqCst) {
            let mut interest = [PollFd::new(&self.listener, PollFlags::IN)];
            let _ = poll(&mut interest, Some(&POLL_INTERVAL));
            match self.listener.accept() {
                Ok((stream, _)) => {
                    let usable = stream.set_nonblocking(false).is_ok();
                    if usable && let Ok(duplex) = duplex(stream) {
                        return Ok(Some(duplex));
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(system_failure("casement's socket failed", &error)),
            }
        }
        Ok(None)
    }
}
