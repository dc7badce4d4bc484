//! The messages of the protocol.

use std::collections::BTreeMap;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use super::event::Event;
use super::pull::Pull;
use crate::{Diff, Failure, HostPath, NodeDocument, ResourceId, RunId, Secret, SecretName, Sha256};

/// The protocol version of both sides.
pub const PROTOCOL: u32 = 1;

/// Messages from the controller.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum ToAgent {
    /// Sent first; answered by the agent's `hello`.
    Hello {
        protocol: u32,
        /// Identifies the caller in the lock (`anna@laptop, pid 4711`).
        controller: String,
    },
    /// Reports the diff; changes nothing. Answered by `observed` or `failed`.
    Observe { document: NodeDocument },
    /// Apply the document. Answered by the run's events, or by `refused`. A known run is
    /// resumed, or its events are sent again.
    Converge {
        /// Unique to this run.
        run: RunId,
        document: NodeDocument,
    },
    /// Remove what casement created. Answered like `converge`.
    Remove {
        /// Unique to this run.
        run: RunId,
        #[serde(rename = "what")]
        scope: RemoveScope,
    },
    /// Send the events of a run from this number on, until it is finished.
    Tail {
        run: RunId,
        /// The first event number; a run starts at 1.
        from: u64,
    },
    /// Secrets that a run needs or will need.
    Secrets {
        values: BTreeMap<SecretName, Secret>,
    },
    /// Finish the current step and stop.
    Stop { run: RunId },
    /// Send the end of a text file, for troubleshooting; changes nothing. Answered by
    /// `text` or `failed`.
    Read {
        path: HostPath,
        /// The maximum number of bytes.
        last: u32,
        /// Only what follows this offset; a file that is shorter was truncated or
        /// rotated.
        since: Option<u64>,
    },
    /// Download missing blobs from the mirror. Answered by any number of `pulling`, and
    /// `pulled` or `failed`.
    Pull(Pull),
    /// Send everything that helps troubleshooting; changes nothing. Answered by any
    /// number of `part`, and `collected` or `failed`.
    Collect,
    /// After everything is removed: stop the service `casement` and delete the state
    /// folder. Answered by `retired` or `failed`.
    Retire,
    /// Sent last; answered by `bye`.
    Bye,
}

/// What `remove` removes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum RemoveScope {
    /// Everything recorded.
    All,
    Ids(Vec<ResourceId>),
}

/// Messages from the agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum ToController {
    Hello {
        protocol: u32,
        /// The hash of the agent's own executable.
        agent: Sha256,
        facts: HostFacts,
        /// The number of recorded steps.
        recorded: u32,
        /// A run that is active or was interrupted.
        unfinished: Option<LockHolder>,
    },
    Observed {
        /// One per step, in the document's order.
        steps: Vec<ObservedStep>,
        /// Blobs that a change needs and the host lacks.
        missing_blobs: Vec<Sha256>,
        /// Whether this is the document that the agent enforces.
        kept: Diff,
    },
    Text {
        /// Starts at a line start; none if the file does not exist.
        text: Option<String>,
        /// The file offset of its end.
        end: u64,
    },
    /// Part of the response to `collect`; parts with the same name belong together.
    Part {
        /// A relative file path with `/`.
        name: String,
        text: String,
    },
    /// Answers `collect`: all parts were sent.
    Collected,
    /// Progress of a `pull`.
    Pulling {
        /// Downloaded so far.
        bytes: u64,
    },
    /// Answers `pull`: the blobs are stored and match their hashes.
    Pulled,
    /// An event of a run.
    Event(Event),
    /// Another run holds the lock.
    Refused(Busy),
    Retired,
    /// The request failed as a whole.
    Failed(Failure),
    /// Answers `bye`, or announces that the agent exits.
    Bye,
}

/// An observed step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ObservedStep {
    pub id: ResourceId,
    /// The diff, or why the step could not be observed.
    #[serde(rename = "seen")]
    pub result: Result<Diff, Failure>,
}

impl ObservedStep {
    #[must_use]
    pub fn in_sync(&self) -> bool {
        self.result.as_ref().is_ok_and(Diff::in_sync)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Busy {
    /// The run that was refused.
    pub run: RunId,
    /// The current lock holder.
    pub holder: LockHolder,
}

/// The run that holds the host's lock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LockHolder {
    pub run: RunId,
    pub controller: String,
    /// Start time, in seconds since 1970 on the host's clock.
    pub since: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum OperatingSystem {
    Windows,
    Linux,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HostFacts {
    pub os: OperatingSystem,
    /// `Windows Server 2022 Datacenter`, `Debian GNU/Linux 12`.
    pub product: String,
    /// `10.0.20348.3807`; the kernel version on Linux.
    pub version: String,
    /// The processor (`x86_64`).
    pub architecture: String,
    pub hostname: String,
    /// `scm` or `systemd`; none if there is no service manager.
    pub service_manager: Option<String>,
    /// Interfaces with their addresses.
    pub interfaces: Vec<InterfaceFacts>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct InterfaceFacts {
    pub index: u32,
    pub name: String,
    /// With prefix lengths (`198.18.0.11/24`).
    pub addresses: Vec<ipnet::IpNet>,
}

impl InterfaceFacts {
    /// Whether it has this address.
    #[must_use]
    pub fn has(&self, address: IpAddr) -> bool {
        self.addresses.iter().any(|net| net.addr() == address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Blob;
    use crate::wire::{PullProxy, encode};

    #[test]
    fn secrets_are_encoded_but_not_debug_printed() {
        let values = BTreeMap::from([(
            "token".parse().unwrap(),
            Secret::new("abcdef.0123456789abcdef".to_owned()),
        )]);
        let message = ToAgent::Secrets { values };
        assert!(encode(&message).unwrap().contains("0123456789abcdef"));
        assert!(!format!("{message:?}").contains("0123456789abcdef"));
        let secret = |text: &str| Secret::new(text.to_owned());
        let message = ToAgent::Pull(Pull {
            from: secret("https://anna:geheim@mirror/x"),
            proxy: PullProxy::At(secret("http://bob:geheim@proxy:3128")),
            download: Blob::of(b"x"),
            members: Vec::new(),
        });
        assert!(encode(&message).unwrap().contains("anna:geheim"));
        assert!(!format!("{message:?}").contains("geheim"));
    }

    #[test]
    fn messages_read_as_documented() {
        let line = encode(&ToAgent::Tail {
            run: "r1".parse().unwrap(),
            from: 4,
        })
        .unwrap();
        assert_eq!(line, "casement1 {\"tail\":{\"run\":\"r1\",\"from\":4}}\n");
        assert_eq!(encode(&ToController::Bye).unwrap(), "casement1 \"bye\"\n");
    }
}
