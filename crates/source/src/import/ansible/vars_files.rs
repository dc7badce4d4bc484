//! `group_vars` and `host_vars`.
//!
//! Ansible uses the first of `NAME`, `NAME.yml`, `NAME.yaml` and `NAME.json` that
//! exists: a directory `all/` takes precedence over `all.yml`. In a directory it
//! reads all files with one of these extensions or none.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::findings::{Findings, Span};
use super::inventory::{Inventory, Layer, Variable};
use super::tree::{self, Data};
use super::yaml_inventory::{Lines, unique, variable};
use super::{MAX_BYTES, codes};
use crate::import::{SourceLocation, TextFile};
use crate::node::clipped;

const EXTENSIONS: [&str; 4] = ["", ".yml", ".yaml", ".json"];

struct Directory<'f> {
    /// Relative path and index of each file.
    entries: Vec<(&'f str, usize)>,
    files: &'f [TextFile],
    used: BTreeSet<usize>,
}

/// Adds the variables of `group_vars` and `host_vars` to an inventory.
pub(super) fn read(files: &[TextFile], inventory: &mut Inventory, findings: &mut Findings) {
    let mut groups = Directory::new("group_vars", files);
    for group in &mut inventory.groups {
        group.file_variables = groups.variables(&group.name, findings);
    }
    groups.report_unread("group", findings);
    let mut hosts = Directory::new("host_vars", files);
    for host in &mut inventory.hosts {
        // Like Ansible: a name that is a path is a chroot.
        if !host.name.starts_with('/') {
            host.file_variables = hosts.variables(&host.name, findings);
        }
    }
    hosts.report_unread("host", findings);
}

impl<'f> Directory<'f> {
    fn new(directory: &str, files: &'f [TextFile]) -> Self {
        let base = files.first().map_or("", |main| {
            let end = main.name.rfind('/').map_or(0, |at| at + 1);
            main.name.get(..end).unwrap_or_default()
        });
        let entries = files
            .iter()
            .enumerate()
            .skip(1)
            .filter_map(|(index, file)| {
                let below = file.name.strip_prefix(base)?.strip_prefix(directory)?;
                Some((below.strip_prefix('/')?, index))
            });
        let mut entries: Vec<_> = entries.collect();
        // Like Python, which sorts each directory by name.
        entries.sort_by_key(|(path, _)| path.split('/').collect::<Vec<_>>());
        Self {
            entries,
            files,
            used: BTreeSet::new(),
        }
    }

    fn variables(&mut self, name: &str, findings: &mut Findings) -> Layer {
        let mut layer = Layer::new();
        for index in self.files_for(name) {
            self.used.insert(index);
            if let Some(file) = self.files.get(index) {
                load(index, file, &mut layer, findings);
            }
        }
        layer
    }

    /// The files for a name, lowest precedence first.
    fn files_for(&self, name: &str) -> Vec<usize> {
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
                    .filter(|(below, _)| is_read(below))
                    .map(|(_, index)| index)
                    .collect();
            }
        }
        Vec::new()
    }

    /// Warns about files that Ansible ignores.
    fn report_unread(&self, what: &str, findings: &mut Findings) {
        for (path, index) in &self.entries {
            if self.used.contains(index) || path.ends_with('/') {
                continue;
            }
            let name = self.files.get(*index).map_or("", |file| file.name.as_str());
            let at = Span {
                file: *index,
                range: 0..0,
            };
            let message = format!("Ansible does not read `{}`", clipped(name));
            let finding = findings.warning(at, codes::UNREAD, message);
            let (first, _) = path.split_once('/').unwrap_or((path, ""));
            finding.help = Some(format!(
                "rename it: no {what} in the inventory has this name, another file or directory takes precedence, \
                 or the extension is not `.yml`, `.yaml` or `.json` (`{}`)",
                clipped(first)
            ));
        }
    }
}

/// Whether Ansible reads a file of a directory: no hidden files or backups, no
/// directories with an extension, and only some extensions.
fn is_read(path: &str) -> bool {
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
    if findings.rejected(index, file, MAX_BYTES) {
        return;
    }
    let at = |range| Span { file: index, range };
    let root = match tree::parse(&file.text) {
        Ok(root) => root.filter(|root| !root.is_falsy()),
        Err(error) => {
            let finding = findings.error(at(error.range), codes::SYNTAX, error.message);
            finding.help = Some(error.help);
            return;
        }
    };
    let Some(root) = root else { return };
    let Data::Map(pairs) = &root.data else {
        let message = "a variables file must be a mapping";
        let finding = findings.error(at(root.range.clone()), codes::STRUCTURE, message);
        finding.help = Some("write each variable as `name: value`".to_owned());
        return;
    };
    let name: Arc<str> = file.name.as_str().into();
    let lines = Lines::new(&file.text);
    for (key, value) in unique(pairs) {
        let location = SourceLocation {
            file: name.clone(),
            line: lines.line(key.range.start),
        };
        match variable(key, value) {
            Ok((name, value)) => {
                layer.insert(name.to_owned(), Variable { value, location });
            }
            Err(range) => {
                let message = "a variable name must be a string";
                let finding = findings.error(at(range), codes::VALUE, message);
                finding.help = Some("put the name in quotes".to_owned());
            }
        }
    }
}
