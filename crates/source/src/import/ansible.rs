//! Ansible inventories, INI and YAML, with `group_vars` and `host_vars`.
//!
//! Follows ansible-core 2.19, including the corner cases of ranges, quoting and
//! variable precedence; `tests/ansible` compares the results with ansible-core.
//! Unsupported input is rejected with a code and the line. Templates (`{{ … }}`)
//! are kept as they are. Files outside the inventory directory, plugins, scripts
//! and vault passwords are not used.
//!
//! ```
//! use casement_source::import::{TextFile, ansible};
//!
//! let file = TextFile::new("hosts.ini", "[web]\nwin[1:2] tier=front\n");
//! let inventory = ansible::read(&[file]).inventory.unwrap();
//! let host = inventory.host("win2").unwrap();
//! let tier = inventory.variable(host, "tier").unwrap();
//! assert_eq!(tier.value.text(), Some("front"));
//! assert_eq!(tier.location.to_string(), "hosts.ini:2");
//! ```

mod builder;
mod findings;
mod ini;
mod inventory;
mod literal;
mod pattern;
mod python;
mod shlex;
pub(super) mod tree;
mod value;
mod vars_files;
mod yaml_inventory;

use builder::Builder;
use casement_diag::{Diagnostic, Severity};
use findings::Findings;

pub use inventory::{Group, Host, Inventory, Variable};
pub use value::Value;

use super::{TextFile, codes};

const MAX_BYTES: usize = 4 << 20;
const MAX_HOSTS: usize = 20_000;
const MAX_GROUPS: usize = 2000;
/// Limit for host entries plus variable assignments, counting repetitions.
const MAX_WORK: usize = 2_000_000;

#[derive(Debug)]
pub struct InventoryResult {
    /// `None` if a finding is an error.
    pub inventory: Option<Inventory>,
    /// By file and position.
    pub findings: Vec<FileDiagnostic>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileDiagnostic {
    /// Index of the file.
    pub file: usize,
    /// Its position is a byte range in that file.
    pub diagnostic: Diagnostic,
}

/// Reads an inventory: the first file is the inventory, the others are the files of
/// `group_vars` and `host_vars` next to it.
///
/// An empty directory is passed as a name that ends with `/`: it takes precedence
/// over a file of the same name with an extension.
pub fn read(files: &[TextFile]) -> InventoryResult {
    let mut findings = Findings::new(files);
    let mut inventory = None;
    if let Some(main) = files.first() {
        inventory = source(main, files, &mut findings).finish(&mut findings);
    }
    if let Some(inventory) = &mut inventory {
        vars_files::read(files, inventory, &mut findings);
    }
    let findings = findings.in_order();
    let error = |found: &FileDiagnostic| found.diagnostic.severity == Severity::Error;
    let inventory = inventory.filter(|_| !findings.iter().any(error));
    InventoryResult {
        inventory,
        findings,
    }
}

/// Tries the formats in the same order as Ansible.
fn source(main: &TextFile, files: &[TextFile], findings: &mut Findings) -> Builder {
    if findings.rejected(0, main, MAX_BYTES) {
        return Builder::new(&main.name);
    }
    let file = main.name.rsplit(['/', '\\']).next().unwrap_or_default();
    let extension = file.rsplit_once('.').map(|(_, extension)| extension);
    if !matches!(extension, None | Some("yaml" | "yml" | "json")) {
        let mut builder = Builder::new(&main.name);
        ini::read(&main.text, &mut builder, findings);
        return builder;
    }
    let mut builder = Builder::new(&main.name);
    let mut as_yaml = Findings::new(files);
    yaml_inventory::read(&main.text, &mut builder, &mut as_yaml);
    if !as_yaml.has_errors() {
        findings.extend(as_yaml);
        return builder;
    }
    let mut other = Builder::new(&main.name);
    let mut as_ini = Findings::new(files);
    ini::read(&main.text, &mut other, &mut as_ini);
    let looks_like_ini = extension.is_none() && !looks_like_yaml(&main.text);
    if !as_ini.has_errors() || looks_like_ini {
        findings.extend(as_ini);
        return other;
    }
    findings.extend(as_yaml);
    builder
}

/// For a file without an extension that is neither: which errors help more.
fn looks_like_yaml(text: &str) -> bool {
    let mut lines = text.lines().map(str::trim_end);
    let section = lines.clone().any(|line| line.starts_with('['));
    let key = |line: &str| line.ends_with(':') || line.contains(": ") || line.starts_with("---");
    !section && lines.any(|line| !line.starts_with('#') && key(line))
}
