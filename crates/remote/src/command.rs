//! Command lines that every shell on a host reads the same way.
//!
//! sshd passes a command line to the login shell of the account: cmd or PowerShell on
//! Windows (`DefaultShell`), sh, bash or another one elsewhere.

use std::fmt;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HostOs {
    Windows,
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

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shell {
    /// cmd.exe, the default on Windows.
    Cmd,
    /// Windows PowerShell or PowerShell 7.
    PowerShell,
    /// sh, bash and similar.
    Posix,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostSystem {
    pub os: HostOs,
    /// The shell behind the SSH server.
    pub shell: Shell,
    /// The architecture that the shell runs programs on, in the form of `uname -m`;
    /// `None` if unknown.
    pub architecture: Option<String>,
}

/// cmd echoes the whole line and expands `%…%`; PowerShell runs the first two commands
/// and expands `$env:…`; a POSIX shell runs all three.
pub(crate) const PROBE: &str = "echo casement-cmd=%OS%/%PROCESSOR_ARCHITECTURE% ; \
     echo casement-env=$env:OS/$env:PROCESSOR_ARCHITECTURE ; uname -s -m";

pub(crate) fn parse_probe(output: &str) -> Option<HostSystem> {
    let windows = |shell, processor| HostSystem {
        os: HostOs::Windows,
        shell,
        architecture: windows_architecture(processor).map(str::to_owned),
    };
    output.lines().find_map(|line| {
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

/// In the form of `uname -m`. A 32-bit shell does not report the architecture of the
/// host.
fn windows_architecture(processor: &str) -> Option<&'static str> {
    match processor {
        "AMD64" | "x86_64" => Some("x86_64"),
        "ARM64" | "aarch64" => Some("aarch64"),
        _ => None,
    }
}

/// The switch of cmd that runs a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CmdSwitch {
    /// For every shell but Git's bash.
    Plain,
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

/// The command line of a program with plain arguments.
///
/// On Windows, the path contains spaces. PowerShell reads a quoted path as a string and
/// cmd reads `&` as a separator, so the line calls cmd once more: cmd keeps the quotes
/// of `cmd /c "path" argument` if there are exactly two and the path between them is a
/// program, and PowerShell passes an argument with spaces in quotes.
///
/// Git's bash converts an argument that starts with a slash to a path, and cmd without
/// `/c` reads commands from its input. It turns a leading double slash into a single
/// one.
pub(crate) fn program_line(os: HostOs, cmd: CmdSwitch, path: &str, arguments: &[&str]) -> String {
    let mut line = match os {
        HostOs::Windows => format!("cmd {} \"{path}\"", cmd.as_str()),
        HostOs::Linux => quote(path),
    };
    for argument in arguments {
        line.push(' ');
        match os {
            HostOs::Windows => line.push_str(argument),
            HostOs::Linux => line.push_str(&quote(argument)),
        }
    }
    line
}

/// An argument as every Linux shell reads it.
fn quote(argument: &str) -> String {
    let plain = |it: char| it.is_ascii_alphanumeric() || "/._-+=:,@".contains(it);
    if !argument.is_empty() && argument.chars().all(plain) {
        return argument.to_owned();
    }
    format!("'{}'", argument.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn argument_with_spaces_and_quotes_stays_one_argument_on_linux() {
        let line = program_line(
            HostOs::Linux,
            CmdSwitch::Plain,
            "/opt/a b/x",
            &["--state-dir", "/x/é'y", "go"],
        );
        assert_eq!(line, r"'/opt/a b/x' --state-dir '/x/é'\''y' go");
    }

    #[test]
    fn probe_output_of_every_shell_is_parsed() {
        let found = |output: &str| {
            let found = parse_probe(output)?;
            Some((found.os, found.shell, found.architecture))
        };
        let expected_system = |os, shell, architecture: Option<&str>| {
            Some((os, shell, architecture.map(str::to_owned)))
        };
        let rest = "; echo casement-env=$env:OS/$env:PROCESSOR_ARCHITECTURE ; uname -s -m\r\n";
        for (processor, architecture) in [
            ("AMD64", Some("x86_64")),
            ("ARM64", Some("aarch64")),
            ("x86", None),
        ] {
            let cmd = format!("casement-cmd=Windows_NT/{processor} {rest}");
            let expected = expected_system(HostOs::Windows, Shell::Cmd, architecture);
            assert_eq!(found(&cmd), expected);
            let unreplaced = "casement-cmd=%OS%/%PROCESSOR_ARCHITECTURE%";
            let powershell = format!("{unreplaced}\r\ncasement-env=Windows_NT/{processor}\r\n");
            let expected = expected_system(HostOs::Windows, Shell::PowerShell, architecture);
            assert_eq!(found(&powershell), expected);
        }
        let posix = "casement-cmd=%OS%/%PROCESSOR_ARCHITECTURE%\ncasement-env=:OS/:PROCESSOR_ARCHITECTURE\n";
        let git_bash = format!("{posix}MINGW64_NT-10.0-20348 x86_64\n");
        let expected = expected_system(HostOs::Windows, Shell::Posix, Some("x86_64"));
        assert_eq!(found(&git_bash), expected);
        let bash = format!("Welcome!\n{posix}Linux x86_64\n");
        let expected = expected_system(HostOs::Linux, Shell::Posix, Some("x86_64"));
        assert_eq!(found(&bash), expected);
        assert_eq!(found("FreeBSD amd64\n"), None);
    }
}
