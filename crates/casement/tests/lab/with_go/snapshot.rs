//! The state of a Windows host: files, registry, services, HNS.
//!
//! Files are read from the overlay that the host wrote on its template, so only the
//! differences to a fresh Windows are compared.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::lab_fixture::{Lab, succeed};

/// One value per item, by name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Snapshot(BTreeMap<String, String>);

impl Snapshot {
    pub fn of(lab: &Lab, host: &str) -> Self {
        let mut items = BTreeMap::new();
        files(lab, host, &mut items);
        registry(lab, host, &mut items);
        hns(lab, host, &mut items);
        Self(items)
    }

    /// The names with a prefix.
    pub fn with_prefix(&self, prefix: &str) -> Vec<&str> {
        let names = self.0.keys().map(String::as_str);
        names.filter(|name| name.starts_with(prefix)).collect()
    }

    /// Applies a function to every name and value.
    pub fn map(self, change: impl Fn(&str) -> String) -> Self {
        let items = self.0.into_iter();
        Self(
            items
                .map(|(key, value)| (change(&key), change(&value)))
                .collect(),
        )
    }

    /// Drops the names with any of the prefixes.
    pub fn without(mut self, prefixes: &[String]) -> Self {
        self.0.retain(|name, _| {
            !prefixes
                .iter()
                .any(|prefix| name.starts_with(prefix.as_str()))
        });
        self
    }

    /// One line per difference.
    pub fn differences(&self, other: &Self) -> Vec<String> {
        let names: BTreeSet<&String> = self.0.keys().chain(other.0.keys()).collect();
        let different =
            names
                .into_iter()
                .filter_map(|name| match (self.0.get(name), other.0.get(name)) {
                    (Some(before), Some(after)) if before == after => None,
                    (Some(before), Some(after)) => Some(format!("~ {name}: {before} -> {after}")),
                    (Some(_), None) => Some(format!("- {name}")),
                    (None, Some(after)) => Some(format!("+ {name}: {after}")),
                    (None, None) => None,
                });
        different.collect()
    }
}

/// Short texts are kept verbatim, everything else as hash.
fn files(lab: &Lab, host: &str, items: &mut BTreeMap<String, String>) {
    let written = lab.folder().join("hosts").join(host).join("written/prefix");
    let record = fs::read_to_string(lab.folder().join("lab.json")).unwrap();
    let record: Value = serde_json::from_str(&record).unwrap();
    let template = Path::new(record["template"].as_str().unwrap());
    visit(
        &written.join("drive_c"),
        &template.join("drive_c"),
        "C:",
        items,
    );
}

fn visit(written: &Path, template: &Path, name: &str, items: &mut BTreeMap<String, String>) {
    let Ok(entries) = fs::read_dir(written) else {
        return;
    };
    for entry in entries.flatten() {
        let file = entry.file_name().to_string_lossy().into_owned();
        let (path, fresh) = (entry.path(), template.join(&file));
        let name = format!("{name}\\{file}");
        if name.starts_with(EXPORTED) {
            continue;
        }
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            if !fresh.is_dir() {
                items.insert(format!("file {name}"), "a folder".to_owned());
            }
            visit(&path, &fresh, &name, items);
        } else if kind.is_char_device() {
            items.insert(format!("file {name}"), "deleted".to_owned());
        } else if kind.is_symlink() {
            let to = fs::read_link(&path).unwrap().display().to_string();
            items.insert(format!("file {name}"), format!("-> {to}"));
        } else if kind.is_file() && fs::read(&path).ok() != fs::read(&fresh).ok() {
            items.insert(format!("file {name}"), content(&path));
        }
    }
}

fn content(path: &Path) -> String {
    const SHORT: u64 = 16 * 1024;
    let size = fs::metadata(path).map_or(0, |metadata| metadata.len());
    match fs::read_to_string(path) {
        Ok(text) if size <= SHORT => text,
        _ => succeed(Command::new("sha256sum").arg(path))[..64].to_owned(),
    }
}

/// Prefix of the registry exports, which stay on the host and are not compared.
const EXPORTED: &str = r"C:\lab\exported-";

/// The output of `reg export`, which includes services.
fn registry(lab: &Lab, host: &str, items: &mut BTreeMap<String, String>) {
    let roots = [("1", r"HKLM\SYSTEM"), ("2", r"HKLM\SOFTWARE"), ("3", "HKU")];
    let lines = roots.map(|(name, root)| format!("reg export {root} {EXPORTED}{name}.reg /y"));
    lab.cmd(host, &lines.join(" && "));
    for (name, _) in roots {
        let path = format!("hosts/{host}/written/prefix/drive_c/lab/exported-{name}.reg");
        let bytes = fs::read(lab.folder().join(path)).unwrap();
        let units = bytes
            .chunks_exact(2)
            .map(|two| u16::from_le_bytes([two[0], two[1]]));
        let text: String = char::decode_utf16(units)
            .map(|it| it.unwrap_or('?'))
            .collect();
        let text = text.replace("\\\r\n", "");
        let mut key = String::new();
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
            if line.starts_with('[') {
                key = line.trim_matches(['[', ']']).to_owned();
                items.insert(format!("registry {key}"), String::new());
            } else if let Some((value, data)) = line.split_once('=') {
                if key.ends_with(r"\FirewallPolicy\FirewallRules") {
                    items.insert(format!("registry {key} {}", rule(data)), String::new());
                    continue;
                }
                items.insert(format!("registry {key} {value}"), data.to_owned());
            }
        }
    }
}

/// Identifies a firewall rule by its content in any order, because its ID is new each
/// time the rule is created or restored.
fn rule(data: &str) -> String {
    let mut parts: Vec<&str> = data.trim_matches('"').split('|').collect();
    parts.sort_unstable();
    parts.join("|")
}

fn hns(lab: &Lab, host: &str, items: &mut BTreeMap<String, String>) {
    for kind in ["networks", "endpoints", "policylists"] {
        let answer = lab.cmd(host, &format!(r"C:\lab\hnscall.exe GET /{kind}/"));
        let answer: Value = serde_json::from_str(&answer).unwrap();
        for object in answer["Output"].as_array().into_iter().flatten() {
            let mut object = object.clone();
            // Has the time of the last query.
            object.as_object_mut().unwrap().remove("Health");
            let name = object["Name"].as_str().unwrap_or_default();
            let id = object["ID"].as_str().unwrap_or_default();
            items.insert(format!("hns {kind} {name} {id}"), object.to_string());
        }
    }
}
