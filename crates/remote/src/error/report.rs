//! Codes, details and remedies of [`RemoteError`].

use super::RemoteError;

impl RemoteError {
    /// The stable code, also the argument of `casement explain`.
    pub fn code(&self) -> &'static str {
        match self {
            Self::HostKeyUnknown { .. } => "CAS-SSH-001",
            Self::HostKeyChanged { .. } => "CAS-SSH-002",
            Self::AuthenticationFailed { .. } => "CAS-SSH-003",
            Self::ConnectionRefused { host } if host.is_winrm() => "CAS-REM-003",
            Self::TimedOut { host, .. } if host.is_winrm() => "CAS-REM-007",
            Self::WinRm(error) => error.code(),
            Self::TimedOut { .. } => "CAS-SSH-004",
            Self::ConnectionRefused { .. } => "CAS-SSH-005",
            Self::NoRoute { .. } => "CAS-SSH-006",
            Self::NameNotResolved { .. } => "CAS-SSH-007",
            Self::HostKeyRevoked { .. } => "CAS-SSH-008",
            Self::KnownHosts { .. } => "CAS-SSH-009",
            Self::KeyFile { .. } => "CAS-SSH-010",
            Self::KeyEncrypted { .. } => "CAS-SSH-011",
            Self::InvalidKey { .. } => "CAS-SSH-012",
            Self::Handshake { .. } => "CAS-SSH-013",
            Self::ConnectionLost { .. } => "CAS-SSH-014",
            Self::ReconnectTimedOut { .. } => "CAS-SSH-015",
            Self::StartFailed { .. } => "CAS-SSH-016",
            Self::UnknownSystem { .. } => "CAS-SSH-017",
            Self::AgentFailed { .. } => "CAS-SSH-018",
            Self::File { .. } => "CAS-SSH-019",
            Self::LocalFile { .. } => "CAS-SSH-020",
            Self::Wire { .. } => "CAS-SSH-021",
            Self::PasswordRejected { .. } => "CAS-SSH-022",
            Self::SshAgent { .. } => "CAS-SSH-023",
            Self::WrongPassphrase { .. } => "CAS-SSH-024",
            Self::Certificate { .. } => "CAS-SSH-025",
            Self::ForwardingFailed { .. } => "CAS-SSH-026",
            Self::SystemMismatch { .. } => "CAS-SSH-027",
        }
    }

    /// Whether a retry may succeed without any action by the user.
    pub fn is_transient(&self) -> bool {
        matches!(
            self,
            Self::TimedOut { .. }
                | Self::ConnectionRefused { .. }
                | Self::NoRoute { .. }
                | Self::ConnectionLost { .. }
                | Self::Handshake {
                    source: russh::Error::HUP
                        | russh::Error::Disconnect
                        | russh::Error::IO(_)
                        | russh::Error::ConnectionTimeout,
                    ..
                }
        )
    }

    /// Whether the host accepted the connection and then dropped it: its network or
    /// its SSH server is just being reconfigured, or it does not speak SSH.
    pub fn is_disconnect(&self) -> bool {
        let accepted = matches!(self, Self::ConnectionLost { .. } | Self::Handshake { .. });
        accepted && self.is_transient()
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
                pair("host presents", offered.clone()),
                pair("not in", known_hosts.display().to_string()),
            ],
            Self::HostKeyChanged {
                offered,
                recorded,
                known_hosts,
                line,
                ..
            } => vec![
                (
                    format!("{}:{line}", file_name(known_hosts)),
                    recorded.clone(),
                ),
                pair("host presents", offered.clone()),
            ],
            Self::HostKeyRevoked {
                offered,
                known_hosts,
                line,
                ..
            } => vec![
                pair("host presents", offered.clone()),
                pair("revoked in", format!("{}:{line}", known_hosts.display())),
            ],
            Self::AuthenticationFailed {
                user, key, methods, ..
            } => vec![
                pair("user", user.clone()),
                pair("key", key.clone()),
                pair("host accepts", methods.join(", ")),
            ],
            Self::PasswordRejected { user, methods, .. } => vec![
                pair("user", user.clone()),
                pair("host accepts", methods.join(", ")),
            ],
            Self::SshAgent { reason, .. } | Self::Certificate { reason, .. } => {
                vec![pair("reason", reason.clone())]
            }
            Self::ForwardingFailed {
                bastion, reason, ..
            } => vec![
                pair("bastion", bastion.to_string()),
                pair("reason", reason.clone()),
            ],
            Self::TimedOut { timeout, step, .. } => vec![
                pair("timeout", format!("{} s", timeout.as_secs())),
                pair("during", (*step).to_owned()),
            ],
            Self::ReconnectTimedOut { attempts, last, .. } => vec![
                pair("attempts", attempts.to_string()),
                pair("last error", last.to_string()),
            ],
            Self::NoRoute { source, .. } => vec![pair("reason", source.to_string())],
            Self::Handshake { source, .. } => vec![pair("reason", source.to_string())],
            Self::ConnectionLost { step, .. } => vec![pair("during", (*step).to_owned())],
            Self::UnknownSystem { output, .. } => vec![pair("output", output.clone())],
            Self::SystemMismatch { found, agent, .. } => {
                vec![pair("host", found.clone()), pair("agent", agent.clone())]
            }
            Self::AgentFailed { path, output, .. } => {
                vec![pair("path", path.clone()), pair("output", output.clone())]
            }
            Self::Wire { source, .. } => vec![pair("reason", source.to_string())],
            Self::WinRm(error) => error.details(),
            _ => Vec::new(),
        }
    }

    pub fn remedy(&self) -> String {
        match self {
            Self::HostKeyUnknown {
                host, known_hosts, ..
            } => format!(
                "Compare the fingerprint with the one on the host itself (`ssh-keygen -lf` on its \
                 ssh_host_*_key.pub). If they match, run `ssh-keyscan -p {} {} >> {}`",
                host.port(),
                host.address(),
                known_hosts.display()
            ),
            Self::HostKeyChanged {
                host, known_hosts, ..
            } => format!(
                "Either the host was rebuilt or someone is intercepting the connection. If it was \
                 rebuilt, run `ssh-keygen -f {} -R {}`, compare the new fingerprint with the one \
                 on the host, and add it with `ssh-keyscan`.",
                known_hosts.display(),
                known_hosts_name(host.address(), host.port())
            ),
            Self::HostKeyRevoked { .. } => "This key must not be trusted. Generate a new host key \
                 on the host, or find out why the key was revoked."
                .to_owned(),
            Self::KnownHosts { .. } => {
                "Fix the permissions of the file, or set another file in `access.ssh.knownHosts`."
                    .to_owned()
            }
            Self::AuthenticationFailed { user, .. } => format!(
                "Add the public key on the host: for administrators on Windows to \
                 C:\\ProgramData\\ssh\\administrators_authorized_keys (readable by SYSTEM and \
                 Administrators only), otherwise to ~{user}/.ssh/authorized_keys. Or set another \
                 key or user in `access.ssh`."
            ),
            Self::TimedOut { host, .. } => format!(
                "Check that the host is running, that {} is its address, and that firewalls allow \
                 TCP port {}.",
                host.address(),
                host.port()
            ),
            Self::ConnectionRefused { host } if host.is_winrm() => format!(
                "The host is up, but WinRM does not listen on port {} (5986 is \
                 `transport: https`, 5985 is `transport: http`). Run \
                 `winrm enumerate winrm/config/listener` on the host; `winrm quickconfig` creates \
                 a listener.",
                host.port()
            ),
            Self::ConnectionRefused { host } => format!(
                "The host is up, but no SSH server listens on port {}. On Windows, run \
                 `Add-WindowsCapability -Online -Name OpenSSH.Server~~~~0.0.1.0`, then \
                 `Start-Service sshd`.",
                host.port()
            ),
            Self::NoRoute { host, .. } => format!(
                "Check the address {} in the cluster file, and the network and VPN of this \
                 computer.",
                host.address()
            ),
            Self::NameNotResolved { host, .. } => format!(
                "Check the spelling of `{}`, or use its IP address.",
                host.address()
            ),
            Self::KeyFile { .. } => {
                "Check `access.ssh.key` and the permissions of the file.".to_owned()
            }
            Self::KeyEncrypted { path } => format!(
                "Set `access.ssh.passphrase: {{file: PATH}}` or `{{prompt: true}}`, or add the key \
                 to an SSH agent with `ssh-add {}`.",
                path.display()
            ),
            Self::WrongPassphrase { .. } => {
                "Fix the source of `access.ssh.passphrase`; `ssh-keygen -y -f KEY` tests a \
                 passphrase."
                    .to_owned()
            }
            Self::PasswordRejected { methods, .. }
                if !methods
                    .iter()
                    .any(|method| method == "password" || method == "keyboard-interactive") =>
            {
                "The host does not accept passwords. Set a key in `access.ssh.key`.".to_owned()
            }
            Self::PasswordRejected { .. } => {
                "Fix the source of `access.ssh.password`, or the user name.".to_owned()
            }
            Self::SshAgent { .. } => {
                "Run `ssh-add -l` to list the keys of the agent and `ssh-add KEY` to add one. \
                 Without an agent, set a key file in `access.ssh.key`."
                    .to_owned()
            }
            Self::Certificate { .. } => {
                "Have the certificate authority sign the key again, or remove the file.".to_owned()
            }
            Self::ForwardingFailed { .. } => {
                "Check `AllowTcpForwarding` in sshd_config on the bastion, and that the bastion \
                 can reach the address."
                    .to_owned()
            }
            Self::InvalidKey { .. } => {
                "Set the private key in `access.ssh.key`; `ssh-keygen -t ed25519` creates a key \
                 pair."
                    .to_owned()
            }
            Self::Handshake { host, .. } => format!(
                "Check that an SSH server listens on port {} and accepts connections.",
                host.port()
            ),
            Self::ConnectionLost { .. } => "Run the command again to resume.".to_owned(),
            Self::ReconnectTimedOut { host, .. } => format!(
                "Check on the host's console that it is running and still has the address {}.",
                host.address()
            ),
            Self::StartFailed { .. } => {
                "Check sshd_config on the host (`ForceCommand`, `Subsystem sftp`) and the login \
                 shell of the account."
                    .to_owned()
            }
            Self::UnknownSystem { .. } => {
                "Set `os: windows-2022` or `os: ubuntu-24.04` for the host.".to_owned()
            }
            Self::SystemMismatch { other_os: true, .. } => {
                "Fix `os` or the address of the host in the cluster file.".to_owned()
            }
            Self::SystemMismatch { .. } => "Build the agent for this architecture (`cargo build \
                 --release -p casement-node --target …`), and pass its directory with \
                 --agent-dir."
                .to_owned(),
            Self::AgentFailed { path, .. } => format!(
                "Remove {path} and run the command again. If it fails again, antivirus software or \
                 a policy on the host may block programs there."
            ),
            Self::File { .. } => {
                "Check the free disk space and the permissions of the account on the host."
                    .to_owned()
            }
            Self::LocalFile { .. } => "Check the path and its permissions.".to_owned(),
            Self::WinRm(error) => error.remedy(),
            Self::Wire { .. } => {
                "The agent and casement must have the same version: check `--agent-dir`. If they \
                 do, this is a bug; please report it."
                    .to_owned()
            }
        }
    }
}

/// The last component, for labels such as `known_hosts:14`.
fn file_name(path: &std::path::Path) -> String {
    path.file_name().map_or_else(
        || path.display().to_string(),
        |name| name.to_string_lossy().into_owned(),
    )
}

/// The name under which `ssh-keygen -R` finds a host.
fn known_hosts_name(address: &str, port: u16) -> String {
    match port {
        22 => address.to_owned(),
        _ => format!("'[{address}]:{port}'"),
    }
}
