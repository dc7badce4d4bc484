//! The command line: `channel`, `receive HASH SIZE`, `serve`, `host NAME`,
//! `version`.
//!
//! It is called by programs, so there is no more to it than that.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use casement_resource::{Code, Failure, Sha256};
use sha2::Digest;

use crate::channel::Channel;
use crate::platform::Result;
use crate::receive::{Expected, receive};
use crate::state::Layout;
use crate::system;

const USAGE: &str = "usage: casement-node [--state-dir FOLDER] \
     channel|receive HASH SIZE|serve|host NAME|version";

/// What the arguments say.
#[derive(Debug, PartialEq, Eq)]
struct Arguments {
    state_dir: Option<PathBuf>,
    verb: Verb,
}

#[derive(Debug, PartialEq, Eq)]
enum Verb {
    Channel,
    Receive(Expected),
    Serve { detach: bool },
    Host(String),
    Version,
}

/// Does what the arguments say.
pub fn run(arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let Some(arguments) = parse(arguments) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    match carry_out(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("error[{}]: {}", failure.code, failure.what);
            if let Some(found) = &failure.found {
                eprintln!("  found   {found}");
            }
            eprintln!("  remedy  {}", failure.remedy);
            ExitCode::FAILURE
        }
    }
}

fn parse(mut arguments: impl Iterator<Item = OsString>) -> Option<Arguments> {
    let mut state_dir = None;
    let mut first = arguments.next()?;
    if first == "--state-dir" {
        state_dir = Some(PathBuf::from(arguments.next()?));
        first = arguments.next()?;
    }
    let second = arguments.next();
    let verb = match (
        first.to_str()?,
        second.as_deref().and_then(|word| word.to_str()),
    ) {
        ("channel", None) => Verb::Channel,
        ("receive", Some(hash)) => Verb::Receive(Expected {
            sha256: hash.parse().ok()?,
            size: arguments.next()?.to_str()?.parse().ok()?,
        }),
        ("serve", None) => Verb::Serve { detach: false },
        ("serve", Some("--detach")) => Verb::Serve { detach: true },
        ("host", Some(name)) => Verb::Host(name.to_owned()),
        ("version", None) => Verb::Version,
        _ => return None,
    };
    match arguments.next() {
        None => Some(Arguments { state_dir, verb }),
        Some(_) => None,
    }
}

fn carry_out(arguments: Arguments) -> Result<()> {
    let layout = Layout::new(
        arguments
            .state_dir
            .unwrap_or_else(system::default_state_dir),
    );
    match arguments.verb {
        Verb::Channel => channel(&layout),
        Verb::Receive(expected) => receive(
            &*system::platform(&layout),
            &layout,
            &expected,
            &mut io::stdin().lock(),
            &mut io::stdout().lock(),
        ),
        Verb::Serve { detach } => {
            if detach {
                leave_session();
            }
            system::serve(&layout)
        }
        Verb::Host(name) => system::host(&layout, &name),
        Verb::Version => {
            println!("casement-node {}", env!("CARGO_PKG_VERSION"));
            Ok(())
        }
    }
}

fn channel(layout: &Layout) -> Result<()> {
    let platform = system::platform(layout);
    let channel = Channel {
        platform: &*platform,
        layout,
        backstage: Arc::from(system::backstage(layout)),
        agent: own_hash()?,
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

    fn parsed(line: &str) -> Option<Arguments> {
        parse(line.split_whitespace().map(OsString::from))
    }

    #[test]
    fn arguments_are_few() {
        let serve = parsed("--state-dir /x serve --detach").unwrap();
        assert_eq!(serve.verb, Verb::Serve { detach: true });
        assert_eq!(serve.state_dir, Some(PathBuf::from("/x")));
        assert_eq!(
            parsed("host kubelet").unwrap().verb,
            Verb::Host("kubelet".to_owned())
        );
        let hash = Sha256::of(b"blob");
        let receive = parsed(&format!("receive {hash} 17")).unwrap().verb;
        let expected = Expected {
            sha256: hash,
            size: 17,
        };
        assert_eq!(receive, Verb::Receive(expected));
        let no_hash = ["receive", "receive 17", "receive x 17"];
        for wrong in no_hash {
            assert_eq!(parsed(wrong), None, "{wrong}");
        }
        for wrong in ["", "host", "channel x", "version --x y", "--state-dir"] {
            assert_eq!(parsed(wrong), None, "{wrong}");
        }
    }
}
