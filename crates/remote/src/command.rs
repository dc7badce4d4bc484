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
    /// The processor that programs of the shell run on, in the words of `uname -m`; none
    /// where it leaves that open.
    pub architecture: Option<String>,
}

/// cmd echoes the whole line with what is between `%` replaced; PowerShell runs the
/// first two commands and replaces what begins with `$env:`; a POSIX shell runs all
/// three.
pub(crate) const PROBE: &str = "echo casement-cmd=%OS%/%PROCESSOR_ARCHITECTURE% ; \
     echo casement-env=$env:OS/$env:PROCESSOR_ARCHITECTURE ; uname -s -m";

/// Reads the probe's answer.
pub(crate) fn read_probe(answer: &str) -> Option<HostSystem> {
    let windows = |shell, processor| HostSystem {
        os: HostOs::Windows,
        shell,
        architecture: windows_architecture(processor).map(str::to_owned),
    };
    answer.lines().find_map(|line| {
        let line = line.trim();
        if let Some(rest) = line.strip_prefix("casement-cmd=Windows_NT/") {
            let processor = rest.split(' ').next().unwrap_or_default();
            return Some(windows(Shell::Cmd, processor));
        }
        if let Some(processor) = line.strip_prefix("casement-env=Windows_NT/") {
            return Some(windows(Shell::PowerShell, processor));
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
            .then(|| windows(Shell::Posix, architecture.trim()))
    })
}

/// A processor of Windows in the words of `uname -m`. A shell of 32 bits does not say
/// what the host is.
fn windows_architecture(processor: &str) -> Option<&'static str> {
    match processor {
        "AMD64" | "x86_64" => Some("x86_64"),
        "ARM64" | "aarch64" => Some("aarch64"),
        _ => None,
    }
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
        let found = |answer: &str| {
            let found = read_probe(answer)?;
            Some((found.os, found.shell, found.architecture))
        };
        let is = |os, shell, architecture: Option<&str>| {
            Some((os, shell, architecture.map(str::to_owned)))
        };
        let rest = "; echo casement-env=$env:OS/$env:PROCESSOR_ARCHITECTURE ; uname -s -m\r\n";
        for (processor, architecture) in [
            ("AMD64", Some("x86_64")),
            ("ARM64", Some("aarch64")),
            ("x86", None),
        ] {
            let cmd = format!("casement-cmd=Windows_NT/{processor} {rest}");
            let wanted = is(HostOs::Windows, Shell::Cmd, architecture);
            assert_eq!(found(&cmd), wanted);
            let unreplaced = "casement-cmd=%OS%/%PROCESSOR_ARCHITECTURE%";
            let powershell = format!("{unreplaced}\r\ncasement-env=Windows_NT/{processor}\r\n");
            let wanted = is(HostOs::Windows, Shell::PowerShell, architecture);
            assert_eq!(found(&powershell), wanted);
        }
        let posix = "casement-cmd=%OS%/%PROCESSOR_ARCHITECTURE%\ncasement-env=:OS/:PROCESSOR_ARCHITECTURE\n";
        let git_bash = format!("{posix}MINGW64_NT-10.0-20348 x86_64\n");
        let wanted = is(HostOs::Windows, Shell::Posix, Some("x86_64"));
        assert_eq!(found(&git_bash), wanted);
        let bash = format!("Welcome!\n{posix}Linux x86_64\n");
        let wanted = is(HostOs::Linux, Shell::Posix, Some("x86_64"));
        assert_eq!(found(&bash), wanted);
        assert_eq!(found("FreeBSD amd64\n"), None);
    }
}
