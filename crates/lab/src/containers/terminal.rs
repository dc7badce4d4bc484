//! The console of a container process: a pseudo terminal.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;

use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

/// The default size of a Windows console.
const COLUMNS: u16 = 120;
const ROWS: u16 = 30;

/// The controlling end of a pseudo terminal.
#[derive(Debug)]
pub(super) struct Terminal(File);

impl Terminal {
    /// Returns the terminal and the end for the process.
    pub(super) fn open() -> io::Result<(Self, File)> {
        let controller = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
        grantpt(&controller)?;
        unlockpt(&controller)?;
        let name = ptsname(&controller, Vec::new())?;
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        let process_end: OwnedFd = rustix::fs::open(name, flags, Mode::empty())?;
        let terminal = Self(controller.into());
        terminal.resize(COLUMNS, ROWS)?;
        Ok((terminal, process_end.into()))
    }

    /// Sets the window size that the process sees.
    pub(super) fn resize(&self, columns: u16, rows: u16) -> io::Result<()> {
        let size = Winsize {
            ws_row: rows,
            ws_col: columns,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        Ok(tcsetwinsize(&self.0, size)?)
    }

    /// Another handle for reading output or writing input.
    pub(super) fn handle(&self) -> io::Result<File> {
        self.0.try_clone()
    }
}
