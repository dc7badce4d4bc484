//! Access to inventory variables that tracks which ones were used.

use std::collections::{BTreeMap, BTreeSet};

use super::roles;
use crate::import::SourceLocation;
use crate::import::ansible::{Host, Inventory, Value, Variable};
use crate::import::draft::Notes;
use crate::secrets::is_secret_name;

/// Settings of Ansible itself.
const IRRELEVANT: [&str; 6] = [
    "ansible_become",
    "ansible_become_method",
    "ansible_become_user",
    "ansible_python_interpreter",
    "ansible_winrm_operation_timeout_sec",
    "ansible_winrm_read_timeout_sec",
];

/// An inventory and the variables used so far.
pub(super) struct Variables<'i> {
    pub(super) inventory: &'i Inventory,
    used: BTreeSet<&'static str>,
    /// Variables that cannot be imported, with the reason.
    unusable: BTreeMap<(String, SourceLocation), String>,
}

/// A value, its variable and location.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SourcedValue {
    pub(super) value: String,
    pub(super) name: &'static str,
    pub(super) location: SourceLocation,
}

impl SourcedValue {
    pub(super) fn origin(&self) -> String {
        format!("{} at {}", self.name, self.location)
    }
}

impl<'i> Variables<'i> {
    pub(super) fn new(inventory: &'i Inventory) -> Self {
        Self {
            inventory,
            used: BTreeSet::new(),
            unusable: BTreeMap::new(),
        }
    }

    pub(super) fn variable(&mut self, host: &'i Host, name: &'static str) -> Option<&'i Variable> {
        self.used.insert(name);
        self.inventory.variable(host, name)
    }

    /// The first of these variables that a host has, as a scalar. Others with a
    /// different value are reported.
    pub(super) fn of(&mut self, host: &'i Host, names: &[&'static str]) -> Option<SourcedValue> {
        self.used.extend(names);
        let mut found: Option<SourcedValue> = None;
        for name in names {
            let Some(variable) = self.inventory.variable(host, name) else {
                continue;
            };
            let location = variable.location.clone();
            if let Some(first) = &found {
                if variable.value.scalar().as_ref() != Some(&first.value) {
                    let reason = format!("overridden by `{}`", first.origin());
                    self.unusable(name, &location, &reason);
                }
            } else if let Some(value) = self.scalar(name, variable) {
                found = Some(SourcedValue {
                    value,
                    name,
                    location,
                });
            }
        }
        found
    }

    fn scalar(&mut self, name: &str, variable: &Variable) -> Option<String> {
        let reason = match &variable.value {
            Value::Null => return None,
            Value::Text(text) if text.is_empty() => return None,
            value if value.is_template() => "templates are not evaluated",
            Value::Vault => "encrypted with a vault password",
            value => match value.scalar() {
                Some(word) => return Some(word),
                None => "not a scalar",
            },
        };
        self.unusable(name, &variable.location, reason);
        None
    }

    pub(super) fn unusable(&mut self, name: &str, location: &SourceLocation, reason: &str) {
        let key = (name.to_owned(), location.clone());
        self.unusable
            .entry(key)
            .or_insert_with(|| reason.to_owned());
    }

    /// A cluster-wide variable. If hosts differ, the most common value is used.
    pub(super) fn cluster(
        &mut self,
        names: &[&'static str],
        notes: &mut Notes,
    ) -> Option<SourcedValue> {
        let mut counts: Vec<(SourcedValue, usize)> = Vec::new();
        for host in self.inventory.hosts() {
            let Some(setting) = self.of(host, names) else {
                continue;
            };
            match counts
                .iter_mut()
                .find(|(known, _)| known.value == setting.value)
            {
                Some((_, count)) => *count += 1,
                None => counts.push((setting, 1)),
            }
        }
        counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        let mut counts = counts.into_iter().map(|(setting, _)| setting);
        let first = counts.next()?;
        for other in counts {
            let text = format!(
                "`{}` is `{}` for some hosts and `{}` for others ({}), but is cluster-wide in casement",
                first.name, first.value, other.value, first.location
            );
            notes.not_imported(Some(&other.location), text);
        }
        Some(first)
    }

    /// Reports all unused variables.
    pub(super) fn report_unused(&self, notes: &mut Notes) {
        for (name, location) in self.inventory.all_variables() {
            if self.used.contains(name) {
                continue;
            }
            let text = if IRRELEVANT.contains(&name) {
                format!("`{name}`: not needed by casement")
            } else if is_secret_name(name) {
                format!("`{name}`: probably a secret, and casement has no such setting")
            } else {
                format!("`{name}`: casement has no such setting")
            };
            notes.not_imported(Some(location), text);
        }
        for ((name, location), reason) in &self.unusable {
            notes.not_imported(Some(location), format!("`{name}`: {reason}"));
        }
        self.report_groups(notes);
    }

    /// Reports groups with hosts that have no meaning for casement.
    fn report_groups(&self, notes: &mut Notes) {
        let known = [
            roles::CONTROL_PLANE.as_slice(),
            &roles::ETCD,
            &roles::WORKER,
            &roles::WINDOWS,
            &roles::BASTION,
            &roles::CONTAINERS,
        ];
        for group in self.inventory.groups() {
            let empty = self.inventory.listed(group).next().is_none();
            if empty
                || known
                    .iter()
                    .any(|names| names.contains(&group.name.as_str()))
            {
                continue;
            }
            let text = format!("group `{}`: not a role", group.name);
            notes.not_imported(group.location.as_ref(), text);
        }
    }
}
