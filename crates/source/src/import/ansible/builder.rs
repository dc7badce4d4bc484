//! An inventory in the making, with Ansible's rules for what joins what.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use super::findings::{At, Findings};
use super::inventory::{Group, Host, Inventory, Layer, Variable};
use super::value::Value;
use super::{MOST_GROUPS, MOST_HOSTS, MOST_WORK, codes, python};
use crate::import::Place;

pub(super) const ALL: usize = 0;
pub(super) const UNGROUPED: usize = 1;

/// Why a group cannot be put into another.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum BadChild {
    #[error("the group `{0}` cannot be in itself")]
    Itself(String),
    #[error("the group `{child}` cannot be in `{parent}`, which is in `{child}`")]
    Loop { parent: String, child: String },
}

#[derive(Debug)]
pub(super) struct Builder {
    file: Arc<str>,
    groups: Vec<Group>,
    hosts: Vec<Host>,
    group_names: HashMap<String, usize>,
    host_names: HashMap<String, usize>,
    /// Hosts named and variables set so far.
    work: usize,
}

#[expect(
    clippy::indexing_slicing,
    reason = "indices are the builder's own, and nothing is removed"
)]
impl Builder {
    pub(super) fn new(file: &str) -> Self {
        let mut builder = Self {
            file: file.into(),
            groups: Vec::new(),
            hosts: Vec::new(),
            group_names: HashMap::new(),
            host_names: HashMap::new(),
            work: 0,
        };
        builder.add_group("all", None);
        builder.add_group("ungrouped", None);
        builder.link(ALL, UNGROUPED);
        builder
    }

    pub(super) fn place(&self, line: usize) -> Place {
        Place {
            file: self.file.clone(),
            line,
        }
    }

    pub(super) fn group(&self, name: &str) -> Option<usize> {
        self.group_names.get(name).copied()
    }

    /// How many more hosts there may be.
    pub(super) fn room(&self) -> usize {
        MOST_HOSTS.saturating_sub(self.hosts.len())
    }

    /// Whether no more groups are taken: each may be in all others, so their
    /// number bounds the work.
    pub(super) fn is_full(&self) -> bool {
        self.groups.len() >= MOST_GROUPS || self.work > MOST_WORK
    }

    /// Counts what a pattern with its variables costs: a short line can name all
    /// hosts again and again.
    pub(super) fn charge(&mut self, hosts: usize, variables: usize) {
        self.work = self
            .work
            .saturating_add(hosts.saturating_mul(1 + variables));
    }

    pub(super) fn add_group(&mut self, name: &str, place: Option<Place>) -> usize {
        if let Some(known) = self.group(name) {
            return known;
        }
        let index = self.groups.len();
        self.group_names.insert(name.to_owned(), index);
        self.groups.push(Group {
            name: name.to_owned(),
            place,
            priority: 1,
            variables: Layer::new(),
            file_variables: Layer::new(),
            hosts: Vec::new(),
            children: Vec::new(),
            parents: Vec::new(),
        });
        index
    }

    /// Puts a host into a group. Its port counts only when it is new, and there
    /// is no port 0.
    pub(super) fn add_host(&mut self, name: &str, group: usize, port: Option<i128>, place: Place) {
        let index = match self.host_names.get(name) {
            Some(known) => *known,
            None => {
                let index = self.hosts.len();
                self.host_names.insert(name.to_owned(), index);
                let mut variables = Layer::new();
                if let Some(port) = port.filter(|port| *port != 0) {
                    let value = Value::Int(port);
                    let place = place.clone();
                    variables.insert("ansible_port".to_owned(), Variable { value, place });
                }
                self.hosts.push(Host {
                    name: name.to_owned(),
                    place,
                    variables,
                    file_variables: Layer::new(),
                    direct: Vec::new(),
                    groups: Arc::default(),
                });
                index
            }
        };
        self.join(index, group);
    }

    fn join(&mut self, host: usize, group: usize) {
        if !self.hosts[host].direct.contains(&group) {
            self.hosts[host].direct.push(group);
            self.groups[group].hosts.push(host);
        }
    }

    /// Puts a group into another.
    pub(super) fn add_child(&mut self, parent: usize, child: usize) -> Result<(), BadChild> {
        let name = |group: usize| self.groups[group].name.clone();
        if parent == child {
            return Err(BadChild::Itself(name(child)));
        }
        if self.groups[parent].children.contains(&child) {
            return Ok(());
        }
        if self.ancestors(parent).contains(&child) {
            return Err(BadChild::Loop {
                parent: name(parent),
                child: name(child),
            });
        }
        self.link(parent, child);
        Ok(())
    }

    fn link(&mut self, parent: usize, child: usize) {
        self.groups[parent].children.push(child);
        self.groups[child].parents.push(parent);
    }

    fn ancestors(&self, group: usize) -> BTreeSet<usize> {
        let mut seen = BTreeSet::new();
        let mut open = self.groups[group].parents.clone();
        while let Some(next) = open.pop() {
            if seen.insert(next) {
                open.extend(&self.groups[next].parents);
            }
        }
        seen
    }

