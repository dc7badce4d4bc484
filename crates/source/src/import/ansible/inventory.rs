//! An inventory that was read: hosts, groups, and who wins where a variable is
//! set more than once.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use super::value::Value;
use crate::import::Place;

/// Variables by name.
pub(super) type Layer = BTreeMap<String, Variable>;

/// A variable, and where it was set.
#[derive(Clone, PartialEq)]
pub struct Variable {
    /// What it holds.
    pub value: Value,
    /// Where that was said.
    pub place: Place,
}

impl fmt::Debug for Variable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} at {}", self.value, self.place)
    }
}

/// A host of an inventory.
#[derive(Debug, Clone)]
pub struct Host {
    /// As the inventory calls it.
    pub name: String,
    /// Where it was named first.
    pub place: Place,
    /// What the inventory says about it alone.
    pub(super) variables: Layer,
    /// What `host_vars` says about it.
    pub(super) file_variables: Layer,
    /// The groups that list it.
    pub(super) direct: Vec<usize>,
    /// All groups that it is in but `all`, weakest first.
    pub(super) groups: Arc<[usize]>,
}

/// A group of an inventory.
#[derive(Debug, Clone)]
pub struct Group {
    /// As the inventory calls it.
    pub name: String,
    /// Where it was named first; `None` for the two that are always there.
    pub place: Option<Place>,
    /// Its own weight among groups of one depth.
    pub priority: i128,
    pub(super) variables: Layer,
    pub(super) file_variables: Layer,
    pub(super) hosts: Vec<usize>,
    pub(super) children: Vec<usize>,
    pub(super) parents: Vec<usize>,
}

/// What an inventory says.
#[derive(Debug, Clone)]
pub struct Inventory {
    pub(super) hosts: Vec<Host>,
    /// `all` is the first, `ungrouped` the second.
    pub(super) groups: Vec<Group>,
}

#[expect(
    clippy::indexing_slicing,
    reason = "indices are the builder's own, and nothing is removed"
)]
impl Inventory {
    /// All hosts, in the order in which they were named.
    pub fn hosts(&self) -> &[Host] {
        &self.hosts
    }

    /// All groups, `all` and `ungrouped` included.
    pub fn groups(&self) -> &[Group] {
        &self.groups
    }

    /// The host of this name.
    pub fn host(&self, name: &str) -> Option<&Host> {
        self.hosts.iter().find(|host| host.name == name)
    }

    /// The group of this name.
    pub fn group(&self, name: &str) -> Option<&Group> {
        self.groups.iter().find(|group| group.name == name)
    }

    /// The hosts that a group lists itself.
    pub fn listed<'a>(&'a self, group: &'a Group) -> impl Iterator<Item = &'a Host> {
        group.hosts.iter().map(|host| &self.hosts[*host])
    }

    /// The groups that a group lists itself.
    pub fn children<'a>(&'a self, group: &'a Group) -> impl Iterator<Item = &'a Group> {
        group.children.iter().map(|group| &self.groups[*group])
    }

    /// Whether a host is in a group, however deep.
    pub fn is_in(&self, host: &Host, group: &str) -> bool {
        group == "all" || self.groups_of(host).any(|own| own.name == group)
    }

    /// The groups that a host is in, weakest first, without `all`.
    pub fn groups_of<'a>(&'a self, host: &'a Host) -> impl Iterator<Item = &'a Group> {
        host.groups.iter().map(|group| &self.groups[*group])
    }

    /// What a variable comes to for a host.
    pub fn variable<'a>(&'a self, host: &'a Host, name: &str) -> Option<&'a Variable> {
        self.layers(host).find_map(|layer| layer.get(name))
    }

    /// All that is said about a host, by itself and through its groups.
    pub fn variables<'a>(&'a self, host: &'a Host) -> BTreeMap<&'a str, &'a Variable> {
        let mut all = BTreeMap::new();
        for (name, variable) in self.layers(host).flatten() {
            all.entry(name.as_str()).or_insert(variable);
        }
        all
    }

    /// What is said about a group itself, not through other groups.
    pub fn group_variables<'a>(&'a self, group: &'a Group) -> BTreeMap<&'a str, &'a Variable> {
        let layers = [&group.variables, &group.file_variables];
        let pairs = layers.into_iter().flatten();
        pairs
            .map(|(name, variable)| (name.as_str(), variable))
            .collect()
    }

    /// What is said about a host alone, not through groups.
    pub fn host_variables<'a>(&'a self, host: &'a Host) -> BTreeMap<&'a str, &'a Variable> {
        let layers = [&host.variables, &host.file_variables];
        let pairs = layers.into_iter().flatten();
        pairs
            .map(|(name, variable)| (name.as_str(), variable))
            .collect()
    }

    /// Every variable that is set anywhere, by name and place. Those of hosts
    /// that one line made are one.
    pub fn all_variables(&self) -> BTreeSet<(&str, &Place)> {
        let groups = self.groups.iter();
        let groups = groups.flat_map(|group| [&group.variables, &group.file_variables]);
        let hosts = self.hosts.iter();
        let hosts = hosts.flat_map(|host| [&host.variables, &host.file_variables]);
        let pairs = groups.chain(hosts).flatten();
        pairs
            .map(|(name, variable)| (name.as_str(), &variable.place))
            .collect()
    }

    /// What is said about a host, strongest first.
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
