//! Checks, from inside a Windows host, what the lab's `iphlpapi.dll` and
//! `pdh.dll` add to Wine: one line `ok NAME` or `FAIL NAME: why` per check,
//! and status 1 if one failed.
//!
//! Expects the adapters `Ethernet` (198.18.5.2/24) and `vEthernet (Ethernet)`,
//! and leaves the route to 10.99.0.0/24 behind, so that its caller can see it
//! from outside.

#[cfg(windows)]
#[path = "../gapcheck/adapters.rs"]
mod adapters;
#[cfg(windows)]
#[path = "../gapcheck/counters.rs"]
mod counters;

/// What is wrong.
#[cfg(windows)]
type Check = Result<(), String>;

/// A check under its name.
#[cfg(windows)]
type Named = (&'static str, fn() -> Check);

#[cfg(windows)]
fn main() -> std::process::ExitCode {
    let checks: [Named; 6] = [
        ("names of adapters", adapters::names),
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
            Err(why) => {
                println!("FAIL {name}: {why}");
                status = std::process::ExitCode::FAILURE;
            }
        }
    }
    status
}

/// Fails with what was found unless it is what was expected.
#[cfg(windows)]
fn expect<T: PartialEq + std::fmt::Debug>(what: &str, found: T, expected: T) -> Check {
    if found == expected {
        return Ok(());
    }
    Err(format!("{what} is {found:?}, not {expected:?}"))
}

#[cfg(not(windows))]
fn main() {
    eprintln!("gapcheck runs on the lab's Windows hosts");
}
