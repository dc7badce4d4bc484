//! Named pipes of Go programs, as Wine has them.
//!
//! go-winio, which containerd uses, holds one instance of a pipe only to own
//! the name, and makes another for each client that it accepts. Windows keeps
//! clients away from the first (it was opened without access); Wine 8 lets the
//! first client in, where nobody will ever answer. So each pipe is opened
//! twice, and the second connection is the one that counts.

use std::io;
use std::thread;
use std::time::{Duration, Instant};

/// How long containerd may take to make an instance for us.
const PATIENCE: Duration = Duration::from_secs(2);

/// Connects with `open` to where somebody answers. Where no second instance
/// comes, the first was a good one: somebody else had been there before us.
pub fn open<T>(name: &str, open: impl Fn(&str) -> io::Result<T>) -> io::Result<T> {
    let first = patiently(|| open(name))?;
    match patiently(|| open(name)) {
        Ok(second) => Ok(second),
        Err(error) if busy(&error) => Ok(first),
        Err(error) => Err(error),
    }
}

/// Tries until an instance is free, or no longer.
fn patiently<T>(open: impl Fn() -> io::Result<T>) -> io::Result<T> {
    let end = Instant::now() + PATIENCE;
    loop {
        match open() {
            Err(error) if busy(&error) && Instant::now() < end => {
                thread::sleep(Duration::from_millis(5));
            }
            other => return other,
        }
    }
}

fn busy(error: &io::Error) -> bool {
    const ERROR_PIPE_BUSY: i32 = 231;
    error.raw_os_error() == Some(ERROR_PIPE_BUSY)
}
