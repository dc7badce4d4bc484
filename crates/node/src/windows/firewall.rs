//! Rules of the Windows firewall, through its COM objects.
//!
//! All properties of a rule are read and written one by one, so that a rule that
//! casement did not create can be restored exactly.
#![allow(unsafe_code, reason = "the firewall's objects")]

use casement_resource::{Code, Failure, FirewallRule, FirewallRuleFacts};
use serde_json::{Map, Value, json};
use windows_sys::Win32::Foundation::E_UNEXPECTED;
use windows_sys::Win32::NetworkManagement::WindowsFirewall::{
    NET_FW_ACTION_ALLOW, NET_FW_PROFILE2_ALL, NET_FW_RULE_DIR_IN, NetFwPolicy2, NetFwRule,
};
use windows_sys::core::GUID;

use super::Windows;
use super::com::{self, Apartment, ComResult, FIRST, Object};
use crate::platform::Firewall;

/// `INetFwPolicy2`.
const POLICY: GUID = GUID::from_u128(0x98325047_c671_4174_8d81_defcd3f03186);
const POLICY_RULES: usize = FIRST + 11;

/// Methods of `INetFwRules`.
const RULES_ADD: usize = FIRST + 1;
const RULES_REMOVE: usize = FIRST + 2;
const RULES_ENUM: usize = FIRST + 4;

/// `IEnumVARIANT`.
const ENUM_VARIANT: GUID = GUID::from_u128(0x00020404_0000_0000_c000_000000000046);

/// `INetFwRule3`: Windows Server 2012 and newer.
const RULE: GUID = GUID::from_u128(0xb21563ff_d696_4222_ab46_4e89b73ab34a);
const RULE_NAME: usize = FIRST;
const RULE_INTERFACES: usize = FIRST + 22;

/// The setter of a property has the next vtable index after its getter.
#[derive(Clone, Copy)]
enum PropertyType {
    Text,
    Number,
    Flag,
}

/// In the order in which they can be written: ports depend on the protocol.
/// Interfaces are not included.
const PROPERTIES: [(&str, usize, PropertyType); 23] = {
    use PropertyType::{Flag, Number, Text};
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

/// Properties that restrict a rule unless they have one of these values.
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
                .collect::<ComResult<Vec<_>>>()
        })?;
        if found.iter().any(|(_, bound)| *bound) {
            return Err(Failure::new(
                Code::Foreign,
                format!("the firewall rule `{name}` is bound to interfaces and does not belong to casement"),
                "rename or delete the rule, then run `casement apply` again",
            )
            .values("a rule for all interfaces", "a rule for specific interfaces, which cannot be restored"));
        }
        Ok(found
            .into_iter()
            .map(|(rule, _)| Value::Object(rule))
            .collect())
    }

    fn set_firewall_rule(&self, rule: &FirewallRule) -> Result<(), Failure> {
        let expected = json!({
            "name": rule.name,
            "description": "Managed by casement",
            "protocol": rule.protocol.number(),
            "localPorts": rule.port.to_string(),
            "direction": NET_FW_RULE_DIR_IN,
            "profiles": NET_FW_PROFILE2_ALL,
            "action": NET_FW_ACTION_ALLOW,
            "enabled": true,
        });
        self.restore_firewall_rules(&rule.name, &[expected])
    }

    fn restore_firewall_rules(&self, name: &str, saved: &[Value]) -> Result<(), Failure> {
        with_rules(&format!("write the firewall rule `{name}`"), |rules| {
            // Create all rules before removing any.
            let new: Vec<_> = saved.iter().map(create).collect::<ComResult<_>>()?;
            remove(rules, name)?;
            for rule in &new {
                // SAFETY: this method takes a rule.
                unsafe { rules.put_object(RULES_ADD, rule) }?;
            }
            Ok(())
        })
    }
}

fn with_rules<T>(action: &str, work: impl FnOnce(&Object) -> ComResult<T>) -> Result<T, Failure> {
    let worked = || {
        let _apartment = Apartment::enter()?;
        let policy = Object::new(&NetFwPolicy2, &POLICY)?;
        // SAFETY: this method returns the rules.
        let rules = unsafe { policy.object(POLICY_RULES) }?;
        work(&rules)
    };
    worked().map_err(|code| firewall_failure(action, code))
}

fn firewall_failure(action: &str, code: i32) -> Failure {
    const EPT_S_NOT_REGISTERED: u32 = 0x8007_06D9;
    let failure = com::failure(action, code);
    if code.cast_unsigned() == EPT_S_NOT_REGISTERED {
        return Failure {
            help: "start the service `MpsSvc` (Windows Firewall), then run `casement apply` again"
                .to_owned(),
            ..failure
        };
    }
    failure
}

fn named(rules: &Object, name: &str) -> ComResult<Vec<Object>> {
    // SAFETY: this method returns an `IEnumVARIANT`.
    let all = unsafe { rules.object(RULES_ENUM)?.query(&ENUM_VARIANT)?.iterate() }?;
    let mut found = Vec::new();
    for rule in all {
        let rule = rule.query(&RULE)?;
        // SAFETY: this method returns a string.
        let rule_name = unsafe { rule.text(RULE_NAME) }?;
        if rule_name.to_lowercase() == name.to_lowercase() {
            found.push(rule);
        }
    }
    Ok(found)
}

/// It is not documented how many rules with the same name one call removes.
fn remove(rules: &Object, name: &str) -> ComResult<()> {
    let mut left = named(rules, name)?;
    while let Some(rule) = left.first() {
        // SAFETY: one method returns a string, the other takes one.
        unsafe { rules.put_text(RULES_REMOVE, &rule.text(RULE_NAME)?) }?;
        let remaining = named(rules, name)?;
        if remaining.len() >= left.len() {
            return Err(E_UNEXPECTED);
        }
        left = remaining;
    }
    Ok(())
}

fn is_bound(rule: &Object) -> ComResult<bool> {
    // SAFETY: this method returns a VARIANT.
    unsafe { rule.has_value(RULE_INTERFACES) }
}

fn property(rule: &Object, index: usize, kind: PropertyType) -> ComResult<Value> {
    // SAFETY: PROPERTIES lists the type of each getter.
    unsafe {
        Ok(match kind {
            PropertyType::Text => rule.text(index)?.into(),
            PropertyType::Number => rule.number(index)?.into(),
            PropertyType::Flag => rule.flag(index)?.into(),
        })
    }
}

fn read(rule: &Object) -> ComResult<Map<String, Value>> {
    let mut found = Map::new();
    for (name, index, kind) in PROPERTIES {
        found.insert(name.to_owned(), property(rule, index, kind)?);
    }
    Ok(found)
}

/// Properties that already have the value are not written: not every value that can
/// be read can be written to every rule.
fn create(saved: &Value) -> ComResult<Object> {
    let rule = Object::new(&NetFwRule, &RULE)?;
    for (name, index, kind) in PROPERTIES {
        let expected = saved.get(name).unwrap_or(&Value::Null);
        if expected.is_null() || *expected == property(&rule, index, kind)? {
            continue;
        }
        let number = || expected.as_i64().and_then(|it| i32::try_from(it).ok());
        // SAFETY: PROPERTIES lists the type of each setter.
        unsafe {
            match kind {
                PropertyType::Text => {
                    rule.put_text(index + 1, expected.as_str().unwrap_or_default())
                }
                PropertyType::Number => rule.put_number(index + 1, number().unwrap_or_default()),
                PropertyType::Flag => {
                    rule.put_flag(index + 1, expected.as_bool().unwrap_or_default())
                }
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
    // Domain, private and public; newer Windows may add bits.
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
