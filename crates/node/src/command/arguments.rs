//! Parsing of the command line, and the help text.

use std::ffi::OsString;
use std::path::PathBuf;

use casement_resource::Blob;

use crate::system;

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Arguments {
    pub(super) state_dir: Option<PathBuf>,
    pub(super) command: Command,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Command {
    ChannelServer,
    Receive(Blob),
    Serve {
        detach: bool,
    },
    Host(String),
    Observe {
        verbose: bool,
        document: Option<PathBuf>,
    },
    Inspect,
    Version,
    Help,
}

const COMMANDS: [&str; 8] = [
    "channel", "help", "host", "inspect", "observe", "receive", "serve", "version",
];

pub(super) fn parse(arguments: impl Iterator<Item = OsString>) -> Result<Arguments, String> {
    let mut state_dir = None;
    let mut rest = Vec::new();
    let mut arguments = arguments;
    while let Some(argument) = arguments.next() {
        if argument == "--state-dir" {
            let path = arguments.next().ok_or("`--state-dir` requires a path")?;
            state_dir = Some(PathBuf::from(path));
        } else {
            rest.push(argument);
        }
    }
    let command = command(&rest)?;
    Ok(Arguments { state_dir, command })
}

fn command(arguments: &[OsString]) -> Result<Command, String> {
    let texts: Vec<_> = arguments
        .iter()
        .map(|argument| argument.to_string_lossy())
        .collect();
    let texts: Vec<&str> = texts.iter().map(AsRef::as_ref).collect();
    match texts.as_slice() {
        [] => Err("missing command".to_owned()),
        ["-h" | "--help" | "help", ..] | [_, "-h" | "--help", ..] => Ok(Command::Help),
        ["-V" | "--version" | "version"] => Ok(Command::Version),
        ["channel"] => Ok(Command::ChannelServer),
        ["inspect"] => Ok(Command::Inspect),
        ["receive", hash, size] => match (hash.parse(), size.parse()) {
            (Ok(sha256), Ok(size)) => Ok(Command::Receive(Blob { sha256, size })),
            _ => Err("`receive` requires a SHA-256 and a size in bytes".to_owned()),
        },
        ["receive", ..] => Err("`receive` requires a SHA-256 and a size in bytes".to_owned()),
        ["serve"] => Ok(Command::Serve { detach: false }),
        ["serve", "--detach"] => Ok(Command::Serve { detach: true }),
        ["host"] => Err("`host` requires the name of a service".to_owned()),
        ["host", name] => Ok(Command::Host((*name).to_owned())),
        ["observe", rest @ ..] => {
            let verbose = |flag: &&str| matches!(*flag, "-v" | "--verbose");
            let (flags, files): (Vec<&str>, Vec<&str>) =
                rest.iter().partition(|argument| verbose(argument));
            match files.as_slice() {
                [flag, ..] if flag.starts_with('-') => Err(unexpected("observe", flag)),
                [] | [_] => Ok(Command::Observe {
                    verbose: !flags.is_empty(),
                    document: files.first().map(PathBuf::from),
                }),
                [_, more, ..] => Err(unexpected("observe", more)),
            }
        }
        [command, more, ..] if COMMANDS.contains(command) => Err(unexpected(command, more)),
        [other, ..] => Err(unknown(other)),
    }
}

fn unexpected(command: &str, argument: &str) -> String {
    format!("unexpected argument `{argument}` for `{command}`")
}

fn unknown(name: &str) -> String {
    let close = COMMANDS.iter().find(|command| is_close(command, name));
    match close {
        Some(command) => format!("unknown command `{name}`; did you mean `{command}`?"),
        None => format!("unknown command `{name}`"),
    }
}

/// Whether the two differ by one inserted, deleted or replaced letter, or two
/// swapped ones.
fn is_close(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    if one.len().abs_diff(other.len()) > 1 {
        return false;
    }
    let before = one.iter().zip(other).take_while(|(a, b)| a == b).count();
    let (one, other) = (one.iter().rev(), other.iter().rev());
    let after = one.clone().zip(other.clone()).take_while(|(a, b)| a == b);
    before + after.count() + 2 >= one.len().max(other.len())
}

pub(super) fn help() -> String {
    let default = system::default_state_dir();
    format!(
        "\
casement-node is the casement agent. It brings this host to the state that
`casement apply` sends, keeps it there, and can undo all changes.

Usage: casement-node [--state-dir DIR] COMMAND

Commands for users
  observe [-v] [FILE]  Compare this host with the document in FILE, or with the
                       documents of the last apply. Changes nothing. -v also
                       lists unchanged steps. Exit code 4: changes are needed
  inspect              Print facts about this host and its networks as JSON
  version              Print the version
  help                 Print this help

Commands for programs
  channel              Serve a controller on stdin and stdout
  receive HASH SIZE    Receive a file on stdin, encoded as lines of text
  serve [--detach]     Run the service `casement`, which applies changes
  host NAME            Run the service NAME and supervise its program

  --state-dir DIR      Directory for journals, records and blobs; default:
                       {}
",
        default.display()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Arguments, String> {
        parse(line.split_whitespace().map(OsString::from))
    }

    #[test]
    fn program_commands_are_parsed() {
        let serve = parsed("--state-dir /x serve --detach").unwrap();
        assert_eq!(serve.command, Command::Serve { detach: true });
        assert_eq!(serve.state_dir, Some(PathBuf::from("/x")));
        let host = Command::Host("kubelet".to_owned());
        assert_eq!(parsed("host kubelet").unwrap().command, host);
    }

    #[test]
    fn user_commands_are_parsed() {
        for line in [
            "help",
            "--help",
            "-h",
            "help observe",
            "observe --help",
            "host -h",
        ] {
            assert_eq!(parsed(line).unwrap().command, Command::Help, "{line}");
        }
        let observe = Command::Observe {
            verbose: true,
            document: Some(PathBuf::from("d.json")),
        };
        assert_eq!(parsed("observe d.json -v").unwrap().command, observe);
    }

    #[test]
    fn invalid_arguments_are_named() {
        for (line, message) in [
            ("", "missing command"),
            ("host", "`host` requires the name of a service"),
            ("channel x", "unexpected argument `x` for `channel`"),
            ("version --x y", "unexpected argument `--x` for `version`"),
            ("observe a b", "unexpected argument `b` for `observe`"),
            ("observe --all", "unexpected argument `--all` for `observe`"),
            ("--state-dir", "`--state-dir` requires a path"),
            (
                "chanel",
                "unknown command `chanel`; did you mean `channel`?",
            ),
            (
                "obsreve",
                "unknown command `obsreve`; did you mean `observe`?",
            ),
            ("apply", "unknown command `apply`"),
        ] {
            assert_eq!(parsed(line).unwrap_err(), message, "{line}");
        }
    }

    #[test]
    fn help_fits_80_columns_and_lists_every_command() {
        let help = help();
        for command in COMMANDS {
            assert!(help.contains(&format!("\n  {command} ")), "{command}");
        }
        assert!(help.lines().all(|line| line.len() <= 80), "{help}");
    }
}
