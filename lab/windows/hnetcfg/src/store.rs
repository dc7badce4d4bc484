//! Stores rules in the registry key and the format that Windows uses:
//! `v2.31|Active=TRUE|Dir=In|Protocol=6|…|Name=casement kubelet|`.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};

use windows_sys::Win32::Foundation::{E_ACCESSDENIED, S_OK};
use windows_sys::core::HRESULT;
use winreg::RegKey;
use winreg::enums::HKEY_LOCAL_MACHINE;

use crate::rule::{Rule, properties};

const KEY: &str =
    r"SYSTEM\CurrentControlSet\Services\SharedAccess\Parameters\FirewallPolicy\FirewallRules";
const VERSION: &str = "v2.31";

/// Property, value, and the keyword that stands for the value in the registry.
const KEYWORDS: [(&str, &str, &str); 5] = [
    ("Active", "1", "TRUE"),
    ("Dir", "1", "In"),
    ("Dir", "2", "Out"),
    ("Action", "0", "Block"),
    ("Action", "1", "Allow"),
];
/// Written even if they have the default value.
const ALWAYS: [&str; 2] = ["Dir", "Action"];

fn key() -> std::io::Result<RegKey> {
    let root = RegKey::predef(HKEY_LOCAL_MACHINE);
    root.create_subkey(KEY).map(|(key, _)| key)
}

/// All rules, sorted by id.
pub fn all() -> Vec<(String, Rule)> {
    let Ok(key) = RegKey::predef(HKEY_LOCAL_MACHINE).open_subkey(KEY) else {
        return Vec::new();
    };
    let values = key.enum_values().flatten();
    let mut rules: Vec<_> = values
        .filter_map(|(id, _)| {
            let text: String = key.get_value(&id).ok()?;
            Some((id, parse_rule(&text)))
        })
        .collect();
    rules.sort_by(|(one, _), (other, _)| one.cmp(other));
    rules
}

pub fn new_id() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let time = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap_or_default();
    let next = NEXT.fetch_add(1, Ordering::SeqCst);
    format!(
        "{{{:08X}-0000-4000-8000-{:012X}}}",
        std::process::id() ^ next.rotate_left(16),
        time.as_micros() & 0xFFFF_FFFF_FFFF
    )
}

pub fn put(id: &str, rule: &Rule) -> HRESULT {
    code(key().and_then(|key| key.set_value(id, &format_rule(rule))))
}

pub fn remove(id: &str) -> HRESULT {
    code(key().and_then(|key| key.delete_value(id)))
}

fn code(result: std::io::Result<()>) -> HRESULT {
    if result.is_ok() { S_OK } else { E_ACCESSDENIED }
}

fn format_rule(rule: &Rule) -> String {
    let values = rule.values();
    let mut text = format!("{VERSION}|");
    for property in properties() {
        let name = property.0;
        let default = ALWAYS.contains(&name).then_some("1");
        if let Some(value) = values.get(name).map(String::as_str).or(default) {
            let keyword = KEYWORDS.iter().find(|it| (it.0, it.1) == (name, value));
            let value = keyword.map_or(value, |keyword| keyword.2);
            text.push_str(&format!("{name}={value}|"));
        }
    }
    text
}

fn parse_rule(text: &str) -> Rule {
    let parts = text.split('|').filter_map(|part| part.split_once('='));
    let known = parts.filter_map(|(name, value)| {
        let name = properties().find(|property| property.0 == name)?.0;
        let keyword = KEYWORDS.iter().find(|it| (it.0, it.2) == (name, value));
        Some((name, keyword.map_or(value, |keyword| keyword.1).to_owned()))
    });
    Rule::new(known.collect::<BTreeMap<_, _>>())
}
