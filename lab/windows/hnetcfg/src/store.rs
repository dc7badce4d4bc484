//! Where rules are kept: in Windows' own key, in its own notation.
//!
//! `v2.31|Active=TRUE|Dir=In|Protocol=6|…|Name=casement kubelet|`. What Windows
//! writes in words, is in words here too.

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

/// Values that have a word in the registry.
const WORDS: [(&str, &str, &str); 5] = [
    ("Active", "1", "TRUE"),
    ("Dir", "1", "In"),
    ("Dir", "2", "Out"),
    ("Action", "0", "Block"),
    ("Action", "1", "Allow"),
];
/// Written although a new rule has them.
const ALWAYS: [&str; 2] = ["Dir", "Action"];

fn key() -> std::io::Result<RegKey> {
    let root = RegKey::predef(HKEY_LOCAL_MACHINE);
    root.create_subkey(KEY).map(|(key, _)| key)
}

/// All rules with their ids, in the order of those.
pub fn all() -> Vec<(String, Rule)> {
    let Ok(key) = RegKey::predef(HKEY_LOCAL_MACHINE).open_subkey(KEY) else {
        return Vec::new();
    };
    let values = key.enum_values().flatten();
    let mut rules: Vec<_> = values
        .filter_map(|(id, _)| {
            let text: String = key.get_value(&id).ok()?;
            Some((id, parse(&text)))
        })
        .collect();
    rules.sort_by(|(one, _), (other, _)| one.cmp(other));
    rules
}

/// A name that no rule has.
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
    code(key().and_then(|key| key.set_value(id, &written(rule))))
}

pub fn remove(id: &str) -> HRESULT {
    code(key().and_then(|key| key.delete_value(id)))
}

fn code(result: std::io::Result<()>) -> HRESULT {
    if result.is_ok() { S_OK } else { E_ACCESSDENIED }
}

fn written(rule: &Rule) -> String {
    let values = rule.values();
    let mut text = format!("{VERSION}|");
    for property in properties() {
        let name = property.0;
        let default = ALWAYS.contains(&name).then_some("1");
        if let Some(value) = values.get(name).map(String::as_str).or(default) {
            let word = WORDS.iter().find(|it| (it.0, it.1) == (name, value));
            let value = word.map_or(value, |word| word.2);
            text.push_str(&format!("{name}={value}|"));
        }
    }
    text
}

fn parse(text: &str) -> Rule {
    let parts = text.split('|').filter_map(|part| part.split_once('='));
    let known = parts.filter_map(|(name, value)| {
        let name = properties().find(|property| property.0 == name)?.0;
        let word = WORDS.iter().find(|it| (it.0, it.2) == (name, value));
        Some((name, word.map_or(value, |word| word.1).to_owned()))
    });
    Rule::new(known.collect::<BTreeMap<_, _>>())
}
