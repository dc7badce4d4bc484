//! The messages.

use std::collections::BTreeMap;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use super::event::Event;
use super::pull::Pull;
use crate::{Diff, Failure, HostPath, NodeDocument, ResourceId, RunId, Secret, SecretName, Sha256};

/// The protocol that both sides must speak.
pub const PROTOCOL: u32 = 1;

/// What the controller says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum ToAgent {
    /// First of all; answered by the agent's `hello`.
    Hello {
        /// [`PROTOCOL`].
        protocol: u32,
        /// Who is calling, for the lock (`anna@laptop, pid 4711`).
        controller: String,
    },
    /// Compare and say; changes nothing. Answered by `observed` or `failed`.
    Observe {
        /// What should be.
        document: NodeDocument,
    },
    /// Make it so. Answered by the run's events, or by `refused`. A run that
    /// the host knows already goes on, or its events are told again.
    Converge {
        /// A name that no other run has.
        run: RunId,
        /// What should be.
        document: NodeDocument,
    },
    /// Take back what casement made. Answered like `converge`.
    Remove {
        /// A name that no other run has.
        run: RunId,
        /// What to take back.
        what: RemoveWhat,
    },
    /// Tell the events of a run from this number on, until it is finished.
    Tail {
        /// Which run.
        run: RunId,
        /// The first number wanted; 1 is a run's first.
        from: u64,
    },
    /// Values for a run that asked, or will ask, for them.
    Secrets {
        /// By name.
        values: BTreeMap<SecretName, Secret>,
    },
    /// Finish the current step and stop.
    Stop {
        /// Which run.
        run: RunId,
    },
    /// Tell the end of a text file, for who looks for a cause; changes nothing.
    /// Answered by `text` or `failed`.
    Read {
        /// Which file.
        path: HostPath,
        /// How many bytes at most.
        last: u32,
        /// Only what comes after so many bytes; a file that has become shorter
        /// was begun anew.
        since: Option<u64>,
    },
    /// Fetch blobs that are missing from the mirror, instead of waiting for them.
    /// Answered by any number of `pulling`, and `pulled` or `failed`.
    Pull(Pull),
    /// Tell everything that helps to find a cause; changes nothing. Answered by
    /// any number of `part`, and `collected` or `failed`.
    Collect,
    /// After everything was removed: stop the service `casement` and delete
    /// the state folder. Answered by `retired` or `failed`.
    Retire,
    /// Last of all; answered by `bye`.
    Bye,
}

/// How much `remove` takes back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum RemoveWhat {
    /// Everything that is recorded.
    All,
    /// These, and nothing else.
    Ids(Vec<ResourceId>),
}

/// What the agent says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum ToController {
    /// Answers `hello`.
    Hello {
        /// [`PROTOCOL`].
        protocol: u32,
        /// The hash of the agent's own executable.
        agent: Sha256,
        /// What the host is.
        facts: HostFacts,
        /// How many steps the host has a record of.
        recorded: u32,
        /// The run that is at work, or was begun and not finished.
        unfinished: Option<LockHolder>,
    },
    /// Answers `observe`.
    Observed {
        /// One for each step, in the document's order.
        steps: Vec<ObservedStep>,
        /// Blobs that a change needs and that the host does not have.
        missing_blobs: Vec<Sha256>,
        /// Whether this is the document that the agent keeps the host to.
        kept: Diff,
    },
    /// Answers `read`.
    Text {
        /// The end of it, from the beginning of a line; none if there is no such
        /// file.
        text: Option<String>,
        /// Where in the file that ends.
        end: u64,
    },
    /// A piece of what `collect` asks for; pieces of one name belong together.
    Part {
        /// The name of a file, its folders parted by `/`.
        name: String,
        /// What it holds.
        text: String,
    },
    /// Answers `collect`: that was all.
    Collected,
    /// How far a `pull` is.
    Pulling {
        /// So many bytes of the download are there.
        bytes: u64,
    },
    /// Answers `pull`: the blobs are there, and are what their hashes say.
    Pulled,
    /// Something happened in a run.
    Event(Event),
    /// Another run is at work.
    Refused(Busy),
    /// Answers `retire`.
    Retired,
    /// What was asked could not be done at all.
    Failed(Failure),
    /// Answers `bye`, or says that the agent ends.
    Bye,
}

/// One step as it was observed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ObservedStep {
    /// Which.
    pub id: ResourceId,
    /// Right, or what would change; or why that cannot be said.
    pub seen: Result<Diff, Failure>,
}

impl ObservedStep {
    /// Whether nothing is to be done.
    #[must_use]
    pub fn is_right(&self) -> bool {
        self.seen.as_ref().is_ok_and(Diff::is_right)
    }
}

/// Why a run was refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Busy {
    /// The run that was refused.
    pub run: RunId,
    /// Who has the host.
    pub holder: LockHolder,
}

/// A run that has the host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LockHolder {
    /// The run.
    pub run: RunId,
    /// Who began it.
    pub controller: String,
    /// Since when, in seconds of the host's clock since 1970.
    pub since: u64,
}

/// A host's operating system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum OperatingSystem {
    /// Windows.
    Windows,
    /// Linux.
    Linux,
}

/// What a host is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HostFacts {
    /// Which system.
    pub os: OperatingSystem,
    /// Its name to people (`Windows Server 2022 Datacenter`, `Debian GNU/Linux 12`).
    pub product: String,
    /// Its version (`10.0.20348.3807`; the kernel's on Linux).
    pub version: String,
    /// The processor (`x86_64`).
    pub architecture: String,
    /// The host's own name.
    pub hostname: String,
    /// What keeps services (`scm`, `systemd`); none if nothing does.
    pub service_manager: Option<String>,
    /// Interfaces with their addresses.
    pub interfaces: Vec<InterfaceFacts>,
}

/// One network interface.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct InterfaceFacts {
    /// Its number now.
    pub index: u32,
    /// Its name now.
    pub name: String,
    /// Its addresses with prefix lengths (`198.18.0.11/24`).
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
    fn secrets_are_on_the_wire_and_nowhere_else() {
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
