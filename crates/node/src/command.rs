//! The command line: `channel`, `receive HASH SIZE`, `serve` and `host NAME` for
//! programs, `observe`, `version` and `help` for people.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use casement_resource::{Code, Failure, Sha256};
use sha2::Digest;

use crate::channel::Channel;
use crate::inspect::inspect;
use crate::observed;
use crate::platform::Result;
use crate::receive::receive;
use crate::state::Layout;
use crate::system;

mod arguments;

use arguments::{Arguments, Verb, help, parse};

/// The host is not what it should be.
const DIFFERS: u8 = 4;

/// Does what the arguments say.
pub fn run(arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let arguments = match parse(arguments) {
        Ok(arguments) => arguments,
        Err(wrong) => {
            eprintln!("error: {wrong}\n  `casement-node help` says what there is");
            return ExitCode::from(2);
        }
    };
    match carry_out(arguments) {
        Ok(code) => code,
        Err(failure) => {
            eprint!("{}", told(&failure));
            ExitCode::FAILURE
        }
    }
}

/// A failure, for a person.
fn told(failure: &Failure) -> String {
    let mut text = format!("error[{}]: {}\n", failure.code, failure.what);
    let lines = [
        ("wanted", failure.wanted.as_ref()),
        ("found", failure.found.as_ref()),
        ("remedy", Some(&failure.remedy)),
    ];
    for (name, value) in lines {
        if let Some(value) = value {
            text.push_str(&format!("  {name:<7} {value}\n"));
        }
    }
    text
}

fn carry_out(arguments: Arguments) -> Result<ExitCode> {
    // Whoever names a folder works on what is theirs, as tests do.
    let own_place = arguments.state_dir.is_some();
    let root = arguments.state_dir;
    let layout = Layout::new(root.unwrap_or_else(system::default_state_dir));
    let allowed = || match own_place {
        true => Ok(()),
        false => system::check_standing(),
    };
    match arguments.verb {
        Verb::Channel => channel(&layout, allowed())?,
        Verb::Receive(expected) => {
            allowed()?;
            receive(
                &*system::platform(&layout),
                &layout,
                &expected,
                &mut io::stdin().lock(),
                &mut io::stdout().lock(),
            )?;
        }
        Verb::Serve { detach } => {
            allowed()?;
            if detach {
                leave_session();
            }
            system::serve(&layout)?;
        }
        Verb::Host(name) => system::host(&layout, &name)?,
        Verb::Observe { verbose, document } => {
            allowed()?;
            return observe(&layout, document.as_deref(), verbose);
        }
        Verb::Inspect => println!("{:#}", inspect(&*system::platform(&layout))?),
        Verb::Version => println!("casement-node {}", env!("CARGO_PKG_VERSION")),
        Verb::Help => print!("{}", help()),
    }
    Ok(ExitCode::SUCCESS)
}

fn observe(layout: &Layout, document: Option<&Path>, verbose: bool) -> Result<ExitCode> {
    let platform = system::platform(layout);
    let seen = observed::look(&*platform, layout, document)?;
    print!("{}", observed::tell(&seen, verbose));
    Ok(if observed::is_right(&seen) {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(DIFFERS)
    })
}

fn channel(layout: &Layout, allowed: Result<()>) -> Result<()> {
    let platform = system::platform(layout);
    let channel = Channel {
        platform: &*platform,
        layout,
        backstage: Arc::from(system::backstage(layout)),
        agent: own_hash()?,
        allowed,
    };
    channel.run(&mut io::stdin().lock(), Box::new(io::stdout()))
}

/// Whoever ends the session that began this process, does not end this process.
fn leave_session() {
    #[cfg(unix)]
    {
        // Fails only for a process that leads a group, which is out of reach
        // already.
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
            "copy the agent anew",
        )
        .found(error.to_string())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_told_with_both_values_and_the_way_on() {
        let failure = Failure::new(Code::State, "the lock is held", "wait")
            .values("nobody", "run `r1` of anna");
        assert_eq!(
            told(&failure),
            "error[CAS-NODE-011]: the lock is held\n  wanted  nobody\n  found   run `r1` of anna\n  remedy  wait\n"
        );
    }
}
