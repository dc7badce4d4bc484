//! Firewall rules.

use casement_resource::{Failure, FirewallRule, Protocol};
use serde_json::json;

use super::{Check, Host, Outcome, ensure, equal, ok};

pub const CHECKS: &[Check] = &[
    ("firewall rule", rule),
    ("firewall rules with the same name", same_name),
    ("firewall rule left for reg", left_for_reg),
];

/// Left behind for `reg query`.
const LEFT: &str = "platformcheck left";
const NAME: &str = "platformcheck";

pub fn clean(host: &Host) -> Result<(), Failure> {
    host.platform.restore_firewall_rules(LEFT, &[])
}

fn udp_rule(name: &str, port: u16) -> FirewallRule {
    FirewallRule {
        name: name.to_owned(),
        protocol: Protocol::Udp,
        port,
    }
}

fn rule(host: &Host) -> Outcome {
    let firewall = &host.platform;
    equal(ok(firewall.firewall_rules(NAME))?, Vec::new())?;
    equal(ok(firewall.save_firewall_rules(NAME))?, Vec::new())?;
    for port in [4789, 4790] {
        let expected = udp_rule(NAME, port);
        ok(firewall.set_firewall_rule(&expected))?;
        let found = ok(firewall.firewall_rules(&NAME.to_uppercase()))?;
        ensure(expected.diff(&found).in_sync(), &format!("{found:?}"))?;
    }
    ok(firewall.restore_firewall_rules(NAME, &[]))?;
    ok(firewall.restore_firewall_rules(NAME, &[]))?;
    equal(ok(firewall.firewall_rules(NAME))?, Vec::new())
}

/// Rules that casement did not create are restored with all properties.
fn same_name(host: &Host) -> Outcome {
    let firewall = &host.platform;
    let first = json!({
        "name": NAME, "description": "foreign", "program": r"C:\some.exe", "protocol": 6,
        "localPorts": "80,443", "remoteAddresses": "10.0.0.0/255.0.0.0", "direction": 1,
        "profiles": 2, "action": 0, "enabled": true, "group": "some",
    });
    let second = json!({"name": NAME, "protocol": 1, "direction": 2, "action": 1});
    ok(firewall.restore_firewall_rules(NAME, &[first.clone(), second]))?;
    let saved = ok(firewall.save_firewall_rules(NAME))?;
    equal(saved.len(), 2)?;
    let is_first = |rule: &&serde_json::Value| rule.get("protocol") == first.get("protocol");
    let found = saved.iter().find(is_first).ok_or("the first is gone")?;
    for (name, value) in first.as_object().unwrap() {
        equal((name, &found[name]), (name, value))?;
    }
    ok(firewall.set_firewall_rule(&udp_rule(NAME, 1)))?;
    equal(ok(firewall.firewall_rules(NAME))?.len(), 1)?;
    ok(firewall.restore_firewall_rules(NAME, &saved))?;
    let mut again = ok(firewall.save_firewall_rules(NAME))?;
    let mut saved = saved;
    for rules in [&mut again, &mut saved] {
        rules.sort_by_key(ToString::to_string);
    }
    equal(again, saved)?;
    let facts = ok(firewall.firewall_rules(NAME))?;
    let limits = facts.iter().flat_map(|rule| &rule.limits);
    let mut limits: Vec<_> = limits.map(String::as_str).collect();
    limits.sort_unstable();
    let expected = vec![r"program C:\some.exe", "remoteAddresses 10.0.0.0/255.0.0.0"];
    equal(limits, expected)?;
    ok(firewall.restore_firewall_rules(NAME, &[]))
}

fn left_for_reg(host: &Host) -> Outcome {
    ok(host.platform.set_firewall_rule(&udp_rule(LEFT, 4789)))
}
