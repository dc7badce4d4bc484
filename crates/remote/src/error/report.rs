//! Codes, details and remedies of [`RemoteError`].

use super::RemoteError;

impl RemoteError {
    /// The stable code that `casement explain` knows.
    pub fn code(&self) -> &'static str {
        match self {
            Self::HostKeyUnknown { .. } => "CAS-SSH-001",
            Self::HostKeyChanged { .. } => "CAS-SSH-002",
            Self::Refused { .. } => "CAS-SSH-003",
            Self::NotListening { place } if place.is_winrm() => "CAS-REM-003",
            Self::NoAnswer { place, .. } if place.is_winrm() => "CAS-REM-007",
            Self::WinRm(error) => error.code(),
            Self::NoAnswer { .. } => "CAS-SSH-004",
            Self::NotListening { .. } => "CAS-SSH-005",
            Self::NoRoute { .. } => "CAS-SSH-006",
            Self::NoAddress { .. } => "CAS-SSH-007",
            Self::HostKeyRevoked { .. } => "CAS-SSH-008",
            Self::KnownHosts { .. } => "CAS-SSH-009",
            Self::KeyFile { .. } => "CAS-SSH-010",
            Self::KeyEncrypted { .. } => "CAS-SSH-011",
            Self::KeyUnreadable { .. } => "CAS-SSH-012",
            Self::Handshake { .. } => "CAS-SSH-013",
            Self::Lost { .. } => "CAS-SSH-014",
            Self::NotBack { .. } => "CAS-SSH-015",
            Self::NotStarted { .. } => "CAS-SSH-016",
            Self::UnknownSystem { .. } => "CAS-SSH-017",
            Self::AgentBroken { .. } => "CAS-SSH-018",
            Self::File { .. } => "CAS-SSH-019",
            Self::LocalFile { .. } => "CAS-SSH-020",
            Self::Wire { .. } => "CAS-SSH-021",
            Self::PasswordRefused { .. } => "CAS-SSH-022",
            Self::SshAgent { .. } => "CAS-SSH-023",
            Self::WrongPassphrase { .. } => "CAS-SSH-024",
            Self::Certificate { .. } => "CAS-SSH-025",
            Self::NotForwarded { .. } => "CAS-SSH-026",
            Self::WrongSystem { .. } => "CAS-SSH-027",
        }
    }

    /// Whether trying again may help without anybody doing anything.
    pub fn is_transient(&self) -> bool {
        matches!(
            self,
            Self::NoAnswer { .. }
                | Self::NotListening { .. }
                | Self::NoRoute { .. }
                | Self::Lost { .. }
                | Self::Handshake {
                    source: russh::Error::HUP
                        | russh::Error::Disconnect
                        | russh::Error::IO(_)
                        | russh::Error::ConnectionTimeout,
                    ..
                }
        )
    }

    /// Whether the host took the connection and dropped it: it is there, and its
    /// network or its SSH server is just being changed, or it speaks no SSH.
    pub fn is_cut(&self) -> bool {
        let met = matches!(self, Self::Lost { .. } | Self::Handshake { .. });
        met && self.is_transient()
    }

    /// The values behind the cause, as label and value.
    pub fn details(&self) -> Vec<(String, String)> {
        let pair = |label: &str, value: String| (label.to_owned(), value);
        match self {
            Self::HostKeyUnknown {
                offered,
                known_hosts,
                ..
            } => vec![
                pair("it offers", offered.clone()),
                pair("not in", known_hosts.display().to_string()),
            ],
            Self::HostKeyChanged {
                offered,
                recorded,
                known_hosts,
                line,
                ..
            } => vec![
                (format!("{}:{line}", short(known_hosts)), recorded.clone()),
                pair("it offers", offered.clone()),
            ],
            Self::HostKeyRevoked {
                offered,
                known_hosts,
                line,
                ..
            } => vec![
                pair("it offers", offered.clone()),
                pair("revoked in", format!("{}:{line}", known_hosts.display())),
            ],
            Self::Refused {
                user, key, methods, ..
            } => vec![
                pair("user", user.clone()),
                pair("key", key.clone()),
                pair("it takes", methods.join(", ")),
            ],
            Self::PasswordRefused { user, methods, .. } => vec![
                pair("user", user.clone()),
                pair("it takes", methods.join(", ")),
            ],
            Self::SshAgent { reason, .. } | Self::Certificate { reason, .. } => {
                vec![pair("reason", reason.clone())]
            }
            Self::NotForwarded {
                bastion, reason, ..
            } => vec![
                pair("bastion", bastion.to_string()),
                pair("it says", reason.clone()),
            ],
            Self::NoAnswer { waited, step, .. } => vec![
                pair("waited", format!("{} s", waited.as_secs())),
                pair("for", (*step).to_owned()),
            ],
            Self::NotBack { attempts, last, .. } => vec![
                pair("tried", format!("{attempts} times")),
                pair("last", last.to_string()),
            ],
            Self::NoRoute { source, .. } => vec![pair("the system says", source.to_string())],
            Self::Handshake { source, .. } => vec![pair("it says", source.to_string())],
            Self::Lost { step, .. } => vec![pair("during", (*step).to_owned())],
            Self::UnknownSystem { answer, .. } => vec![pair("it says", answer.clone())],
            Self::WrongSystem { found, agent, .. } => vec![
                pair("it is", found.clone()),
                pair("the agent is for", agent.clone()),
            ],
            Self::AgentBroken { path, answer, .. } => {
                vec![pair("path", path.clone()), pair("it says", answer.clone())]
            }
            Self::Wire { source, .. } => vec![pair("reason", source.to_string())],
            Self::WinRm(error) => error.details(),
            _ => Vec::new(),
        }
    }

    /// What to do now.
    pub fn remedy(&self) -> String {
        match self {
            Self::HostKeyUnknown {
                place, known_hosts, ..
            } => format!(
                "Compare the fingerprint with the one on the host itself (`ssh-keygen -lf` on its \
                 ssh_host_*_key.pub); if they are equal: `ssh-keyscan -p {} {} >> {}`",
                place.port(),
                place.address(),
                known_hosts.display()
            ),
            Self::HostKeyChanged {
                place, known_hosts, ..
            } => format!(
                "Either the host was rebuilt, or somebody stands in between. If it was rebuilt: \
                 `ssh-keygen -f {} -R {}`, then compare the new fingerprint and `ssh-keyscan` it.",
                known_hosts.display(),
                quoted_name(place.address(), place.port())
            ),
            Self::HostKeyRevoked { .. } => "Somebody marked this key as no longer to be trusted. \
                 Give the host a new key, or find out why that line is there."
                .to_owned(),
            Self::KnownHosts { .. } => {
                "Mend the file's permissions, or name another one with `access.ssh.knownHosts`."
                    .to_owned()
            }
            Self::Refused { user, .. } => format!(
                "Put the public half where the host looks for it: for administrators on Windows \
                 C:\\ProgramData\\ssh\\administrators_authorized_keys (readable by SYSTEM and \
                 Administrators only), else ~{user}/.ssh/authorized_keys; or name another key or \
                 user in `access.ssh`."
            ),
            Self::NoAnswer { place, .. } => format!(
                "Is it switched on, is {} its address, and do firewalls let TCP port {} through?",
                place.address(),
                place.port()
            ),
            Self::NotListening { place } if place.is_winrm() => format!(
                "The machine is there, but WinRM does not listen on port {} (5986 is \
                 `transport: https`, 5985 `transport: http`). On the host: \
                 `winrm enumerate winrm/config/listener`; `winrm quickconfig` makes one.",
                place.port()
            ),
            Self::NotListening { place } => format!(
                "The machine is there, but no SSH server listens on port {}. On Windows: \
                 `Add-WindowsCapability -Online -Name OpenSSH.Server~~~~0.0.1.0`, then \
                 `Start-Service sshd`.",
                place.port()
            ),
            Self::NoRoute { place, .. } => format!(
                "Check {} in the file, and this machine's network and VPN.",
                place.address()
            ),
            Self::NoAddress { place, .. } => format!(
                "Check the spelling of `{}`, or write its IP address.",
                place.address()
            ),
            Self::KeyFile { .. } => "Check `access.ssh.key`, and who may read the file.".to_owned(),
            Self::KeyEncrypted { path } => format!(
                "Name it: `access.ssh.passphrase: {{file: PATH}}` or `{{prompt: true}}`; or let an \
                 SSH agent hold the key: `ssh-add {}`.",
                path.display()
            ),
            Self::WrongPassphrase { .. } => {
                "Mend what `access.ssh.passphrase` leads to; `ssh-keygen -y -f KEY` tries one."
                    .to_owned()
            }
            Self::PasswordRefused { methods, .. }
                if !methods
                    .iter()
                    .any(|method| method == "password" || method == "keyboard-interactive") =>
            {
                "The host takes no passwords: log in with a key, `access.ssh.key`.".to_owned()
            }
            Self::PasswordRefused { .. } => {
                "Mend what `access.ssh.password` leads to, or the user beside it.".to_owned()
            }
            Self::SshAgent { .. } => {
                "`ssh-add -l` shows what the agent holds; `ssh-add KEY` adds a key. Without an \
                 agent, name a key file in `access.ssh.key`."
                    .to_owned()
            }
            Self::Certificate { .. } => {
                "Have the certificate authority sign the key anew, or take the file away."
                    .to_owned()
            }
            Self::NotForwarded { .. } => {
                "Look at the bastion: `AllowTcpForwarding` in its sshd_config, and whether it \
                 reaches that address."
                    .to_owned()
            }
            Self::KeyUnreadable { .. } => {
                "Name the private half in `access.ssh.key` (`ssh-keygen -t ed25519` makes a pair)."
                    .to_owned()
            }
            Self::Handshake { place, .. } => format!(
                "See what listens on port {}: is it an SSH server, and does it take connections?",
                place.port()
            ),
            Self::Lost { .. } => "Run it again: it goes on from where it was.".to_owned(),
            Self::NotBack { place, .. } => format!(
                "Look at the host's console: is it up, and does it still have the address {}?",
                place.address()
            ),
            Self::NotStarted { .. } => {
                "Look at sshd_config on the host: `ForceCommand`, `Subsystem sftp`, and the \
                 account's shell."
                    .to_owned()
            }
            Self::UnknownSystem { .. } => {
                "Say what it is: `os: windows-2022` or `os: ubuntu-24.04` on that host.".to_owned()
            }
            Self::WrongSystem { other_os: true, .. } => {
                "Mend `os` of that host in the file, or its address.".to_owned()
            }
            Self::WrongSystem { .. } => "Build the agent for that processor (`cargo build \
                 --release -p casement-node --target …`), and name its folder with --agent-dir."
                .to_owned(),
            Self::AgentBroken { path, .. } => format!(
                "Remove {path} and run it again; if it stays so, something on the host (an \
                 antivirus, a policy) keeps programs there from running."
            ),
            Self::File { .. } => {
                "Is there space on the disk, and may that account write there?".to_owned()
            }
            Self::LocalFile { .. } => "Check the path and who may read it.".to_owned(),
            Self::WinRm(error) => error.remedy(),
            Self::Wire { .. } => {
                "Agent and casement must be of one version: was `--agent-dir` pointed at another \
                 one's? Otherwise this is a defect, please report it."
                    .to_owned()
            }
        }
    }
}

/// A file's last name: the form `known_hosts:14`.
fn short(path: &std::path::Path) -> String {
    path.file_name().map_or_else(
        || path.display().to_string(),
        |name| name.to_string_lossy().into_owned(),
    )
}

/// The name under which `ssh-keygen -R` finds a host.
fn quoted_name(address: &str, port: u16) -> String {
    match port {
        22 => address.to_owned(),
        _ => format!("'[{address}]:{port}'"),
    }
}