    /// Sets a variable of the group of this name or, where there is none, of the
    /// host: a host that is called like a group never gets any.
    pub(super) fn set_variable(
        &mut self,
        owner: &str,
        (name, value): (&str, Value),
        place: Place,
    ) -> Result<(), Value> {
        if let Some(group) = self.group(owner) {
            return self.set_group_variable(group, (name, value), place);
        }
        if let Some(host) = self.host_names.get(owner) {
            let variables = &mut self.hosts[*host].variables;
            variables.insert(name.to_owned(), Variable { value, place });
        }
        Ok(())
    }

    /// The same for a group; what is no priority of a group comes back.
    pub(super) fn set_group_variable(
        &mut self,
        group: usize,
        (name, value): (&str, Value),
        place: Place,
    ) -> Result<(), Value> {
        let group = &mut self.groups[group];
        if name == "ansible_group_priority" {
            group.priority = match &value {
                Value::Int(number) => *number,
                Value::Bool(truth) => i128::from(*truth),
                Value::Text(text) => python::int(text).ok_or(value)?,
                _ => return Err(value),
            };
            return Ok(());
        }
        group
            .variables
            .insert(name.to_owned(), Variable { value, place });
        Ok(())
    }

    /// What holds for every inventory once it was read.
    pub(super) fn finish(mut self, findings: &mut Findings) -> Option<Inventory> {
        if let Err(error) = self.settle() {
            let finding = findings.error(At::main(0..0), codes::GROUP_LOOP, error.to_string());
            let help = "every group is in `all`; take `all` out of `:children`";
            finding.help = Some(help.to_owned());
            return None;
        }
        let depths = self.depths();
        // Hosts that are listed alike are in the same groups: most inventories
        // have few such lists, and hostile ones would fill the memory.
        let mut known: HashMap<Vec<usize>, Arc<[usize]>> = HashMap::new();
        let mut memberships = 0;
        for host in 0..self.hosts.len() {
            let direct = self.hosts[host].direct.clone();
            let groups = match known.get(&direct) {
                Some(groups) => groups.clone(),
                None => {
                    let groups = self.by_strength(host, &depths);
                    known.insert(direct, groups.clone());
                    groups
                }
            };
            memberships += groups.len();
            if memberships > MOST_WORK {
                let message = "the hosts are in more groups than is read";
                let finding = findings.error(At::main(0..0), codes::TOO_LARGE, message);
                finding.help = Some("is it the right file?".to_owned());
                return None;
            }
            self.hosts[host].groups = groups;
        }
        Some(Inventory {
            hosts: self.hosts,
            groups: self.groups,
        })
    }

    /// The groups of a host, weakest first, without `all`.
    fn by_strength(&self, host: usize, depths: &[usize]) -> Arc<[usize]> {
        let mut groups: Vec<_> = self.closure(host).into_iter().collect();
        groups.retain(|group| *group != ALL);
        groups.sort_by_key(|group| {
            let Group { priority, name, .. } = &self.groups[*group];
            (depths[*group], *priority, name.as_str())
        });
        groups.into()
    }

    /// Every group is in `all`, and `ungrouped` has the hosts that are in no
    /// other group.
    fn settle(&mut self) -> Result<(), BadChild> {
        for group in 1..self.groups.len() {
            if self.groups[group].parents.is_empty() {
                self.add_child(ALL, group)?;
            }
        }
        let other = |group: &usize| !matches!(*group, ALL | UNGROUPED);
        let above = self.ancestors(UNGROUPED).iter().any(other);
        for host in 0..self.hosts.len() {
            let direct = &self.hosts[host].direct;
            let ungrouped = direct.contains(&UNGROUPED);
            let grouped = direct.iter().any(other) || (ungrouped && above);
            if ungrouped && grouped {
                self.hosts[host].direct.retain(|group| *group != UNGROUPED);
                self.groups[UNGROUPED].hosts.retain(|other| *other != host);
            } else if !ungrouped && !grouped {
                // Of a host and a group with one name, Ansible takes the group.
                match self.group(&self.hosts[host].name) {
                    Some(group) => self.add_child(UNGROUPED, group)?,
                    None => self.join(host, UNGROUPED),
                }
            }
        }
        Ok(())
    }

    /// The groups that list a host, and those that they are in.
    fn closure(&self, host: usize) -> BTreeSet<usize> {
        let direct = &self.hosts[host].direct;
        let mut groups: BTreeSet<_> = direct.iter().copied().collect();
        for group in direct {
            groups.extend(self.ancestors(*group));
        }
        groups
    }

    /// The longest way down from `all` to each group.
    fn depths(&self) -> Vec<usize> {
        let mut depths = vec![0; self.groups.len()];
        let mut waits: Vec<_> = self
            .groups
            .iter()
            .map(|group| group.parents.len())
            .collect();
        let mut ready = vec![ALL];
        while let Some(group) = ready.pop() {
            for child in &self.groups[group].children {
                depths[*child] = depths[*child].max(depths[group] + 1);
                waits[*child] -= 1;
                if waits[*child] == 0 {
                    ready.push(*child);
                }
            }
        }
        depths
    }
}
