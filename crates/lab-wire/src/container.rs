//! Container processes.
//!
//! Containers do not run in the host's Wine: each has its own drive C and its own Wine
//! server in the network namespace of its pod, which only `netd` can create. The
//! container shim sends a [`ContainerCall`]. After [`ContainerCall::Start`] the connection
//! stays open: `netd` sends [`FromProcess`] lines, of which `exit` is the last, and the
//! shim sends [`ToProcess`] lines. If the shim disconnects, the process is killed.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ContainerCall {
    /// Creates the drive C of a container without starting a process.
    Create(CreateContainer),
    /// Starts a process in a container; returns [`Started`].
    Start(StartProcess),
    /// Returns [`Usage`].
    Usage(ContainerKey),
    /// Kills the processes of a container and removes its drive; succeeds if there is no
    /// such container.
    Delete(ContainerKey),
    /// Deletes all containers of a sandbox.
    DeleteSandbox { sandbox: String },
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ContainerKey {
    /// Id of the pod's sandbox; without a pod, the container's own id.
    pub sandbox: String,
    pub container: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CreateContainer {
    pub key: ContainerKey,
    /// GUID of the HCN namespace; empty for the host's network.
    pub namespace: String,
    /// The computer name inside the container; empty for the host's.
    pub hostname: String,
    pub mounts: Vec<Mount>,
}

/// A file or directory of the host that is visible in a container.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Mount {
    /// Windows path on the host.
    pub source: String,
    /// Windows path in the container.
    pub destination: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StartProcess {
    pub key: ContainerKey,
    /// Id of the exec; empty for the first process of the container. When that process
    /// ends, all other processes of the container are killed.
    pub exec: String,
    pub command: CommandLine,
    /// Working directory, as a Windows path.
    pub directory: String,
    /// `NAME=value`, in addition to the system variables.
    pub environment: Vec<String>,
    /// Whether stdin, stdout and stderr are a console.
    pub terminal: bool,
    /// Whether the process gets a stdin.
    pub stdin: bool,
}

/// A command of an OCI runtime spec.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum CommandLine {
    /// Joined with Windows quoting.
    Arguments(Vec<String>),
    /// Passed unchanged.
    Raw(String),
}

/// The response to [`ContainerCall::Start`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Started {
    /// The Linux PID.
    pub pid: u32,
}

/// Messages from a process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum FromProcess {
    /// Base64; also all output of a console.
    Stdout(String),
    /// Base64.
    Stderr(String),
    /// The exit code; the last message.
    Exit(u32),
}

/// Messages to a process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ToProcess {
    /// Base64.
    Stdin(String),
    CloseStdin,
    Kill(KillMode),
    /// The new size of the console in characters.
    Resize {
        columns: u16,
        rows: u16,
    },
}

/// How to kill a process. Both take effect immediately; they differ in the exit code,
/// which is that of Windows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum KillMode {
    /// Like a console program at system shutdown.
    Shutdown,
    /// `TerminateProcess` by another process.
    Terminate,
}

impl KillMode {
    /// The resulting exit code.
    pub fn exit_code(self) -> u32 {
        match self {
            // STATUS_CONTROL_C_EXIT, from the default console handler.
            KillMode::Shutdown => 0xC000_013A,
            // ERROR_PROCESS_ABORTED, which the host compute service uses.
            KillMode::Terminate => 1067,
        }
    }
}

/// The current resource usage of a container.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    /// Including the Wine server and services.
    pub pids: Vec<u32>,
    /// CPU time in user mode.
    pub user_ns: u64,
    /// CPU time in kernel mode.
    pub kernel_ns: u64,
    /// Committed memory.
    pub commit_bytes: u64,
    /// Private resident memory.
    pub private_working_set_bytes: u64,
}
