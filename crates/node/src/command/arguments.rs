//! What the arguments say, and what is said of wrong ones.

use std::ffi::OsString;
use std::path::PathBuf;

use casement_resource::Blob;

use crate::system;

/// What the arguments say.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Arguments {
    pub(super) state_dir: Option<PathBuf>,
    pub(super) verb: Verb,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verb {
    Channel,
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

const VERBS: [&str; 8] = [
    "channel", "help", "host", "inspect", "observe", "receive", "serve", "version",
];

/// Reads arguments, or says what is wrong with them.
pub(super) fn parse(arguments: impl Iterator<Item = OsString>) -> Result<Arguments, String> {
    let mut state_dir = None;
    let mut words = Vec::new();
    let mut arguments = arguments;
    while let Some(word) = arguments.next() {
        if word == "--state-dir" {
            let folder = arguments.next().ok_or("`--state-dir` wants a folder")?;
            state_dir = Some(PathBuf::from(folder));
        } else {
            words.push(word);
        }
    }
    let verb = verb(&words)?;
    Ok(Arguments { state_dir, verb })
}

fn verb(words: &[OsString]) -> Result<Verb, String> {
    let texts: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
    let texts: Vec<&str> = texts.iter().map(AsRef::as_ref).collect();
    match texts.as_slice() {
        [] => Err("nothing was asked".to_owned()),
        ["-h" | "--help" | "help", ..] | [_, "-h" | "--help", ..] => Ok(Verb::Help),
        ["-V" | "--version" | "version"] => Ok(Verb::Version),
        ["channel"] => Ok(Verb::Channel),
        ["inspect"] => Ok(Verb::Inspect),
        ["receive", hash, size] => match (hash.parse(), size.parse()) {
            (Ok(sha256), Ok(size)) => Ok(Verb::Receive(Blob { sha256, size })),
            _ => Err("`receive` wants a SHA-256 and a size in bytes".to_owned()),
        },
        ["receive", ..] => Err("`receive` wants a SHA-256 and a size in bytes".to_owned()),
        ["serve"] => Ok(Verb::Serve { detach: false }),
        ["serve", "--detach"] => Ok(Verb::Serve { detach: true }),
        ["host"] => Err("`host` wants the name of a service".to_owned()),
        ["host", name] => Ok(Verb::Host((*name).to_owned())),
        ["observe", rest @ ..] => {
            let verbose = |word: &&str| matches!(*word, "-v" | "--verbose");
            let (flags, files): (Vec<&str>, Vec<&str>) =
                rest.iter().partition(|word| verbose(word));
            match files.as_slice() {
                [flag, ..] if flag.starts_with('-') => Err(unknown_for("observe", flag)),
                [] | [_] => Ok(Verb::Observe {
                    verbose: !flags.is_empty(),
                    document: files.first().map(PathBuf::from),
                }),
                [_, more, ..] => Err(unknown_for("observe", more)),
            }
        }
        [verb, more, ..] if VERBS.contains(verb) => Err(unknown_for(verb, more)),
        [word, ..] => Err(unknown(word)),
    }
}

fn unknown_for(verb: &str, word: &str) -> String {
    format!("`{verb}` does not know what to do with `{word}`")
}

fn unknown(word: &str) -> String {
    let close = VERBS.iter().find(|verb| is_close(verb, word));
    match close {
        Some(verb) => format!("there is no `{word}`; did you mean `{verb}`?"),
        None => format!("there is no `{word}`"),
    }
}

/// Whether one letter too many, too few, or exchanged makes one of the other.
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

/// What the program is for.
pub(super) fn help() -> String {
    let default = system::default_state_dir();
    format!(
        "\
casement-node makes this host what its cluster needs, keeps it so, and takes it
back. It does what a document says, which `casement apply` sends.

Usage: casement-node [--state-dir FOLDER] VERB

For people
  observe [-v] [FILE]  say what differs from the document in FILE, or from what
                       this host is kept to; changes nothing. -v also lists what
                       is right, with the reason. Exit code 4: something differs
  inspect              say what this host and its networks are, in JSON
  version              say which version this is
  help                 say this

For programs
  channel              answer a controller on standard input and output
  receive HASH SIZE    take a file in from standard input, as lines of text
  serve [--detach]     be the service `casement`, which carries changes out
  host NAME            be the service NAME, and run its program

  --state-dir FOLDER   where its journals, records and blobs are; otherwise
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
    fn what_programs_say_is_understood() {
        let serve = parsed("--state-dir /x serve --detach").unwrap();
        assert_eq!(serve.verb, Verb::Serve { detach: true });
        assert_eq!(serve.state_dir, Some(PathBuf::from("/x")));
        let host = Verb::Host("kubelet".to_owned());
        assert_eq!(parsed("host kubelet").unwrap().verb, host);
    }

    #[test]
    fn what_people_say_is_understood() {
        for line in [
            "help",
            "--help",
            "-h",
            "help observe",
            "observe --help",
            "host -h",
        ] {
            assert_eq!(parsed(line).unwrap().verb, Verb::Help, "{line}");
        }
        let observe = Verb::Observe {
            verbose: true,
            document: Some(PathBuf::from("d.json")),
        };
        assert_eq!(parsed("observe d.json -v").unwrap().verb, observe);
    }

    #[test]
    fn what_is_wrong_is_said_with_the_word_that_is_wrong() {
        for (line, said) in [
            ("", "nothing was asked"),
            ("host", "`host` wants the name of a service"),
            ("channel x", "`channel` does not know what to do with `x`"),
            (
                "version --x y",
                "`version` does not know what to do with `--x`",
            ),
            ("observe a b", "`observe` does not know what to do with `b`"),
            (
                "observe --all",
                "`observe` does not know what to do with `--all`",
            ),
            ("--state-dir", "`--state-dir` wants a folder"),
            ("chanel", "there is no `chanel`; did you mean `channel`?"),
            ("obsreve", "there is no `obsreve`; did you mean `observe`?"),
            ("apply", "there is no `apply`"),
        ] {
            assert_eq!(parsed(line).unwrap_err(), said, "{line}");
        }
    }

    #[test]
    fn the_help_fits_a_terminal_and_names_every_verb() {
        let help = help();
        for verb in VERBS {
            assert!(help.contains(&format!("\n  {verb} ")), "{verb}");
        }
        assert!(help.lines().all(|line| line.len() <= 80), "{help}");
    }
}
