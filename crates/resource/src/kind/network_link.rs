//! `networkLink`: a link that exists in the kernel only: bridge, VXLAN, dummy.

use std::fmt;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::{Change, Diff, LinkName};

/// What kind of link, with what cannot be changed once it is made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum LinkType {
    /// A switch.
    Bridge,
    /// A link that leads nowhere.
    Dummy,
    /// A tunnel over UDP.
    Vxlan {
        /// The number of the network (VNI).
        id: u32,
        /// The UDP port.
        port: u16,
        /// The address that packets leave from.
        local: Option<IpAddr>,
    },
}

impl fmt::Display for LinkType {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bridge => formatter.write_str("bridge"),
            Self::Dummy => formatter.write_str("dummy"),
            Self::Vxlan { id, port, local } => {
                write!(formatter, "vxlan {id} on port {port}")?;
                match local {
                    Some(local) => write!(formatter, " from {local}"),
                    None => Ok(()),
                }
            }
        }
    }
}

/// A link that should be there, and up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NetworkLink {
    /// Its name.
    pub name: LinkName,
    /// What it is.
    pub link: LinkType,
    /// The longest packet; none leaves it to the kernel.
    pub mtu: Option<u32>,
}

/// A link as found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LinkSeen {
    /// What it is; none for one of another kind.
    pub link: Option<LinkType>,
    /// The longest packet.
    pub mtu: u32,
    /// Whether it is switched on.
    pub up: bool,
}

impl LinkSeen {
    /// What it is, in words.
    #[must_use]
    pub fn kind(&self) -> String {
        let link = self.link.as_ref();
        link.map_or_else(|| "another kind of link".to_owned(), LinkType::to_string)
    }
}

/// What is known about a link.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NetworkLinkFacts {
    /// None if there is no such link.
    pub seen: Option<LinkSeen>,
}

impl NetworkLink {
    /// What is to change.
    #[must_use]
    pub fn diff(&self, facts: &NetworkLinkFacts) -> Diff {
        let Some(seen) = &facts.seen else {
            return Diff::Changes(vec![Change::missing("link", &self.link)]);
        };
        let mut changes = Vec::new();
        if seen.link.as_ref() != Some(&self.link) {
            changes.push(Change::field("link", seen.kind(), &self.link));
        }
        if let Some(mtu) = self.mtu
            && seen.mtu != mtu
        {
            changes.push(Change::field("mtu", seen.mtu, mtu));
        }
        if !seen.up {
            changes.push(Change::field("state", "down", "up"));
        }
        Diff::from_changes(changes, || format!("{}, mtu {}, up", self.link, seen.mtu))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kind_mtu_and_state_count() {
        let vxlan = |id| LinkType::Vxlan {
            id,
            port: 4789,
            local: Some("198.18.0.11".parse().unwrap()),
        };
        let wanted = NetworkLink {
            name: "flannel.4096".parse().unwrap(),
            link: vxlan(4096),
            mtu: Some(1450),
        };
        let seen = |link, mtu, up| NetworkLinkFacts {
            seen: Some(LinkSeen {
                link: Some(link),
                mtu,
                up,
            }),
        };
        assert_eq!(
            wanted.diff(&seen(vxlan(4096), 1450, true)),
            Diff::right("vxlan 4096 on port 4789 from 198.18.0.11, mtu 1450, up")
        );
        assert!(!wanted.diff(&seen(vxlan(1), 1450, true)).is_right());
        assert!(!wanted.diff(&seen(vxlan(4096), 1500, true)).is_right());
        assert!(!wanted.diff(&seen(vxlan(4096), 1450, false)).is_right());
        assert!(!wanted.diff(&NetworkLinkFacts { seen: None }).is_right());
    }
}
