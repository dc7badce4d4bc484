//! `group_vars` and `host_vars`.
//!
//! Ansible looks for `NAME`, `NAME.yml`, `NAME.yaml`, `NAME.json`, in this
//! order, and takes the first that is there: a folder `all/` hides `all.yml`.
//! In a folder it reads every file with one of these extensions or none.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::findings::{At, Findings};
use super::inventory::{Inventory, Layer, Variable};
use super::tree::{self, Data};
use super::yaml_inventory::{Lines, unique, variable};
use super::{MOST_BYTES, codes};
use crate::import::{Place, TextFile};
use crate::node::clipped;

const EXTENSIONS: [&str; 4] = ["", ".yml", ".yaml", ".json"];

/// Files in one of the two folders, by their way below it.
struct Folder<'f> {
    /// The path below the folder, and which file it is.
    entries: Vec<(&'f str, usize)>,
    files: &'f [TextFile],
    used: BTreeSet<usize>,
}

/// Reads what lies beside an inventory into it.
pub(super) fn read(files: &[TextFile], inventory: &mut Inventory, findings: &mut Findings) {
    let mut groups = Folder::new("group_vars", files);
    for group in &mut inventory.groups {
        group.file_variables = groups.variables(&group.name, findings);
    }
    groups.leftovers("group", findings);
    let mut hosts = Folder::new("host_vars", files);
    for host in &mut inventory.hosts {
        // Names that are paths are chroots, says Ansible, and no files.
        if !host.name.starts_with('/') {
            host.file_variables = hosts.variables(&host.name, findings);
        }
    }
    hosts.leftovers("host", findings);
}

impl<'f> Folder<'f> {
    fn new(folder: &str, files: &'f [TextFile]) -> Self {
        let base = files.first().map_or("", |main| {
            let end = main.name.rfind('/').map_or(0, |at| at + 1);
            main.name.get(..end).unwrap_or_default()
        });
        let entries = files
            .iter()
            .enumerate()
            .skip(1)
            .filter_map(|(index, file)| {
                let below = file.name.strip_prefix(base)?.strip_prefix(folder)?;
                Some((below.strip_prefix('/')?, index))
            });
        let mut entries: Vec<_> = entries.collect();
        // Python sorts each folder by name; `/` must come before all else.
        entries.sort_by_key(|(path, _)| path.split('/').collect::<Vec<_>>());
        Self {
            entries,
            files,
            used: BTreeSet::new(),
        }
    }

    fn variables(&mut self, name: &str, findings: &mut Findings) -> Layer {
        let mut layer = Layer::new();
        for index in self.found(name) {
            self.used.insert(index);
            if let Some(file) = self.files.get(index) {
                load(index, file, &mut layer, findings);
            }
        }
        layer
    }

    /// The files that count for a name, weakest first.
    fn found(&self, name: &str) -> Vec<usize> {
        for extension in EXTENSIONS {
            let path = format!("{name}{extension}");
            let folder = format!("{path}/");
            if let Some((_, index)) = self.entries.iter().find(|(entry, _)| *entry == path) {
                return vec![*index];
            }
            let mut below = self.entries.iter().filter_map(|(entry, index)| {
                let below = entry.strip_prefix(folder.as_str())?;
                Some((below, *index))
            });
            if below.clone().next().is_some() {
                return below
                    .by_ref()
                    .filter(|(below, _)| counts(below))
                    .map(|(_, index)| index)
                    .collect();
            }
        }
        Vec::new()
    }

    /// What is there and was not read, although somebody wrote it.
    fn leftovers(&self, what: &str, findings: &mut Findings) {
        for (path, index) in &self.entries {
            if self.used.contains(index) || path.ends_with('/') {
                continue;
            }
            let name = self.files.get(*index).map_or("", |file| file.name.as_str());
            let at = At {
                file: *index,
                range: 0..0,
            };
            let message = format!("Ansible does not read `{}`", clipped(name));
            let finding = findings.warning(at, codes::UNREAD, message);
            let (first, _) = path.split_once('/').unwrap_or((path, ""));
            finding.help = Some(format!(
                "no {what} of the inventory has that name, a file or folder before it has, \
                 or its name has another extension than `.yml`, `.yaml`, `.json` (`{}`)",
                clipped(first)
            ));
        }
    }
}

/// Whether a file below a folder counts: nothing hidden, no backups, no folders
/// with an extension, and only some extensions.
fn counts(path: &str) -> bool {
    let mut parts: Vec<_> = path.split('/').collect();
    let Some(file) = parts.pop().filter(|file| !file.is_empty()) else {
        return false;
    };
    let shown = |name: &&str| !name.starts_with('.') && !name.ends_with('~');
    let folders = parts
        .iter()
        .all(|name| shown(name) && extension(name).is_empty());
    folders && shown(&file) && EXTENSIONS.contains(&extension(file))
}

/// Python's `os.path.splitext`.
fn extension(name: &str) -> &str {
    let body = name.trim_start_matches('.');
    body.rfind('.')
        .and_then(|at| body.get(at..))
        .unwrap_or_default()
}

fn load(index: usize, file: &TextFile, layer: &mut Layer, findings: &mut Findings) {
    if findings.refused(index, file, MOST_BYTES) {
        return;
    }
    let at = |range| At { file: index, range };
    let root = match tree::parse(&file.text) {
        Ok(root) => root.filter(|root| !root.is_falsy()),
        Err(stop) => {
            let finding = findings.error(at(stop.range), codes::SYNTAX, stop.message);
            finding.help = Some(stop.help);
            return;
        }
    };
    let Some(root) = root else { return };
    let Data::Map(pairs) = &root.data else {
        let message = "a file of variables must be a mapping";
        let finding = findings.error(at(root.range.clone()), codes::STRUCTURE, message);
        finding.help = Some("write each as `variable: value`".to_owned());
        return;
    };
    let name: Arc<str> = file.name.as_str().into();
    let lines = Lines::of(&file.text);
    for (key, value) in unique(pairs) {
        let place = Place {
            file: name.clone(),
            line: lines.line(key.range.start),
        };
        match variable(key, value) {
            Ok((name, value)) => {
                layer.insert(name.to_owned(), Variable { value, place });
            }
            Err(range) => {
                let message = "a name of a variable must be a text";
                let finding = findings.error(at(range), codes::VALUE, message);
                finding.help = Some("put it in quotes".to_owned());
            }
        }
    }
}
