//! A parsed inventory: hosts, groups, and the precedence of variables.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use super::value::Value;
use crate::import::SourceLocation;

pub(super) type Layer = BTreeMap<String, Variable>;

#[derive(Clone, PartialEq)]
pub struct Variable {
    pub value: Value,
    pub location: SourceLocation,
}

impl fmt::Debug for Variable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} at {}", self.value, self.location)
    }
}

#[derive(Debug, Clone)]
pub struct Host {
    pub name: String,
    /// First occurrence.
    pub location: SourceLocation,
    /// From the inventory file.
    pub(super) variables: Layer,
    /// From `host_vars`.
    pub(super) file_variables: Layer,
    /// Groups that list the host directly.
    pub(super) direct: Vec<usize>,
    /// All groups except `all`, lowest precedence first.
    pub(super) groups: Arc<[usize]>,
}

#[derive(Debug, Clone)]
pub struct Group {
    pub name: String,
    /// First occurrence; `None` for `all` and `ungrouped`.
    pub location: Option<SourceLocation>,
    /// Precedence among groups of the same depth.
    pub priority: i128,
    pub(super) variables: Layer,
    pub(super) file_variables: Layer,
    pub(super) hosts: Vec<usize>,
    pub(super) children: Vec<usize>,
    pub(super) parents: Vec<usize>,
}

#[derive(Debug, Clone)]
pub struct Inventory {
    pub(super) hosts: Vec<Host>,
    /// Starts with `all` and `ungrouped`.
    pub(super) groups: Vec<Group>,
}

#[expect(
    clippy::indexing_slicing,
    reason = "indices are the builder's own, and nothing is removed"
)]
impl Inventory {
    /// In order of first occurrence.
    pub fn hosts(&self) -> &[Host] {
        &self.hosts
    }

    /// Including `all` and `ungrouped`.
    pub fn groups(&self) -> &[Group] {
        &self.groups
    }

    pub fn host(&self, name: &str) -> Option<&Host> {
        self.hosts.iter().find(|host| host.name == name)
    }

    pub fn group(&self, name: &str) -> Option<&Group> {
        self.groups.iter().find(|group| group.name == name)
    }

    /// Direct members of a group.
    pub fn listed<'a>(&'a self, group: &'a Group) -> impl Iterator<Item = &'a Host> {
        group.hosts.iter().map(|host| &self.hosts[*host])
    }

    /// Direct children of a group.
    pub fn children<'a>(&'a self, group: &'a Group) -> impl Iterator<Item = &'a Group> {
        group.children.iter().map(|group| &self.groups[*group])
    }

    /// Whether a host is in a group, directly or through children.
    pub fn is_in(&self, host: &Host, group: &str) -> bool {
        group == "all" || self.groups_of(host).any(|own| own.name == group)
    }

    /// All groups of a host except `all`, lowest precedence first.
    pub fn groups_of<'a>(&'a self, host: &'a Host) -> impl Iterator<Item = &'a Group> {
        host.groups.iter().map(|group| &self.groups[*group])
    }

    /// The effective value for a host.
    pub fn variable<'a>(&'a self, host: &'a Host, name: &str) -> Option<&'a Variable> {
        self.layers(host).find_map(|layer| layer.get(name))
    }

    /// Effective values of all variables of a host.
    pub fn variables<'a>(&'a self, host: &'a Host) -> BTreeMap<&'a str, &'a Variable> {
        let mut all = BTreeMap::new();
        for (name, variable) in self.layers(host).flatten() {
            all.entry(name.as_str()).or_insert(variable);
        }
        all
    }

    /// Variables set on the group itself.
    pub fn group_variables<'a>(&'a self, group: &'a Group) -> BTreeMap<&'a str, &'a Variable> {
        let layers = [&group.variables, &group.file_variables];
        let pairs = layers.into_iter().flatten();
        pairs
            .map(|(name, variable)| (name.as_str(), variable))
            .collect()
    }

    /// Variables set on the host itself.
    pub fn host_variables<'a>(&'a self, host: &'a Host) -> BTreeMap<&'a str, &'a Variable> {
        let layers = [&host.variables, &host.file_variables];
        let pairs = layers.into_iter().flatten();
        pairs
            .map(|(name, variable)| (name.as_str(), variable))
            .collect()
    }

    /// All variables by name and location; a line with a host range counts once.
    pub fn all_variables(&self) -> BTreeSet<(&str, &SourceLocation)> {
        let groups = self.groups.iter();
        let groups = groups.flat_map(|group| [&group.variables, &group.file_variables]);
        let hosts = self.hosts.iter();
        let hosts = hosts.flat_map(|host| [&host.variables, &host.file_variables]);
        let pairs = groups.chain(hosts).flatten();
        pairs
            .map(|(name, variable)| (name.as_str(), &variable.location))
            .collect()
    }

    /// Variable layers of a host, highest precedence first.
    fn layers<'a>(&'a self, host: &'a Host) -> impl Iterator<Item = &'a Layer> {
        let all = &self.groups[0];
        let groups = || host.groups.iter().rev().map(|group| &self.groups[*group]);
        [&host.file_variables, &host.variables]
            .into_iter()
            .chain(groups().map(|group| &group.file_variables))
            .chain([&all.file_variables])
            .chain(groups().map(|group| &group.variables))
            .chain([&all.variables])
    }
}
