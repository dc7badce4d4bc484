//! Everything that a Windows host keeps: files, registry, services, HNS.
//!
//! Files are read from what the host has written over its template, so what
//! differs from a fresh Windows is all that there is to compare.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::machine::{Lab, succeed};

/// One line for each thing, by its name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Snapshot(BTreeMap<String, String>);

impl Snapshot {
    /// What is on a host now.
    pub fn of(lab: &Lab, host: &str) -> Self {
        let mut things = BTreeMap::new();
        files(lab, host, &mut things);
        registry(lab, host, &mut things);
        hns(lab, host, &mut things);
        Self(things)
    }

    /// Only those whose name begins so.
    pub fn below(&self, lead: &str) -> Vec<&str> {
        let names = self.0.keys().map(String::as_str);
        names.filter(|name| name.starts_with(lead)).collect()
    }

    /// The same with every text changed.
    pub fn map(self, change: impl Fn(&str) -> String) -> Self {
        let things = self.0.into_iter();
        Self(
            things
                .map(|(key, value)| (change(&key), change(&value)))
                .collect(),
        )
    }

    /// Without what a list of leads names.
    pub fn without(mut self, leads: &[String]) -> Self {
        self.0
            .retain(|name, _| !leads.iter().any(|lead| name.starts_with(lead.as_str())));
        self
    }

    /// What is not the same, one line each.
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

/// Short texts as they are, all else by its hash.
fn files(lab: &Lab, host: &str, things: &mut BTreeMap<String, String>) {
    let written = lab.folder().join("hosts").join(host).join("written/prefix");
    let record = fs::read_to_string(lab.folder().join("lab.json")).unwrap();
    let record: Value = serde_json::from_str(&record).unwrap();
    let template = Path::new(record["template"].as_str().unwrap());
    walk(
        &written.join("drive_c"),
        &template.join("drive_c"),
        "C:",
        things,
    );
}

fn walk(written: &Path, template: &Path, name: &str, things: &mut BTreeMap<String, String>) {
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
                things.insert(format!("file {name}"), "a folder".to_owned());
            }
            walk(&path, &fresh, &name, things);
        } else if kind.is_char_device() {
            things.insert(format!("file {name}"), "deleted".to_owned());
        } else if kind.is_symlink() {
            let to = fs::read_link(&path).unwrap().display().to_string();
            things.insert(format!("file {name}"), format!("-> {to}"));
        } else if kind.is_file() && fs::read(&path).ok() != fs::read(&fresh).ok() {
            things.insert(format!("file {name}"), content(&path));
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

/// Where the registry is written to; left there, and no part of the host.
const EXPORTED: &str = r"C:\lab\exported-";

/// As `reg export` writes it; each value under its key. Services are there too.
fn registry(lab: &Lab, host: &str, things: &mut BTreeMap<String, String>) {
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
                things.insert(format!("registry {key}"), String::new());
            } else if let Some((value, data)) = line.split_once('=') {
                if key.ends_with(r"\FirewallPolicy\FirewallRules") {
                    things.insert(format!("registry {key} {}", rule(data)), String::new());
                    continue;
                }
                things.insert(format!("registry {key} {value}"), data.to_owned());
            }
        }
    }
}

/// A rule of the firewall is known by what it says, in whichever order; its id is new
/// each time that it is made, also when it is put back.
fn rule(data: &str) -> String {
    let mut parts: Vec<&str> = data.trim_matches('"').split('|').collect();
    parts.sort_unstable();
    parts.join("|")
}

fn hns(lab: &Lab, host: &str, things: &mut BTreeMap<String, String>) {
    for kind in ["networks", "endpoints", "policylists"] {
        let answer = lab.cmd(host, &format!(r"C:\lab\hnscall.exe GET /{kind}/"));
        let answer: Value = serde_json::from_str(&answer).unwrap();
        for object in answer["Output"].as_array().into_iter().flatten() {
            let mut object = object.clone();
            // Says when it was last looked at.
            object.as_object_mut().unwrap().remove("Health");
            let name = object["Name"].as_str().unwrap_or_default();
            let id = object["ID"].as_str().unwrap_or_default();
            things.insert(format!("hns {kind} {name} {id}"), object.to_string());
        }
    }
}
