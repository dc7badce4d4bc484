//! Firewall rules.

use casement_resource::{Failure, FirewallRule, Protocol};
use serde_json::json;

use super::{Check, Host, Outcome, did, equal, so};

pub const CHECKS: &[Check] = &[
    ("firewall rule", rule),
    ("firewall rules of one name", several),
    ("firewall rule left for reg", leave),
];

/// Left behind for `reg query`.
const LEFT: &str = "platformcheck left";
const NAME: &str = "platformcheck";

pub fn clean(host: &Host) -> Result<(), Failure> {
    host.platform.restore_firewall_rules(LEFT, &[])
}

fn wanted(name: &str, port: u16) -> FirewallRule {
    FirewallRule {
        name: name.to_owned(),
        protocol: Protocol::Udp,
        port,
    }
}

fn rule(host: &Host) -> Outcome {
    let firewall = &host.platform;
    equal(did(firewall.firewall_rules(NAME))?, Vec::new())?;
    equal(did(firewall.save_firewall_rules(NAME))?, Vec::new())?;
    for port in [4789, 4790] {
        let wanted = wanted(NAME, port);
        did(firewall.set_firewall_rule(&wanted))?;
        let found = did(firewall.firewall_rules(&NAME.to_uppercase()))?;
        so(wanted.diff(&found).is_right(), &format!("{found:?}"))?;
    }
    did(firewall.restore_firewall_rules(NAME, &[]))?;
    did(firewall.restore_firewall_rules(NAME, &[]))?;
    equal(did(firewall.firewall_rules(NAME))?, Vec::new())
}

/// Two that casement did not make come back with all that they had.
fn several(host: &Host) -> Outcome {
    let firewall = &host.platform;
    let first = json!({
        "name": NAME, "description": "somebody's", "program": r"C:\some.exe", "protocol": 6,
        "localPorts": "80,443", "remoteAddresses": "10.0.0.0/255.0.0.0", "direction": 1,
        "profiles": 2, "action": 0, "enabled": true, "group": "some",
    });
    let second = json!({"name": NAME, "protocol": 1, "direction": 2, "action": 1});
    did(firewall.restore_firewall_rules(NAME, &[first.clone(), second]))?;
    let saved = did(firewall.save_firewall_rules(NAME))?;
    equal(saved.len(), 2)?;
    let is_first = |rule: &&serde_json::Value| rule.get("protocol") == first.get("protocol");
    let found = saved.iter().find(is_first).ok_or("the first is gone")?;
    for (name, value) in first.as_object().unwrap() {
        equal((name, &found[name]), (name, value))?;
    }
    did(firewall.set_firewall_rule(&wanted(NAME, 1)))?;
    equal(did(firewall.firewall_rules(NAME))?.len(), 1)?;
    did(firewall.restore_firewall_rules(NAME, &saved))?;
    let mut again = did(firewall.save_firewall_rules(NAME))?;
    let mut saved = saved;
    for rules in [&mut again, &mut saved] {
        rules.sort_by_key(ToString::to_string);
    }
    equal(again, saved)?;
    let facts = did(firewall.firewall_rules(NAME))?;
    let limits = facts.iter().flat_map(|rule| &rule.limits);
    let mut limits: Vec<_> = limits.map(String::as_str).collect();
    limits.sort_unstable();
    let wanted = vec![r"program C:\some.exe", "remoteAddresses 10.0.0.0/255.0.0.0"];
    equal(limits, wanted)?;
    did(firewall.restore_firewall_rules(NAME, &[]))
}

fn leave(host: &Host) -> Outcome {
    did(host.platform.set_firewall_rule(&wanted(LEFT, 4789)))
}
