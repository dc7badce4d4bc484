//! The checks, one file for each concern.
#![allow(
    clippy::unwrap_used,
    reason = "a check that panics has failed, and says where"
)]

use std::fmt::Debug;
use std::process::ExitCode;
use std::time::{Duration, Instant};
use std::{env, thread};

use casement_node::platform::Platform;
use casement_node::state::Layout;
use casement_node::system;
use casement_resource::Failure;

mod features;
mod files;
mod firewall;
mod hosting;
mod identity;
mod network;
mod registry;
mod services;

/// What a check comes to.
pub type Outcome = Result<(), String>;

/// A check with its name.
pub type Check = (&'static str, fn(&Host) -> Outcome);

/// Everything that a check may use.
pub struct Host {
    pub platform: Box<dyn Platform>,
    pub layout: Layout,
    /// The host's address.
    pub address: String,
}

pub fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let layout = Layout::new(system::default_state_dir());
    match words.as_slice() {
        ["--state-dir", root, "host", name] => end(system::host(&Layout::new(root.into()), name)),
        ["--state-dir", root, "serve"] => end(system::serve(&Layout::new(root.into()))),
        ["child", rest @ ..] => hosting::child(rest),
        ["check", address] => check(&Host {
            platform: system::platform(&layout),
            address: (*address).to_owned(),
            layout,
        }),
        ["clean"] => end(clean(&Host {
            platform: system::platform(&layout),
            address: String::new(),
            layout,
        })),
        _ => {
            eprintln!("usage: casement-node.exe check ADDRESS | clean");
            ExitCode::from(2)
        }
    }
}

fn end(outcome: Result<(), Failure>) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("{failure}: {failure:?}");
            ExitCode::FAILURE
        }
    }
}

fn check(host: &Host) -> ExitCode {
    let mut failed = false;
    let all = [
        files::CHECKS,
        registry::CHECKS,
        firewall::CHECKS,
        features::CHECKS,
        services::CHECKS,
        identity::CHECKS,
        hosting::CHECKS,
        network::CHECKS,
    ];
    for (name, check) in all.concat() {
        match check(host) {
            Ok(()) => println!("ok {name}"),
            Err(reason) => {
                println!("FAILED {name}: {reason}");
                failed = true;
            }
        }
    }
    ExitCode::from(u8::from(failed))
}

fn clean(host: &Host) -> Result<(), Failure> {
    services::clean(host)?;
    firewall::clean(host)?;
    registry::clean(host)
}

/// A platform's answer, or why there is none.
pub fn did<T>(answer: Result<T, Failure>) -> Result<T, String> {
    answer.map_err(|failure| format!("{failure} {:?}", failure.found))
}

/// Two values that should be equal.
pub fn equal<T: PartialEq + Debug>(found: T, wanted: T) -> Outcome {
    if found == wanted {
        Ok(())
    } else {
        Err(format!("found {found:?}, wanted {wanted:?}"))
    }
}

/// Something that should be so.
pub fn so(condition: bool, what: &str) -> Outcome {
    if condition {
        Ok(())
    } else {
        Err(what.to_owned())
    }
}

/// Something that will be so in a while.
pub fn eventually(what: &str, mut is_so: impl FnMut() -> bool) -> Outcome {
    let begun = Instant::now();
    while !is_so() {
        if begun.elapsed() > Duration::from_secs(20) {
            return Err(format!("not so after 20 s: {what}"));
        }
        thread::sleep(Duration::from_millis(50));
    }
    Ok(())
}
