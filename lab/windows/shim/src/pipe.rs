//! Connects to named pipes of Go programs under Wine.
//!
//! go-winio, which containerd uses, keeps one instance of a pipe only to reserve
//! the name, and creates another for each client. On Windows, clients cannot
//! connect to the first (it was opened without access); in Wine 8 the first
//! client can, and never gets a response. So each pipe is opened twice, and the
//! second connection is used.

use std::io;
use std::thread;
use std::time::{Duration, Instant};

/// Time limit for containerd to create an instance.
const TIMEOUT: Duration = Duration::from_secs(2);

/// Connects to an instance that is served. If there is no second instance, the
/// first connection is good: another client took the unserved one before.
pub fn open<T>(name: &str, open: impl Fn(&str) -> io::Result<T>) -> io::Result<T> {
    let first = open_with_retry(|| open(name))?;
    match open_with_retry(|| open(name)) {
        Ok(second) => Ok(second),
        Err(error) if is_busy(&error) => Ok(first),
        Err(error) => Err(error),
    }
}

/// Retries while all instances are busy, until the timeout.
fn open_with_retry<T>(open: impl Fn() -> io::Result<T>) -> io::Result<T> {
    let deadline = Instant::now() + TIMEOUT;
    loop {
        match open() {
            Err(error) if is_busy(&error) && Instant::now() < deadline => {
                thread::sleep(Duration::from_millis(5));
            }
            other => return other,
        }
    }
}

fn is_busy(error: &io::Error) -> bool {
    const ERROR_PIPE_BUSY: i32 = 231;
    error.raw_os_error() == Some(ERROR_PIPE_BUSY)
}
