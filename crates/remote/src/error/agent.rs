//! Errors of the agent: it cannot be chosen, started or understood.

use casement_diag::Problem;

use super::HostLabel;

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AgentError {
    /// The server refuses to start a command or SFTP.
    #[error("{host} refused to start {what}")]
    StartRefused { host: HostLabel, what: String },
    /// The host's system is not the one that the agent was built for; nothing was
    /// copied.
    #[error("the agent was built for another system than {host}")]
    SystemMismatch {
        host: HostLabel,
        /// Whether the operating system differs, not only the architecture.
        other_os: bool,
        found: String,
        /// What the agent was built for.
        agent: String,
    },
    /// The agent is on the host, but does not start or is not the one that was sent.
    #[error("the agent on {host} failed to start")]
    NotStarted {
        host: HostLabel,
        path: String,
        /// What was read in place of its first message.
        output: String,
    },
    /// A message cannot be encoded or decoded.
    #[error("protocol error between casement and the agent on {host}")]
    Wire {
        host: HostLabel,
        source: casement_resource::wire::LineError,
    },
}

impl AgentError {
    pub fn problem(&self) -> Problem {
        let what = self.to_string();
        match self {
            Self::StartRefused { .. } => Problem::new(
                "CAS-SSH-016",
                what,
                "Check sshd_config on the host (`ForceCommand`, `Subsystem sftp`) and the login \
                 shell of the account.",
            ),
            Self::SystemMismatch {
                other_os,
                found,
                agent,
                ..
            } => {
                let help = match other_os {
                    true => "Fix `os` or the address of the host in the cluster file.",
                    false => {
                        "Build the agent for this architecture (`cargo build --release -p \
                         casement-node --target …`), and pass its directory with --agent-dir."
                    }
                };
                Problem::new("CAS-SSH-027", what, help)
                    .detail("host", found)
                    .detail("agent", agent)
            }
            Self::NotStarted { path, output, .. } => Problem::new(
                "CAS-SSH-018",
                what,
                format!(
                    "Remove {path} and run the command again. If it fails again, antivirus \
                     software or a policy on the host may block programs there."
                ),
            )
            .detail("path", path)
            .detail("output", output),
            Self::Wire { source, .. } => Problem::new(
                "CAS-SSH-021",
                what,
                "The agent and casement must have the same version: check `--agent-dir`. If they \
                 do, this is a bug; please report it.",
            )
            .detail("reason", source),
        }
    }
}
