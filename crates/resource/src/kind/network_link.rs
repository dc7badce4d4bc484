//! `networkLink`: a virtual network link: bridge, VXLAN or dummy.

use std::fmt;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::{Change, Diff, LinkName};

/// The link type, with settings that cannot be changed later.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum LinkType {
    Bridge,
    /// Drops all packets.
    Dummy,
    /// A tunnel over UDP.
    Vxlan {
        /// The VNI.
        id: u32,
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

/// A link that should exist and be up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NetworkLink {
    pub name: LinkName,
    pub link: LinkType,
    /// None: the kernel's default.
    pub mtu: Option<u32>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ObservedLink {
    /// None for other types.
    pub link: Option<LinkType>,
    /// The MTU.
    pub mtu: u32,
    pub up: bool,
}

impl ObservedLink {
    #[must_use]
    pub fn kind(&self) -> String {
        let link = self.link.as_ref();
        link.map_or_else(|| "another link type".to_owned(), LinkType::to_string)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NetworkLinkFacts {
    /// None if the link does not exist.
    #[serde(rename = "seen")]
    pub observed: Option<ObservedLink>,
}

impl NetworkLink {
    #[must_use]
    pub fn diff(&self, facts: &NetworkLinkFacts) -> Diff {
        let Some(seen) = &facts.observed else {
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
            observed: Some(ObservedLink {
                link: Some(link),
                mtu,
                up,
            }),
        };
        assert_eq!(
            wanted.diff(&seen(vxlan(4096), 1450, true)),
            Diff::unchanged("vxlan 4096 on port 4789 from 198.18.0.11, mtu 1450, up")
        );
        assert!(!wanted.diff(&seen(vxlan(1), 1450, true)).in_sync());
        assert!(!wanted.diff(&seen(vxlan(4096), 1500, true)).in_sync());
        assert!(!wanted.diff(&seen(vxlan(4096), 1450, false)).in_sync());
        assert!(!wanted.diff(&NetworkLinkFacts { observed: None }).in_sync());
    }
}
