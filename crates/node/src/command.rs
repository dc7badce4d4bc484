//! The command line: `channel`, `receive HASH SIZE`, `serve` and `host NAME` are
//! started by other programs; `observe`, `inspect`, `version` and `help` are for
//! users.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use casement_resource::{Code, Failure, Sha256};
use sha2::Digest;

use crate::channel::ChannelServer;
use crate::inspect::inspect;
use crate::observe as report;
use crate::platform::Result;
use crate::receive::receive;
use crate::state::Layout;
use crate::system;

mod arguments;

use arguments::{Arguments, Command, help, parse};

/// Exit code of `observe` when the host needs changes.
const EXIT_NEEDS_CHANGE: u8 = 4;

pub fn run(arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let arguments = match parse(arguments) {
        Ok(arguments) => arguments,
        Err(message) => {
            eprintln!("error: {message}\n  run `casement-node help` for usage");
            return ExitCode::from(2);
        }
    };
    match execute(arguments) {
        Ok(code) => code,
        Err(failure) => {
            eprint!("{}", render(&failure));
            ExitCode::FAILURE
        }
    }
}

fn render(failure: &Failure) -> String {
    let mut text = format!("error[{}]: {}\n", failure.code, failure.message);
    let lines = [
        ("expected", failure.expected.as_ref()),
        ("found", failure.found.as_ref()),
        ("help", Some(&failure.help)),
    ];
    for (name, value) in lines {
        if let Some(value) = value {
            text.push_str(&format!("  {name:<8} {value}\n"));
        }
    }
    text
}

fn execute(arguments: Arguments) -> Result<ExitCode> {
    // An explicit state directory, as in tests, needs no administrator privileges.
    let custom_state_dir = arguments.state_dir.is_some();
    let root = arguments.state_dir;
    let layout = Layout::new(root.unwrap_or_else(system::default_state_dir));
    let privileges = || match custom_state_dir {
        true => Ok(()),
        false => system::check_privileges(),
    };
    match arguments.command {
        Command::ChannelServer => channel(&layout, privileges())?,
        Command::Receive(expected) => {
            privileges()?;
            receive(
                &*system::platform(&layout),
                &layout,
                &expected,
                &mut io::stdin().lock(),
                &mut io::stdout().lock(),
            )?;
        }
        Command::Serve { detach } => {
            privileges()?;
            if detach {
                detach_from_session();
            }
            system::serve(&layout)?;
        }
        Command::Host(name) => system::host(&layout, &name)?,
        Command::Observe { verbose, document } => {
            privileges()?;
            return observe(&layout, document.as_deref(), verbose);
        }
        Command::Inspect => println!("{:#}", inspect(&*system::platform(&layout))?),
        Command::Version => println!("casement-node {}", env!("CARGO_PKG_VERSION")),
        Command::Help => print!("{}", help()),
    }
    Ok(ExitCode::SUCCESS)
}

fn observe(layout: &Layout, document: Option<&Path>, verbose: bool) -> Result<ExitCode> {
    let platform = system::platform(layout);
    let results = report::observe_documents(&*platform, layout, document)?;
    print!("{}", report::render(&results, verbose));
    Ok(if report::in_sync(&results) {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(EXIT_NEEDS_CHANGE)
    })
}

fn channel(layout: &Layout, privileges: Result<()>) -> Result<()> {
    let platform = system::platform(layout);
    let channel = ChannelServer {
        platform: &*platform,
        layout,
        service_client: Arc::from(system::service_client(layout)),
        agent: own_hash()?,
        allowed: privileges,
    };
    channel.run(&mut io::stdin().lock(), Box::new(io::stdout()))
}

/// Keeps this process alive when the session that started it ends.
fn detach_from_session() {
    #[cfg(unix)]
    {
        // Fails only for a process group leader, which needs no detaching.
        let _ = rustix::process::setsid();
    }
}

fn own_hash() -> Result<Sha256> {
    let hash = || -> io::Result<Sha256> {
        let mut file = File::open(std::env::current_exe()?)?;
        let mut hasher = sha2::Sha256::new();
        let mut buffer = vec![0; 256 * 1024];
        loop {
            match file.read(&mut buffer)? {
                0 => return Ok(Sha256::from_bytes(hasher.finalize().into())),
                count => hasher.update(buffer.get(..count).unwrap_or_default()),
            }
        }
    };
    hash().map_err(|error| {
        Failure::new(
            Code::System,
            "the agent cannot read its own executable",
            "run `casement apply` to copy the agent again",
        )
        .found(error.to_string())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failure_shows_both_values_and_help() {
        let failure = Failure::new(Code::State, "the lock is held", "wait")
            .values("no run", "run `r1` of anna");
        assert_eq!(
            render(&failure),
            "error[CAS-NODE-011]: the lock is held\n  expected no run\n  found    run `r1` of anna\n  help     wait\n"
        );
    }
}
