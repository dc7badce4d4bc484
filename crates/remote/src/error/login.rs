//! Errors of SSH authentication: keys, certificates, passwords and the SSH agent.

use std::io;
use std::path::PathBuf;

use casement_diag::Problem;

use super::HostLabel;

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoginError {
    /// The server rejects the key for this user.
    #[error("authentication failed for `{user}` on {host}")]
    KeyRejected {
        host: HostLabel,
        user: String,
        /// The fingerprints of the keys that were tried, one per line.
        key: String,
        /// The methods that the server accepts.
        methods: Vec<String>,
    },
    /// The server rejects the password, or does not accept passwords at all.
    #[error("password authentication failed for `{user}` on {host}")]
    PasswordRejected {
        host: HostLabel,
        user: String,
        /// The methods that the server accepts.
        methods: Vec<String>,
    },
    /// The SSH agent cannot be reached, or does not have the key.
    #[error("the SSH agent at `{}` cannot be used", socket.display())]
    SshAgent { socket: PathBuf, reason: String },
    /// The certificate next to the key is invalid or expired.
    #[error("the SSH certificate `{}` cannot be used", path.display())]
    Certificate { path: PathBuf, reason: String },
    #[error("failed to read the key file `{}`", path.display())]
    KeyFile { path: PathBuf, source: io::Error },
    /// The private key is encrypted and no passphrase was given.
    #[error("the private key `{}` requires a passphrase", path.display())]
    KeyEncrypted { path: PathBuf },
    #[error("wrong passphrase for the private key `{}`", path.display())]
    WrongPassphrase { path: PathBuf },
    #[error("`{}` is not a valid private key: {reason}", path.display())]
    InvalidKey { path: PathBuf, reason: String },
}

impl LoginError {
    pub fn problem(&self) -> Problem {
        let what = self.to_string();
        match self {
            Self::KeyRejected {
                user, key, methods, ..
            } => Problem::new(
                "CAS-SSH-003",
                what,
                format!(
                    "Add the public key on the host: for administrators on Windows to \
                     C:\\ProgramData\\ssh\\administrators_authorized_keys (readable by SYSTEM and \
                     Administrators only), otherwise to ~{user}/.ssh/authorized_keys. Or set \
                     another key or user in `access.ssh`."
                ),
            )
            .detail("user", user)
            .detail("key", key)
            .detail("host accepts", methods.join(", ")),
            Self::PasswordRejected { user, methods, .. } => {
                let help = if accept_passwords(methods) {
                    "Fix the source of `access.ssh.password`, or the user name."
                } else {
                    "The host does not accept passwords. Set a key in `access.ssh.key`."
                };
                Problem::new("CAS-SSH-022", what, help)
                    .detail("user", user)
                    .detail("host accepts", methods.join(", "))
            }
            Self::SshAgent { reason, .. } => Problem::new(
                "CAS-SSH-023",
                what,
                "Run `ssh-add -l` to list the keys of the agent and `ssh-add KEY` to add one. \
                 Without an agent, set a key file in `access.ssh.key`.",
            )
            .detail("reason", reason),
            Self::Certificate { reason, .. } => Problem::new(
                "CAS-SSH-025",
                what,
                "Have the certificate authority sign the key again, or remove the file.",
            )
            .detail("reason", reason),
            Self::KeyFile { source, .. } => Problem::new(
                "CAS-SSH-010",
                what,
                "Check `access.ssh.key` and the permissions of the file.",
            )
            .detail("reason", source),
            Self::KeyEncrypted { path } => Problem::new(
                "CAS-SSH-011",
                what,
                format!(
                    "Set `access.ssh.passphrase: {{file: PATH}}` or `{{prompt: true}}`, or add \
                     the key to an SSH agent with `ssh-add {}`.",
                    path.display()
                ),
            ),
            Self::WrongPassphrase { .. } => Problem::new(
                "CAS-SSH-024",
                what,
                "Fix the source of `access.ssh.passphrase`; `ssh-keygen -y -f KEY` tests a \
                 passphrase.",
            ),
            Self::InvalidKey { .. } => Problem::new(
                "CAS-SSH-012",
                what,
                "Set the private key in `access.ssh.key`; `ssh-keygen -t ed25519` creates a key \
                 pair.",
            ),
        }
    }
}

/// Whether one of the server's methods takes a password.
fn accept_passwords(methods: &[String]) -> bool {
    let mut methods = methods.iter();
    methods.any(|method| method == "password" || method == "keyboard-interactive")
}
