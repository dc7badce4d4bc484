//! The console of a container: a pseudo terminal, which Wine takes as one.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;

use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

/// The size of a Windows console that nobody has changed.
const COLUMNS: u16 = 120;
const ROWS: u16 = 30;

/// Our end of a console.
#[derive(Debug)]
pub(super) struct Terminal(File);

impl Terminal {
    /// A new console, and the end for the process.
    pub(super) fn open() -> io::Result<(Self, File)> {
        let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
        grantpt(&ours)?;
        unlockpt(&ours)?;
        let name = ptsname(&ours, Vec::new())?;
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        let theirs: OwnedFd = rustix::fs::open(name, flags, Mode::empty())?;
        let terminal = Self(ours.into());
        terminal.resize(COLUMNS, ROWS)?;
        Ok((terminal, theirs.into()))
    }

    /// Tells the process that its window has another size.
    pub(super) fn resize(&self, columns: u16, rows: u16) -> io::Result<()> {
        let size = Winsize {
            ws_row: rows,
            ws_col: columns,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        Ok(tcsetwinsize(&self.0, size)?)
    }

    /// Another handle, to read what the process shows or write what it reads.
    pub(super) fn handle(&self) -> io::Result<File> {
        self.0.try_clone()
    }
}
