//! Command lines that mean the same in every shell that a host may have.
//!
//! sshd hands a command line to the account's shell: cmd or PowerShell on
//! Windows (by `DefaultShell`), sh, bash or another one elsewhere. Only lines
//! that all of them read alike are sent.

use std::fmt;

/// The operating system of a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HostOs {
    /// Windows Server.
    Windows,
    /// Linux.
    Linux,
}

impl fmt::Display for HostOs {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Windows => "Windows",
            Self::Linux => "Linux",
        })
    }
}

/// What reads the command lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shell {
    /// cmd.exe, the default on Windows.
    Cmd,
    /// Windows PowerShell or PowerShell 7.
    PowerShell,
    /// sh, bash and their kin.
    Posix,
}

/// What a probe found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostSystem {
    /// The operating system.
    pub os: HostOs,
    /// The shell behind the SSH server.
    pub shell: Shell,
    /// The machine's architecture as `uname -m` says it; Windows is not asked.
    pub architecture: Option<String>,
}

/// cmd echoes the whole line with `%OS%` replaced; PowerShell runs the first
/// two commands and replaces `$env:OS`; a POSIX shell runs all three.
pub(crate) const PROBE: &str = "echo casement-cmd=%OS% ; echo casement-env=$env:OS ; uname -s -m";

/// Reads the probe's answer.
pub(crate) fn read_probe(answer: &str) -> Option<HostSystem> {
    let windows = |shell| HostSystem {
        os: HostOs::Windows,
        shell,
        architecture: None,
    };
    answer.lines().find_map(|line| {
        let line = line.trim();
        if line.starts_with("casement-cmd=Windows_NT") {
            return Some(windows(Shell::Cmd));
        }
        if line == "casement-env=Windows_NT" {
            return Some(windows(Shell::PowerShell));
        }
        let (system, architecture) = line.split_once(' ')?;
        if system == "Linux" {
            return Some(HostSystem {
                os: HostOs::Linux,
                shell: Shell::Posix,
                architecture: Some(architecture.trim().to_owned()),
            });
        }
        let emulated = ["MINGW", "MSYS_NT", "CYGWIN_NT"];
        emulated
            .iter()
            .any(|prefix| system.starts_with(prefix))
            .then(|| windows(Shell::Posix))
    })
}

/// How cmd is told that a command follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CmdSwitch {
    /// To every shell but Git's bash.
    Plain,
    /// To Git's bash.
    Doubled,
}

impl CmdSwitch {
    fn as_str(self) -> &'static str {
        match self {
            Self::Plain => "/c",
            Self::Doubled => "//c",
        }
    }
}

/// The line that starts a program with plain words as arguments.
///
/// On Windows the path has blanks. PowerShell takes a quoted path for a string,
/// cmd takes `&` for a separator, so the line calls cmd once more: cmd keeps the
/// quotes of `cmd /c "path" word` when there are just two and the path between
/// them is a program, and PowerShell passes an argument with blanks on in quotes.
///
/// Git's bash makes a path of a word that begins with a slash, and cmd, which is told
/// of no command then, reads commands. It leaves two slashes alone, but for one.
pub(crate) fn program_line(os: HostOs, cmd: CmdSwitch, path: &str, arguments: &[&str]) -> String {
    let mut line = match os {
        HostOs::Windows => format!("cmd {} \"{path}\"", cmd.as_str()),
        HostOs::Linux => quoted(path),
    };
    for argument in arguments {
        line.push(' ');
        match os {
            HostOs::Windows => line.push_str(argument),
            HostOs::Linux => line.push_str(&quoted(argument)),
        }
    }
    line
}

/// A word as every shell of Linux reads it.
fn quoted(word: &str) -> String {
    let plain = |it: char| it.is_ascii_alphanumeric() || "/._-+=:,@".contains(it);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn system(os: HostOs, shell: Shell) -> Option<HostSystem> {
        Some(HostSystem {
            os,
            shell,
            architecture: None,
        })
    }

    #[test]
    fn a_word_with_blanks_and_quotes_stays_one_word_on_linux() {
        let line = program_line(
            HostOs::Linux,
            CmdSwitch::Plain,
            "/opt/a b/x",
            &["--state-dir", "/x/é'y", "go"],
        );
        assert_eq!(line, r"'/opt/a b/x' --state-dir '/x/é'\''y' go");
    }

    #[test]
    fn every_shell_answers_the_probe_in_its_own_way() {
        let cmd = "casement-cmd=Windows_NT ; echo casement-env=$env:OS ; uname -s -m\r\n";
        assert_eq!(read_probe(cmd), system(HostOs::Windows, Shell::Cmd));
        let powershell = "casement-cmd=%OS%\r\ncasement-env=Windows_NT\r\n";
        assert_eq!(
            read_probe(powershell),
            system(HostOs::Windows, Shell::PowerShell)
        );
        let git_bash = "casement-cmd=%OS%\ncasement-env=:OS\nMINGW64_NT-10.0-20348 x86_64\n";
        assert_eq!(read_probe(git_bash), system(HostOs::Windows, Shell::Posix));
        let bash = "Welcome!\ncasement-cmd=%OS%\ncasement-env=:OS\nLinux x86_64\n";
        let found = read_probe(bash).unwrap();
        assert_eq!((found.os, found.shell), (HostOs::Linux, Shell::Posix));
        assert_eq!(found.architecture.as_deref(), Some("x86_64"));
        assert_eq!(read_probe("FreeBSD amd64\n"), None);
    }
}
