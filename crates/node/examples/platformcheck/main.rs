//! Calls every function of the Windows platform on a real or emulated Windows host.
//! Prints one line per check, `ok NAME` or `FAILED NAME: REASON`; the exit code is 1
//! if a check failed.
//!
//! It must be named `casement-node.exe` on the host, because it is also the program
//! of the services that it creates. It leaves a few objects behind for comparison
//! with `reg`, `sc` and `dir`; `clean` removes them. At the end it prints which
//! functions were called by which check, and which fake DLLs of the lab were
//! involved. `first` runs the HNS checks where `computenetwork.dll` cannot be
//! loaded.
//!
//! ```text
//! casement-node.exe check ADDRESS [GATEWAY]
//! casement-node.exe first ADDRESS
//! casement-node.exe clean
//! ```

use std::process::ExitCode;

#[cfg(windows)]
mod checks;
#[cfg(windows)]
#[path = "../../tests/shared/mirror.rs"]
#[allow(
    clippy::unwrap_used,
    reason = "a panic in a check is a failure with its location"
)]
mod mirror;
#[cfg(windows)]
#[path = "../../tests/shared/recorder.rs"]
#[allow(dead_code, reason = "tests on Linux use the rest")]
mod recorder;

// The recorder wraps `crate::platform` here and in the unit tests of the library.
#[cfg(windows)]
use casement_node::platform;

#[cfg(windows)]
fn main() -> ExitCode {
    checks::main()
}

#[cfg(not(windows))]
fn main() -> ExitCode {
    eprintln!("platformcheck runs on Windows hosts only");
    ExitCode::from(2)
}
