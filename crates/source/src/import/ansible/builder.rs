//! Builds an inventory by Ansible's rules for groups.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use super::findings::{Findings, Span};
use super::inventory::{Group, Host, Inventory, Layer, Variable};
use super::value::Value;
use super::{MAX_GROUPS, MAX_HOSTS, MAX_WORK, codes, python};
use crate::import::SourceLocation;

pub(super) const ALL: usize = 0;
pub(super) const UNGROUPED: usize = 1;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum BadChild {
    #[error("group `{0}` cannot contain itself")]
    Itself(String),
    #[error("group `{child}` cannot be a child of `{parent}`, which is a descendant of `{child}`")]
    Loop { parent: String, child: String },
}

#[derive(Debug)]
pub(super) struct Builder {
    file: Arc<str>,
    groups: Vec<Group>,
    hosts: Vec<Host>,
    group_names: HashMap<String, usize>,
    host_names: HashMap<String, usize>,
    /// Host entries plus variable assignments so far.
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

    pub(super) fn location(&self, line: usize) -> SourceLocation {
        SourceLocation {
            file: self.file.clone(),
            line,
        }
    }

    pub(super) fn group(&self, name: &str) -> Option<usize> {
        self.group_names.get(name).copied()
    }

    /// Whether these hosts, some of which may be known, stay below the limit.
    pub(super) fn has_room(&self, hosts: &[String]) -> bool {
        let new = hosts.iter();
        let new = new.filter(|host| !self.host_names.contains_key(*host));
        self.hosts.len() + new.count() <= MAX_HOSTS
    }

    /// Whether a limit is reached. The number of groups limits the work, because each
    /// may be in all others.
    pub(super) fn is_full(&self) -> bool {
        self.groups.len() >= MAX_GROUPS || self.work > MAX_WORK
    }

    /// Counts the cost of a pattern: a short line can repeat all hosts.
    pub(super) fn add_work(&mut self, hosts: usize, variables: usize) {
        self.work = self
            .work
            .saturating_add(hosts.saturating_mul(1 + variables));
    }

    pub(super) fn add_group(&mut self, name: &str, location: Option<SourceLocation>) -> usize {
        if let Some(known) = self.group(name) {
            return known;
        }
        let index = self.groups.len();
        self.group_names.insert(name.to_owned(), index);
        self.groups.push(Group {
            name: name.to_owned(),
            location,
            priority: 1,
            variables: Layer::new(),
            file_variables: Layer::new(),
            hosts: Vec::new(),
            children: Vec::new(),
            parents: Vec::new(),
        });
        index
    }

    /// Adds a host to a group. The port is used only for a new host, and 0 is ignored.
    pub(super) fn add_host(
        &mut self,
        name: &str,
        group: usize,
        port: Option<i128>,
        location: SourceLocation,
    ) {
        let index = match self.host_names.get(name) {
            Some(known) => *known,
            None => {
                let index = self.hosts.len();
                self.host_names.insert(name.to_owned(), index);
                let mut variables = Layer::new();
                if let Some(port) = port.filter(|port| *port != 0) {
                    let value = Value::Int(port);
                    let location = location.clone();
                    variables.insert("ansible_port".to_owned(), Variable { value, location });
                }
                self.hosts.push(Host {
                    name: name.to_owned(),
                    location,
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
        let mut queue = self.groups[group].parents.clone();
        while let Some(next) = queue.pop() {
            if seen.insert(next) {
                queue.extend(&self.groups[next].parents);
            }
        }
        seen
    }

    /// Sets a variable of the group with this name, otherwise of the host: a host with
    /// the name of a group never gets variables.
    pub(super) fn set_variable(
        &mut self,
        owner: &str,
        (name, value): (&str, Value),
        location: SourceLocation,
    ) -> Result<(), Value> {
        if let Some(group) = self.group(owner) {
            return self.set_group_variable(group, (name, value), location);
        }
        if let Some(host) = self.host_names.get(owner) {
            let variables = &mut self.hosts[*host].variables;
            variables.insert(name.to_owned(), Variable { value, location });
        }
        Ok(())
    }

    /// Returns the value if it is an invalid `ansible_group_priority`.
    pub(super) fn set_group_variable(
        &mut self,
        group: usize,
        (name, value): (&str, Value),
        location: SourceLocation,
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
            .insert(name.to_owned(), Variable { value, location });
        Ok(())
    }

    pub(super) fn finish(mut self, findings: &mut Findings) -> Option<Inventory> {
        if let Err(error) = self.apply_implicit_groups() {
            let finding = findings.error(Span::main(0..0), codes::GROUP_LOOP, error.to_string());
            let help = "remove `all` from `:children`; it already contains all groups";
            finding.help = Some(help.to_owned());
            return None;
        }
        let depths = self.depths();
        // Hosts with the same direct groups share one list of all groups, so that a
        // hostile inventory cannot exhaust memory.
        let mut known: HashMap<Vec<usize>, Arc<[usize]>> = HashMap::new();
        let mut memberships = 0;
        for host in 0..self.hosts.len() {
            let direct = self.hosts[host].direct.clone();
            let groups = match known.get(&direct) {
                Some(groups) => groups.clone(),
                None => {
                    let groups = self.by_precedence(host, &depths);
                    known.insert(direct, groups.clone());
                    groups
                }
            };
            memberships += groups.len();
            if memberships > MAX_WORK {
                let message = "the hosts are in too many groups";
                let finding = findings.error(Span::main(0..0), codes::TOO_LARGE, message);
                finding.help = Some("check that it is the right file".to_owned());
                return None;
            }
            self.hosts[host].groups = groups;
        }
        Some(Inventory {
            hosts: self.hosts,
            groups: self.groups,
        })
    }

    /// All groups of a host except `all`, lowest precedence first.
    fn by_precedence(&self, host: usize, depths: &[usize]) -> Arc<[usize]> {
        let mut groups: Vec<_> = self.all_groups(host).into_iter().collect();
        groups.retain(|group| *group != ALL);
        groups.sort_by_key(|group| {
            let Group { priority, name, .. } = &self.groups[*group];
            (depths[*group], *priority, name.as_str())
        });
        groups.into()
    }

    /// Every group is in `all`; hosts without a group are in `ungrouped`.
    fn apply_implicit_groups(&mut self) -> Result<(), BadChild> {
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
                // If a host and a group have the same name, Ansible uses the group.
                match self.group(&self.hosts[host].name) {
                    Some(group) => self.add_child(UNGROUPED, group)?,
                    None => self.join(host, UNGROUPED),
                }
            }
        }
        Ok(())
    }

    /// Direct groups of a host and their ancestors.
    fn all_groups(&self, host: usize) -> BTreeSet<usize> {
        let direct = &self.hosts[host].direct;
        let mut groups: BTreeSet<_> = direct.iter().copied().collect();
        for group in direct {
            groups.extend(self.ancestors(*group));
        }
        groups
    }

    /// The longest path from `all` to each group.
    fn depths(&self) -> Vec<usize> {
        let mut depths = vec![0; self.groups.len()];
        let mut unvisited_parents: Vec<_> = self
            .groups
            .iter()
            .map(|group| group.parents.len())
            .collect();
        let mut ready = vec![ALL];
        while let Some(group) = ready.pop() {
            for child in &self.groups[group].children {
                depths[*child] = depths[*child].max(depths[group] + 1);
                unvisited_parents[*child] -= 1;
                if unvisited_parents[*child] == 0 {
                    ready.push(*child);
                }
            }
        }
        depths
    }
}
