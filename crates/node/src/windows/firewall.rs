//! The rules of Windows' firewall, through its objects.
//!
//! A rule is read and written property by property, all of them, so that one
//! that casement did not make can be put back as it was.
#![allow(unsafe_code, reason = "the firewall's objects")]

use casement_resource::{Code, Failure, FirewallRule, FirewallRuleFacts};
use serde_json::{Map, Value, json};
use windows_sys::Win32::Foundation::E_UNEXPECTED;
use windows_sys::Win32::NetworkManagement::WindowsFirewall::{
    NET_FW_ACTION_ALLOW, NET_FW_PROFILE2_ALL, NET_FW_RULE_DIR_IN, NetFwPolicy2, NetFwRule,
};
use windows_sys::core::GUID;

use super::Windows;
use super::com::{self, Answer, Apartment, FIRST, Object};
use crate::platform::Firewall;

/// `INetFwPolicy2`.
const POLICY: GUID = GUID::from_u128(0x98325047_c671_4174_8d81_defcd3f03186);
const POLICY_RULES: usize = FIRST + 11;

/// `INetFwRules` is what the policy gives.
const RULES_ADD: usize = FIRST + 1;
const RULES_REMOVE: usize = FIRST + 2;
const RULES_EACH: usize = FIRST + 4;

/// `IEnumVARIANT`.
const EACH: GUID = GUID::from_u128(0x00020404_0000_0000_c000_000000000046);

/// `INetFwRule3`, which all Windows Servers since 2012 have.
const RULE: GUID = GUID::from_u128(0xb21563ff_d696_4222_ab46_4e89b73ab34a);
const RULE_NAME: usize = FIRST;
const RULE_INTERFACES: usize = FIRST + 22;

/// What a property is; the function that writes it comes after the one that
/// reads it.
#[derive(Clone, Copy)]
enum Shape {
    Text,
    Number,
    Flag,
}

/// The properties of a rule in the order in which they can be written: ports
/// mean something once the protocol is known. Interfaces are not among them.
const PROPERTIES: [(&str, usize, Shape); 23] = {
    use Shape::{Flag, Number, Text};
    [
        ("name", RULE_NAME, Text),
        ("description", FIRST + 2, Text),
        ("program", FIRST + 4, Text),
        ("service", FIRST + 6, Text),
        ("protocol", FIRST + 8, Number),
        ("localPorts", FIRST + 10, Text),
        ("remotePorts", FIRST + 12, Text),
        ("localAddresses", FIRST + 14, Text),
        ("remoteAddresses", FIRST + 16, Text),
        ("icmpTypes", FIRST + 18, Text),
        ("direction", FIRST + 20, Number),
        ("interfaceTypes", FIRST + 24, Text),
        ("group", FIRST + 28, Text),
        ("profiles", FIRST + 30, Number),
        ("action", FIRST + 34, Number),
        ("edgeTraversal", FIRST + 36, Number),
        ("package", FIRST + 38, Text),
        ("owner", FIRST + 40, Text),
        ("localUsers", FIRST + 42, Text),
        ("remoteUsers", FIRST + 44, Text),
        ("remoteMachines", FIRST + 46, Text),
        ("secureFlags", FIRST + 48, Number),
        ("enabled", FIRST + 26, Flag),
    ]
};

/// Properties that keep packets out unless they have one of these values.
const LIMITS: [(&str, &[&str]); 12] = [
    ("program", &[""]),
    ("service", &["", "*"]),
    ("remotePorts", &["", "*"]),
    ("localAddresses", &["", "*"]),
    ("remoteAddresses", &["", "*"]),
    ("interfaceTypes", &["", "All"]),
    ("package", &[""]),
    ("owner", &[""]),
    ("localUsers", &[""]),
    ("remoteUsers", &[""]),
    ("remoteMachines", &[""]),
    ("secureFlags", &["0"]),
];

impl Firewall for Windows {
    fn firewall_rules(&self, name: &str) -> Result<Vec<FirewallRuleFacts>, Failure> {
        with_rules(&format!("read the firewall rule `{name}`"), |rules| {
            let facts = |rule: &Object| Ok(facts(&read(rule)?, is_bound(rule)?));
            named(rules, name)?.iter().map(facts).collect()
        })
    }

    fn save_firewall_rules(&self, name: &str) -> Result<Vec<Value>, Failure> {
        let found = with_rules(&format!("read the firewall rule `{name}`"), |rules| {
            let saved = |rule: &Object| Ok((read(rule)?, is_bound(rule)?));
            named(rules, name)?
                .iter()
                .map(saved)
                .collect::<Answer<Vec<_>>>()
        })?;
        if found.iter().any(|(_, bound)| *bound) {
            return Err(Failure::new(
                Code::Foreign,
                format!("the firewall rule `{name}` is bound to interfaces, and casement did not make it"),
                "rename or delete the rule, then apply again",
            )
            .values("a rule for all interfaces", "one that cannot be put back"));
        }
        Ok(found
            .into_iter()
            .map(|(rule, _)| Value::Object(rule))
            .collect())
    }

    fn set_firewall_rule(&self, rule: &FirewallRule) -> Result<(), Failure> {
        let wanted = json!({
            "name": rule.name,
            "description": "Made by casement, and removed by it",
            "protocol": rule.protocol.number(),
            "localPorts": rule.port.to_string(),
            "direction": NET_FW_RULE_DIR_IN,
            "profiles": NET_FW_PROFILE2_ALL,
            "action": NET_FW_ACTION_ALLOW,
            "enabled": true,
        });
        self.restore_firewall_rules(&rule.name, &[wanted])
    }

