//! Checks, on a Windows host, what the lab's `iphlpapi.dll` and `pdh.dll` add to
//! Wine. Prints `ok NAME` or `FAIL NAME: reason` per check; the exit code is 1 if
//! a check failed.
//!
//! Expects the adapters `Ethernet` (198.18.5.2/24) and `vEthernet (Ethernet)`.
//! Leaves the route to 10.99.0.0/24, so that the caller can check it from Linux.

#[cfg(windows)]
#[path = "../gapcheck/adapters.rs"]
mod adapters;
#[cfg(windows)]
#[path = "../gapcheck/counters.rs"]
mod counters;

#[cfg(windows)]
type Check = Result<(), String>;

#[cfg(windows)]
type NamedCheck = (&'static str, fn() -> Check);

#[cfg(windows)]
fn main() -> std::process::ExitCode {
    let checks: [NamedCheck; 6] = [
        ("adapter names", adapters::names),
        ("routes", adapters::routes),
        ("interface settings", adapters::settings),
        ("addresses", adapters::addresses),
        ("performance counters", counters::plausible),
        ("unknown counter", counters::unknown),
    ];
    let mut status = std::process::ExitCode::SUCCESS;
    for (name, check) in checks {
        match check() {
            Ok(()) => println!("ok {name}"),
            Err(reason) => {
                println!("FAIL {name}: {reason}");
                status = std::process::ExitCode::FAILURE;
            }
        }
    }
    status
}

#[cfg(windows)]
fn expect<T: PartialEq + std::fmt::Debug>(what: &str, actual: T, expected: T) -> Check {
    if actual == expected {
        return Ok(());
    }
    Err(format!("{what} is {actual:?}, expected {expected:?}"))
}

#[cfg(not(windows))]
fn main() {
    eprintln!("gapcheck: this program runs only on Windows");
}
