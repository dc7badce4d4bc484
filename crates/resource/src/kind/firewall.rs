//! `firewallRule`: an inbound firewall rule.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::diff::compare;
use crate::{Change, Diff};

/// The transport protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    Tcp,
    Udp,
}

impl Protocol {
    /// The IP protocol number.
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

/// Allows inbound packets to one port, in every network profile.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FirewallRule {
    /// Identifies the rule.
    pub name: String,
    /// TCP or UDP.
    pub protocol: Protocol,
    pub port: u16,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FirewallRuleFacts {
    /// The protocol number; 256 means any.
    pub protocol: u32,
    /// The local ports, verbatim.
    pub ports: String,
    /// Inbound, as opposed to outbound.
    pub inbound: bool,
    /// Allow, as opposed to block.
    pub allows: bool,
    pub enabled: bool,
    /// Whether it applies in every profile.
    pub every_profile: bool,
    /// Other restrictions (`remoteAddresses 10.0.0.0/8`).
    pub limits: Vec<String>,
}

impl FirewallRule {
    /// Several rules may have this name.
    #[must_use]
    pub fn diff(&self, facts: &[FirewallRuleFacts]) -> Diff {
        let wanted = format!("{}/{}", self.port, self.protocol);
        let rule = match facts {
            [] => return Diff::Changes(vec![Change::missing("rule", wanted)]),
            [rule] => rule,
            several => {
                let before = format!("{} with this name", several.len());
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
        Diff::from_changes(changes, || format!("{wanted} is allowed"))
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
            Diff::InSync { .. } => Vec::new(),
            Diff::Changes(changes) => changes.into_iter().map(|change| change.field).collect(),
        }
    }

    #[test]
    fn every_setting_that_blocks_packets_is_a_change() {
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
