//! The way to the service `casement` on Linux: a socket in the state folder,
//! for root only, with both sides checked.

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

use super::ground::Ground;
use super::system_failure;
use crate::backstage::{Backstage, Duplex, Listener};
use crate::platform::Result;
use crate::state::{Layout, delete, write_durably};

const UNIT: &str = "/etc/systemd/system/casement.service";

/// How long a service may take to answer after it was started.
const PATIENCE: Duration = Duration::from_secs(15);

fn socket(layout: &Layout) -> PathBuf {
    layout.root().join("casement.socket")
}

/// The channel's side.
pub(super) struct Door {
    layout: Layout,
}

impl Door {
    pub(super) fn new(layout: Layout) -> Self {
        Self { layout }
    }

    fn start(&self) -> Result<()> {
        let failure = |error| system_failure("the service `casement` could not be started", &error);
        let program = std::env::current_exe().map_err(failure)?;
        let ground = Ground::default();
        if ground.has_systemd() {
            let root = self.layout.root().display();
            let unit = format!(
                "# Written by casement.\n[Unit]\nDescription=casement\n\n[Service]\n\
                 ExecStart=\"{}\" --state-dir \"{root}\" serve\nRestart=on-failure\n\n\
                 [Install]\nWantedBy=multi-user.target\n",
                program.display()
            );
            write_durably(UNIT.as_ref(), unit.as_bytes())?;
            ground.systemctl(&["daemon-reload"])?;
            return ground
                .systemctl(&["enable", "--now", "casement.service"])
                .map(drop);
        }
        // It leaves this session by itself, before it does anything.
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

impl Backstage for Door {
    fn connect(&self) -> Result<Duplex> {
        let path = socket(&self.layout);
        let mut started = None;
        loop {
            match UnixStream::connect(&path) {
                Ok(stream) => return duplex(stream),
                Err(error) if started.is_none_or(|at: Instant| at.elapsed() < PATIENCE) => {
                    let _: io::Error = error;
                    if started.is_none() {
                        self.start()?;
                        started = Some(Instant::now());
                    }
                    thread::sleep(Duration::from_millis(20));
                }
                Err(error) => {
                    return Err(Failure::new(
                        Code::Backstage,
                        format!(
                            "the service `casement` does not answer at `{}`",
                            path.display()
                        ),
                        "run `casement-node serve` on the host: it says why it ends",
                    )
                    .found(error.to_string()));
                }
            }
        }
    }

    fn retire(&self) -> Result<()> {
        let ground = Ground::default();
        if ground.has_systemd() && fs::exists(UNIT).unwrap_or(false) {
            ground.systemctl(&["disable", "--now", "casement.service"])?;
            delete(UNIT.as_ref())?;
            ground.systemctl(&["daemon-reload"])?;
        }
        Ok(())
    }
}

/// Root only, on either end; where neither is root (tests), the same person.
fn duplex(stream: UnixStream) -> Result<Duplex> {
    let failure = |error: io::Error| system_failure("the socket of `casement` is unusable", &error);
    let peer =
        rustix::net::sockopt::socket_peercred(&stream).map_err(|error| failure(error.into()))?;
    if !peer.uid.is_root() && peer.uid != rustix::process::geteuid() {
        return Err(Failure::new(
            Code::Untrusted,
            "somebody else than root is on the other end of casement's socket",
            "find out who made the socket in the state folder",
        )
        .values("user 0", format!("user {}", peer.uid.as_raw())));
    }
    Ok(Duplex {
        reader: Box::new(stream.try_clone().map_err(failure)?),
        writer: Box::new(Closing(stream)),
    })
}

/// Closes both directions when the writer goes, so that the other half, which
/// another thread may be reading, comes to its end.
struct Closing(UnixStream);

impl io::Write for Closing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl Drop for Closing {
    fn drop(&mut self) {
        let _ = self.0.shutdown(std::net::Shutdown::Both);
    }
}

/// The service's side. The socket's file stays behind: by then it may be that
/// of the next one who serves, and nobody answers at a stale one.
pub(super) struct SocketListener {
    listener: UnixListener,
    quit: Arc<AtomicBool>,
    _alone: File,
}

/// Opens the socket, until `quit`; none if another process serves already.
pub(super) fn listen(layout: &Layout, quit: Arc<AtomicBool>) -> Result<Option<SocketListener>> {
    let path = socket(layout);
    let failure = |error: io::Error| {
        system_failure(format!("`{}` could not be opened", path.display()), &error)
    };
    let alone = layout.root().join("serve.lock");
    let alone = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .open(alone)
        .map_err(failure)?;
    match alone.try_lock() {
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
        _alone: alone,
    }))
}

impl Listener for SocketListener {
    fn accept(&mut self) -> Result<Option<Duplex>> {
        const TICK: Timespec = Timespec {
            tv_sec: 0,
            tv_nsec: 200_000_000,
        };
        while !self.quit.load(Ordering::SeqCst) {
            let mut interest = [PollFd::new(&self.listener, PollFlags::IN)];
            let _ = poll(&mut interest, Some(&TICK));
            match self.listener.accept() {
                Ok((stream, _)) => {
                    let usable = stream.set_nonblocking(false).is_ok();
                    if usable && let Ok(duplex) = duplex(stream) {
                        return Ok(Some(duplex));
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(system_failure("casement's socket broke", &error)),
            }
        }
        Ok(None)
    }
}