    fn restore_firewall_rules(&self, name: &str, saved: &[Value]) -> Result<(), Failure> {
        with_rules(&format!("write the firewall rule `{name}`"), |rules| {
            // Made whole before anything goes.
            let new: Vec<_> = saved.iter().map(make).collect::<Answer<_>>()?;
            remove(rules, name)?;
            for rule in &new {
                // SAFETY: this place takes a rule.
                unsafe { rules.hand(RULES_ADD, rule) }?;
            }
            Ok(())
        })
    }
}

/// Does something with the rules of this host.
fn with_rules<T>(doing: &str, work: impl FnOnce(&Object) -> Answer<T>) -> Result<T, Failure> {
    let worked = || {
        let _apartment = Apartment::enter()?;
        let policy = Object::new(&NetFwPolicy2, &POLICY)?;
        // SAFETY: this place gives the rules.
        let rules = unsafe { policy.object(POLICY_RULES) }?;
        work(&rules)
    };
    worked().map_err(|code| refusal(doing, code))
}

/// The firewall's service is what answers.
fn refusal(doing: &str, code: i32) -> Failure {
    const NOBODY_ANSWERS: u32 = 0x8007_06D9;
    let failure = com::failure(doing, code);
    if code.cast_unsigned() == NOBODY_ANSWERS {
        return Failure {
            remedy: "start the service `MpsSvc`, Windows' firewall, then apply again".to_owned(),
            ..failure
        };
    }
    failure
}

/// All rules of a name.
fn named(rules: &Object, name: &str) -> Answer<Vec<Object>> {
    // SAFETY: this place gives an object that is an `IEnumVARIANT`.
    let all = unsafe { rules.object(RULES_EACH)?.query(&EACH)?.each() }?;
    let mut found = Vec::new();
    for rule in all {
        let rule = rule.query(&RULE)?;
        // SAFETY: this place gives a text.
        let its = unsafe { rule.text(RULE_NAME) }?;
        if its.to_lowercase() == name.to_lowercase() {
            found.push(rule);
        }
    }
    Ok(found)
}

/// Removes all rules of a name. Windows does not say how many of several go
/// with one call.
fn remove(rules: &Object, name: &str) -> Answer<()> {
    let mut left = named(rules, name)?;
    while let Some(rule) = left.first() {
        // SAFETY: the one place gives a text, the other takes one.
        unsafe { rules.put_text(RULES_REMOVE, &rule.text(RULE_NAME)?) }?;
        let still = named(rules, name)?;
        if still.len() >= left.len() {
            return Err(E_UNEXPECTED);
        }
        left = still;
    }
    Ok(())
}

fn is_bound(rule: &Object) -> Answer<bool> {
    // SAFETY: this place gives a value of any type.
    unsafe { rule.has_value(RULE_INTERFACES) }
}

fn property(rule: &Object, place: usize, shape: Shape) -> Answer<Value> {
    // SAFETY: the table says what each place gives.
    unsafe {
        Ok(match shape {
            Shape::Text => rule.text(place)?.into(),
            Shape::Number => rule.number(place)?.into(),
            Shape::Flag => rule.flag(place)?.into(),
        })
    }
}

fn read(rule: &Object) -> Answer<Map<String, Value>> {
    let mut found = Map::new();
    for (name, place, shape) in PROPERTIES {
        found.insert(name.to_owned(), property(rule, place, shape)?);
    }
    Ok(found)
}

/// Makes a rule; what a new one has already is not written, since not every
/// value that can be read can be written to every rule.
fn make(saved: &Value) -> Answer<Object> {
    let rule = Object::new(&NetFwRule, &RULE)?;
    for (name, place, shape) in PROPERTIES {
        let wanted = saved.get(name).unwrap_or(&Value::Null);
        if wanted.is_null() || *wanted == property(&rule, place, shape)? {
            continue;
        }
        let number = || wanted.as_i64().and_then(|it| i32::try_from(it).ok());
        // SAFETY: the table says what each place takes.
        unsafe {
            match shape {
                Shape::Text => rule.put_text(place + 1, wanted.as_str().unwrap_or_default()),
                Shape::Number => rule.put_number(place + 1, number().unwrap_or_default()),
                Shape::Flag => rule.put_flag(place + 1, wanted.as_bool().unwrap_or_default()),
            }
        }?;
    }
    Ok(rule)
}

fn facts(rule: &Map<String, Value>, bound: bool) -> FirewallRuleFacts {
    let number = |name: &str| rule.get(name).and_then(Value::as_i64).unwrap_or_default();
    let text = |name: &str| match rule.get(name) {
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
        None => String::new(),
    };
    // Domain, private and public; newer ones would have further bits.
    const ALL_PROFILES: i64 = 7;
    let limits = LIMITS.iter().filter_map(|(name, harmless)| {
        let found = text(name);
        (!harmless.contains(&found.as_str())).then(|| format!("{name} {found}"))
    });
    FirewallRuleFacts {
        protocol: u32::try_from(number("protocol")).unwrap_or_default(),
        ports: text("localPorts"),
        inbound: number("direction") == i64::from(NET_FW_RULE_DIR_IN),
        allows: number("action") == i64::from(NET_FW_ACTION_ALLOW),
        enabled: rule.get("enabled") == Some(&Value::Bool(true)),
        every_profile: number("profiles") & ALL_PROFILES == ALL_PROFILES,
        limits: limits
            .chain(bound.then(|| "interfaces".to_owned()))
            .collect(),
    }
}
