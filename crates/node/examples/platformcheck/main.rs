//! Calls every function of the Windows platform on a Windows host, real or
//! emulated, and says what came of each: one line `ok NAME` or `FAILED NAME:
//! REASON`, and an exit code.
//!
//! It has to be called `casement-node.exe` on the host, since it is also the
//! program of the services that it makes. It leaves a few things behind on
//! purpose, for `reg`, `sc` and `dir` to be compared with; `clean` takes those
//! away. In the end it says which functions were called, for which check, and
//! which DLLs of the lab answered. `first` does what there is to do with HNS where
//! `computenetwork.dll` cannot be loaded.
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
    reason = "a check that panics has failed, and says where"
)]
mod mirror;

#[cfg(windows)]
fn main() -> ExitCode {
    checks::main()
}

#[cfg(not(windows))]
fn main() -> ExitCode {
    eprintln!("this program is for Windows hosts");
    ExitCode::from(2)
}
