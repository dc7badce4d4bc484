//! Processes of containers.
//!
//! A container's programs run beside the host's Wine, not in it: each
//! container has a drive C and a Wine server of its own, in the network
//! namespace of its pod, and only `netd` can make those. The container shim
//! asks with a [`ContainerCall`]. [`ContainerCall::Start`] keeps its
//! connection: [`FromProcess`] lines come until `exit`, which is the last, and
//! [`ToProcess`] lines go; a shim that hangs up ends the process.

use serde::{Deserialize, Serialize};

/// What the container shim asks for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ContainerCall {
    /// Gives a container a drive C; nothing runs yet.
    Create(Creation),
    /// Starts a process in a container; answers [`Started`].
    Start(ProcessStart),
    /// Answers [`Usage`].
    Usage(ContainerKey),
    /// Ends what still runs in a container and removes its drive; content
    /// where there is no such container.
    Delete(ContainerKey),
    /// The same for all containers of a sandbox.
    DeleteSandbox {
        /// The sandbox's id.
        sandbox: String,
    },
}

/// Which container.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ContainerKey {
    /// The pod's sandbox; the container's own id where there is no pod.
    pub sandbox: String,
    /// The container's id.
    pub container: String,
}

/// A container to be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Creation {
    /// Which container.
    pub key: ContainerKey,
    /// GUID of the HCN namespace; empty for the host's own network.
    pub namespace: String,
    /// The computer name that its programs see; empty for the host's.
    pub hostname: String,
    /// Files and folders of the host that the container sees.
    pub mounts: Vec<Mount>,
}

/// A file or folder of the host, seen in a container.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Mount {
    /// Windows path on the host.
    pub source: String,
    /// Windows path in the container.
    pub destination: String,
}

/// A process to be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProcessStart {
    /// In which container.
    pub key: ContainerKey,
    /// The exec's id; empty for the container's first process, with whose end
    /// everything else in the container ends too.
    pub exec: String,
    /// What to run.
    pub command: CommandLine,
    /// Working directory, a Windows path.
    pub directory: String,
    /// `NAME=value`, on top of the system's own variables.
    pub environment: Vec<String>,
    /// Whether the three streams are one console.
    pub terminal: bool,
    /// Whether anything will be written to the process.
    pub stdin: bool,
}

/// A command as an OCI spec gives it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum CommandLine {
    /// To be joined with Windows' quoting.
    Arguments(Vec<String>),
    /// To be passed on as it is.
    Raw(String),
}

/// The answer to [`ContainerCall::Start`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Started {
    /// The process as `netd`'s kernel counts it.
    pub pid: u32,
}

/// What a process sends back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum FromProcess {
    /// Base64 of what it wrote; also everything of a console.
    Stdout(String),
    /// Base64 of what it wrote.
    Stderr(String),
    /// The process has ended with this code; nothing follows.
    Exit(u32),
}

/// What a process is sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ToProcess {
    /// Base64 of what it shall read.
    Stdin(String),
    /// It has read everything.
    CloseStdin,
    /// It shall end.
    Kill(Ending),
    /// Its console has a new size.
    Resize {
        /// Characters across.
        columns: u16,
        /// Lines.
        rows: u16,
    },
}

/// How a process is made to end. Both are at once and final; they differ in
/// the exit code, which is the one that Windows would show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Ending {
    /// What a console program does when the system shuts down.
    Shutdown,
    /// `TerminateProcess` from outside.
    Terminate,
}

impl Ending {
    /// The exit code that is seen afterwards.
    pub fn exit_code(self) -> u32 {
        match self {
            // STATUS_CONTROL_C_EXIT, from the default console handler.
            Ending::Shutdown => 0xC000_013A,
            // ERROR_PROCESS_ABORTED, which the host compute service uses.
            Ending::Terminate => 1067,
        }
    }
}

/// What the processes of a container use at the moment.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    /// All its processes, the Wine server and services included.
    pub pids: Vec<u32>,
    /// Processor time in user mode.
    pub user_ns: u64,
    /// Processor time in the kernel.
    pub kernel_ns: u64,
    /// Memory promised to them.
    pub commit_bytes: u64,
    /// Memory that only they hold.
    pub private_working_set_bytes: u64,
}
