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

/// A rule as found; looked up by name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FirewallRuleFacts {
    /// TCP or UDP.
    pub protocol: Protocol,
    /// The port.
    pub port: u16,
    /// Whether it is in force.
    pub enabled: bool,
}

impl FirewallRule {
    /// What is to change; none means that no rule has this name.
    #[must_use]
    pub fn diff(&self, facts: Option<&FirewallRuleFacts>) -> Diff {
        let wanted = format!("{}/{}", self.port, self.protocol);
        let Some(facts) = facts else {
            return Diff::Changes(vec![Change::missing("rule", wanted)]);
        };
        let mut changes = Vec::new();
        compare(&mut changes, "protocol", &facts.protocol, &self.protocol);
        compare(&mut changes, "port", &facts.port, &self.port);
        compare(&mut changes, "enabled", &facts.enabled, &true);
        if changes.is_empty() {
            return Diff::right(format!("{wanted} may come in"));
        }
        Diff::Changes(changes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_that_is_off_is_none() {
        let rule = FirewallRule {
            name: "kubelet".to_owned(),
            protocol: Protocol::Tcp,
            port: 10250,
        };
        let mut facts = FirewallRuleFacts {
            protocol: Protocol::Tcp,
            port: 10250,
            enabled: true,
        };
        assert!(rule.diff(Some(&facts)).is_right());
        facts.enabled = false;
        assert!(!rule.diff(Some(&facts)).is_right());
        assert!(!rule.diff(None).is_right());
    }
}
