//! The checks, one file for each concern.
#![allow(
    clippy::unwrap_used,
    reason = "a check that panics has failed, and says where"
)]

use std::fmt::Debug;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{env, thread};

use casement_node::platform::Platform;
use casement_node::recorded::{Book, Recorded};
use casement_node::state::Layout;
use casement_node::system;
use casement_resource::Failure;

mod downloads;
mod features;
mod files;
mod firewall;
#[path = "checks/service_host.rs"]
mod hosting;
mod identity;
mod network;
mod registry;
mod services;
#[path = "checks/fakes.rs"]
mod stand_ins;

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
    /// What was called, for which check.
    pub book: Arc<Book>,
}

impl Host {
    fn new(layout: Layout, address: &str) -> Self {
        let book = Arc::new(Book::with_stand_ins(stand_ins::counts));
        // Until the end of the process.
        let host = Box::leak(system::platform(&layout));
        Self {
            platform: Box::new(Recorded::new(host, Arc::clone(&book))),
            layout,
            address: address.to_owned(),
            book,
        }
    }
}

pub fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let layout = Layout::new(system::default_state_dir());
    match words.as_slice() {
        ["--state-dir", root, "host", name] => {
            hosting::await_the_end(name);
            end(system::host(&Layout::new(root.into()), name))
        }
        ["--state-dir", root, "serve"] => end(system::serve(&Layout::new(root.into()))),
        ["child", rest @ ..] => hosting::child(rest),
        ["check", address] => check(&Host::new(layout, address)),
        ["first", address] => first_generation(&Host::new(layout, address)),
        ["clean"] => end(clean(&Host::new(layout, ""))),
        _ => {
            eprintln!("usage: casement-node.exe check ADDRESS | first ADDRESS | clean");
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
        // One of these ends every service; one of the next leaves one that runs.
        hosting::CHECKS,
        services::CHECKS,
        identity::CHECKS,
        network::CHECKS,
        downloads::CHECKS,
    ];
    for (name, check) in all.concat() {
        host.book.begin(name);
        match check(host) {
            Ok(()) => println!("ok {name}"),
            Err(reason) => {
                println!("FAILED {name}: {reason}");
                failed = true;
            }
        }
    }
    tell_calls(&host.book);
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

/// `called FUNCTION | CHECK | STAND-IN, STAND-IN`, for the table of what was
/// shown.
fn tell_calls(book: &Book) {
    for (function, tests) in book.calls() {
        for (test, through) in tests {
            let through: Vec<_> = through.into_iter().collect();
            println!("called {function} | {test} | {}", through.join(", "));
        }
    }
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
