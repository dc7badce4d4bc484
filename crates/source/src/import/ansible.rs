//! Ansible inventories, INI and YAML, with the `group_vars` and `host_vars`
//! beside them.
//!
//! The reading is Ansible's own (ansible-core 2.19), odd corners included: its
//! ranges, its quoting, its precedence of variables. `tests/ansible` holds
//! it against the real thing. Where it does not follow, it refuses with a code
//! and the line. Templates (`{{ … }}`) are kept as they are written, never
//! evaluated; other files than the inventory's own folder, plugins, scripts and
//! vault passwords are not looked at.
//!
//! ```
//! use casement_source::import::{TextFile, ansible};
//!
//! let file = TextFile::new("hosts.ini", "[web]\nwin[1:2] tier=front\n");
//! let inventory = ansible::read(&[file]).inventory.unwrap();
//! let host = inventory.host("win2").unwrap();
//! let tier = inventory.variable(host, "tier").unwrap();
//! assert_eq!(tier.value.text(), Some("front"));
//! assert_eq!(tier.place.to_string(), "hosts.ini:2");
//! ```

mod builder;
mod findings;
mod ini;
mod inventory;
mod literal;
mod pattern;
mod python;
pub(super) mod tree;
mod value;
mod vars_files;
#[path = "ansible/shlex.rs"]
mod words;
mod yaml_inventory;

use builder::Builder;
use casement_diag::{Diagnostic, Severity};
use findings::Findings;

pub use inventory::{Group, Host, Inventory, Variable};
pub use value::Value;

use super::{TextFile, codes};

/// No inventory that a person keeps comes near.
const MOST_BYTES: usize = 4 << 20;
/// The most hosts of one inventory.
const MOST_HOSTS: usize = 20_000;
/// The most groups.
const MOST_GROUPS: usize = 2000;
/// The most hosts named and variables set, every time they are.
const MOST_WORK: usize = 2_000_000;

/// What files turned out to be.
#[derive(Debug)]
pub struct Reading {
    /// There unless a finding is an error.
    pub inventory: Option<Inventory>,
    /// In the order of files and lines.
    pub findings: Vec<Found>,
}

/// A finding about one of the files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Which of the files that were given.
    pub file: usize,
    /// What was found; its place is in bytes of that file.
    pub diagnostic: Diagnostic,
}

/// Reads an inventory: the first file is the inventory itself, the others are
/// what lies in `group_vars` and `host_vars` in its folder.
///
/// A folder that is empty is given as a name that ends with `/`: it hides a
/// file of the same name with an extension.
pub fn read(files: &[TextFile]) -> Reading {
    let mut findings = Findings::new(files);
    let mut inventory = None;
    if let Some(main) = files.first() {
        inventory = source(main, files, &mut findings).finish(&mut findings);
    }
    if let Some(inventory) = &mut inventory {
        vars_files::read(files, inventory, &mut findings);
    }
    let findings = findings.in_order();
    let error = |found: &Found| found.diagnostic.severity == Severity::Error;
    let inventory = inventory.filter(|_| !findings.iter().any(error));
    Reading {
        inventory,
        findings,
    }
}

/// The inventory itself, in the order in which Ansible tries its readers.
fn source(main: &TextFile, files: &[TextFile], findings: &mut Findings) -> Builder {
    if findings.refused(0, main, MOST_BYTES) {
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
    let looks_like_ini = extension.is_none() && main.text.lines().any(|line| line.starts_with('['));
    if !as_ini.has_errors() || looks_like_ini {
        findings.extend(as_ini);
        return other;
    }
    findings.extend(as_yaml);
    builder
}
