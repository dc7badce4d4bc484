//! The checks, one file per concern.
#![allow(
    clippy::unwrap_used,
    reason = "a panic in a check is a failure with its location"
)]

use std::fmt::Debug;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{env, thread};

use crate::recorder::{CallRecorder, RecordingPlatform};
use casement_node::platform::Platform;
use casement_node::state::Layout;
use casement_node::system;
use casement_resource::Failure;

mod downloads;
mod fakes;
mod features;
mod files;
mod firewall;
mod identity;
mod network;
mod registry;
mod service_host;
mod services;
mod watcher;

pub type Outcome = Result<(), String>;

pub type Check = (&'static str, fn(&Host) -> Outcome);

pub struct Host {
    pub platform: Box<dyn Platform>,
    pub layout: Layout,
    pub address: String,
    pub recorder: Arc<CallRecorder>,
}

impl Host {
    fn new(layout: Layout, address: &str) -> Self {
        let recorder = Arc::new(CallRecorder::with_fakes(fakes::counts));
        // Lives until the process exits.
        let host = Box::leak(system::platform(&layout));
        Self {
            platform: Box::new(RecordingPlatform::new(host, Arc::clone(&recorder))),
            layout,
            address: address.to_owned(),
            recorder,
        }
    }
}

pub fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let layout = Layout::new(system::default_state_dir());
    match arguments.as_slice() {
        ["--state-dir", root, "host", name] => {
            service_host::await_preshutdown(name);
            exit(system::host(&Layout::new(root.into()), name))
        }
        ["--state-dir", root, "serve"] => exit(system::serve(&Layout::new(root.into()))),
        ["child", rest @ ..] => service_host::child(rest),
        ["check", address] => check(&Host::new(layout, address)),
        ["first", address] => first_generation(&Host::new(layout, address)),
        ["clean"] => exit(clean(&Host::new(layout, ""))),
        _ => {
            eprintln!("usage: casement-node.exe check ADDRESS | first ADDRESS | clean");
            ExitCode::from(2)
        }
    }
}

fn exit(outcome: Result<(), Failure>) -> ExitCode {
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
        // `service_host` stops all services; `services` leaves one running.
        service_host::CHECKS,
        services::CHECKS,
        identity::CHECKS,
        network::CHECKS,
        downloads::CHECKS,
    ];
    for (name, check) in all.concat() {
        host.recorder.begin(name);
        match check(host) {
            Ok(()) => println!("ok {name}"),
            Err(reason) => {
                println!("FAILED {name}: {reason}");
                failed = true;
            }
        }
    }
    print_calls(&host.recorder);
    ExitCode::from(u8::from(failed))
}

fn first_generation(host: &Host) -> ExitCode {
    match network::first_generation(host) {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            println!("FAILED first generation of HNS: {reason}");
            ExitCode::FAILURE
        }
    }
}

/// `called FUNCTION | CHECK | FAKE, FAKE`, parsed by the coverage test.
fn print_calls(recorder: &CallRecorder) {
    for (function, tests) in recorder.calls() {
        for (test, fakes) in tests {
            let fakes: Vec<_> = fakes.into_iter().collect();
            println!("called {function} | {test} | {}", fakes.join(", "));
        }
    }
}

fn clean(host: &Host) -> Result<(), Failure> {
    services::clean(host)?;
    firewall::clean(host)?;
    registry::clean(host)
}

pub fn ok<T>(result: Result<T, Failure>) -> Result<T, String> {
    result.map_err(|failure| format!("{failure} {:?}", failure.found))
}

pub fn equal<T: PartialEq + Debug>(found: T, expected: T) -> Outcome {
    if found == expected {
        Ok(())
    } else {
        Err(format!("expected {expected:?}, found {found:?}"))
    }
}

pub fn ensure(condition: bool, what: &str) -> Outcome {
    if condition {
        Ok(())
    } else {
        Err(what.to_owned())
    }
}

/// Polls for 20 s.
pub fn eventually(what: &str, mut condition: impl FnMut() -> bool) -> Outcome {
    let started = Instant::now();
    while !condition() {
        if started.elapsed() > Duration::from_secs(20) {
            return Err(format!("timed out after 20 s: {what}"));
        }
        thread::sleep(Duration::from_millis(50));
    }
    Ok(())
}
