//! `firewallRule`: what may come in.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::diff::compare;
use crate::{Change, Diff};

/// What carries the packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    /// TCP.
    Tcp,
    /// UDP.
    Udp,
}

impl Protocol {
    /// Its number in an IP packet.
    #[must_use]
    pub const fn number(self) -> u32 {
        match self {
            Self::Tcp => 6,
            Self::Udp => 17,
        }
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Tcp => "tcp",
            Self::Udp => "udp",
        })
    }
}

/// A rule that lets packets to one port in, whatever the profile of the network.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FirewallRule {
    /// Its name, by which it is found again.
    pub name: String,
    /// TCP or UDP.
    pub protocol: Protocol,
    /// The port.
    pub port: u16,
}

/// A rule as found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FirewallRuleFacts {
    /// The protocol's number; 256 stands for all of them.
    pub protocol: u32,
    /// The host's ports, as written.
    pub ports: String,
    /// Whether it is about packets that come in.
    pub inbound: bool,
    /// Whether it lets them pass; else it blocks.
    pub allows: bool,
    /// Whether it is in force.
    pub enabled: bool,
    /// Whether it holds in every profile.
    pub every_profile: bool,
    /// What else it is limited to (`remoteAddresses 10.0.0.0/8`).
    pub limits: Vec<String>,
}

impl FirewallRule {
    /// What is to change, given all rules of this name: a system may have
    /// several.
    #[must_use]
    pub fn diff(&self, facts: &[FirewallRuleFacts]) -> Diff {
        let wanted = format!("{}/{}", self.port, self.protocol);
        let rule = match facts {
            [] => return Diff::Changes(vec![Change::missing("rule", wanted)]),
            [rule] => rule,
            several => {
                let before = format!("{} of this name", several.len());
                return Diff::Changes(vec![Change::field("rules", before, wanted)]);
            }
        };
        let mut changes = Vec::new();
        compare(
            &mut changes,
            "protocol",
            &protocol(rule.protocol),
            &self.protocol.to_string(),
        );
        compare(&mut changes, "ports", &rule.ports, &self.port.to_string());
        for (field, is, no, yes) in [
            ("direction", rule.inbound, "out", "in"),
            ("action", rule.allows, "block", "allow"),
            ("enabled", rule.enabled, "false", "true"),
            ("profiles", rule.every_profile, "some", "all"),
        ] {
            compare(&mut changes, field, &(if is { yes } else { no }), &yes);
        }
        if !rule.limits.is_empty() {
            let limits = rule.limits.join(", ");
            changes.push(Change::field("limits", limits, "none"));
        }
        Diff::from_changes(changes, || format!("{wanted} may come in"))
    }
}

fn protocol(number: u32) -> String {
    let known = [Protocol::Tcp, Protocol::Udp]
        .into_iter()
        .find(|known| known.number() == number);
    known.map_or_else(|| format!("number {number}"), |known| known.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule() -> FirewallRule {
        FirewallRule {
            name: "kubelet".to_owned(),
            protocol: Protocol::Tcp,
            port: 10250,
        }
    }

    fn facts() -> FirewallRuleFacts {
        FirewallRuleFacts {
            protocol: 6,
            ports: "10250".to_owned(),
            inbound: true,
            allows: true,
            enabled: true,
            every_profile: true,
            limits: Vec::new(),
        }
    }

    fn fields(facts: &[FirewallRuleFacts]) -> Vec<String> {
        match rule().diff(facts) {
            Diff::Right { .. } => Vec::new(),
            Diff::Changes(changes) => changes.into_iter().map(|change| change.field).collect(),
        }
    }

    #[test]
    fn whatever_keeps_a_packet_out_is_a_change() {
        assert!(fields(&[facts()]).is_empty());
        assert_eq!(fields(&[]), ["rule"]);
        assert_eq!(fields(&[facts(), facts()]), ["rules"]);
        let other = FirewallRuleFacts {
            protocol: 17,
            ports: "10250-10255".to_owned(),
            inbound: false,
            allows: false,
            enabled: false,
            every_profile: false,
            limits: vec!["remoteAddresses LocalSubnet".to_owned()],
        };
        assert_eq!(
            fields(&[other]),
            [
                "protocol",
                "ports",
                "direction",
                "action",
                "enabled",
                "profiles",
                "limits"
            ]
        );
    }
}
