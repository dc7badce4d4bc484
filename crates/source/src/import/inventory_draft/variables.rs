//! Variables that were understood, and the rest.

use std::collections::{BTreeMap, BTreeSet};

use super::roles;
use crate::import::Place;
use crate::import::ansible::{Host, Inventory, Value, Variable};
use crate::import::draft::Notes;
use crate::secrets::is_secret_name;

/// How Ansible goes about its work, which is no business of casement's.
const NEEDLESS: [&str; 6] = [
    "ansible_become",
    "ansible_become_method",
    "ansible_become_user",
    "ansible_python_interpreter",
    "ansible_winrm_operation_timeout_sec",
    "ansible_winrm_read_timeout_sec",
];

/// An inventory, and which of its variables were asked for.
pub(super) struct Known<'i> {
    pub(super) inventory: &'i Inventory,
    asked: BTreeSet<&'static str>,
    /// Asked for, but what it holds cannot be used.
    unusable: BTreeMap<(String, Place), String>,
}

/// A value and where it came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Said {
    pub(super) value: String,
    pub(super) name: &'static str,
    pub(super) place: Place,
}

impl Said {
    /// For a comment.
    pub(super) fn origin(&self) -> String {
        format!("{} at {}", self.name, self.place)
    }
}

impl<'i> Known<'i> {
    pub(super) fn new(inventory: &'i Inventory) -> Self {
        Self {
            inventory,
            asked: BTreeSet::new(),
            unusable: BTreeMap::new(),
        }
    }

    /// A variable of a host, whatever it holds.
    pub(super) fn variable(&mut self, host: &'i Host, name: &'static str) -> Option<&'i Variable> {
        self.asked.insert(name);
        self.inventory.variable(host, name)
    }

    /// The first of these variables that a host has, as a single value. Another
    /// of them that says something else is listed.
    pub(super) fn of(&mut self, host: &'i Host, names: &[&'static str]) -> Option<Said> {
        self.asked.extend(names);
        let mut found: Option<Said> = None;
        for name in names {
            let Some(variable) = self.inventory.variable(host, name) else {
                continue;
            };
            let place = variable.place.clone();
            if let Some(first) = &found {
                if variable.value.word().as_ref() != Some(&first.value) {
                    let reason = format!("`{}` stands before it", first.origin());
                    self.unusable(name, &place, &reason);
                }
            } else if let Some(value) = self.word(name, variable) {
                found = Some(Said { value, name, place });
            }
        }
        found
    }

    fn word(&mut self, name: &str, variable: &Variable) -> Option<String> {
        let reason = match &variable.value {
            Value::Null => return None,
            Value::Text(text) if text.is_empty() => return None,
            value if value.is_template() => "it is a template, which only Ansible evaluates",
            Value::Vault => "it is encrypted with a vault password",
            value => match value.word() {
                Some(word) => return Some(word),
                None => "it is no single value",
            },
        };
        self.unusable(name, &variable.place, reason);
        None
    }

    /// Remembers that a variable cannot be used.
    pub(super) fn unusable(&mut self, name: &str, place: &Place, reason: &str) {
        let key = (name.to_owned(), place.clone());
        self.unusable
            .entry(key)
            .or_insert_with(|| reason.to_owned());
    }

    /// A variable that should be the same for the whole cluster. Where hosts
    /// differ, what most of them say counts.
    pub(super) fn cluster(&mut self, names: &[&'static str], notes: &mut Notes) -> Option<Said> {
        let mut counts: Vec<(Said, usize)> = Vec::new();
        for host in self.inventory.hosts() {
            let Some(said) = self.of(host, names) else {
                continue;
            };
            match counts
                .iter_mut()
                .find(|(known, _)| known.value == said.value)
            {
                Some((_, count)) => *count += 1,
                None => counts.push((said, 1)),
            }
        }
        counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        let mut counts = counts.into_iter().map(|(said, _)| said);
        let first = counts.next()?;
        for other in counts {
            let text = format!(
                "`{}` is `{}` for some hosts and `{}` for others ({}); a cluster has one",
                first.name, first.value, other.value, first.place
            );
            notes.not_carried(Some(&other.place), text);
        }
        Some(first)
    }

    /// Lists what nobody asked for.
    pub(super) fn leftovers(&self, notes: &mut Notes) {
        for (name, place) in self.inventory.all_variables() {
            if self.asked.contains(name) {
                continue;
            }
            let text = if NEEDLESS.contains(&name) {
                format!("`{name}`: casement does not need it")
            } else if is_secret_name(name) {
                format!("`{name}`: it looks like a secret, and casement has no field for it")
            } else {
                format!("`{name}`: casement has no field for it")
            };
            notes.not_carried(Some(place), text);
        }
        for ((name, place), reason) in &self.unusable {
            notes.not_carried(Some(place), format!("`{name}`: {reason}"));
        }
        self.groups(notes);
    }

    /// Groups with hosts of their own that say nothing to casement.
    fn groups(&self, notes: &mut Notes) {
        let known = [
            roles::CONTROL_PLANE.as_slice(),
            &roles::ETCD,
            &roles::WORKER,
            &roles::WINDOWS,
            &roles::BASTION,
            &roles::GATHERING,
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
            let text = format!("the group `{}`: it is no role of a host", group.name);
            notes.not_carried(group.place.as_ref(), text);
        }
    }
}
