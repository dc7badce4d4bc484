//! What only a simulated Linux host has.

use std::collections::BTreeMap;

use casement_resource::{
    Enablement, HostPath, LinkName, LinkSeen, ModuleName, PackageName, PackageVersion, SysctlName,
    UnitName,
};

use super::{Sim, refused};
use crate::platform::{Result, unsupported};

mod kernel;
mod manage;

/// Everything that can be seen of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LinuxWorld {
    /// Values of the kernel.
    pub values: BTreeMap<SysctlName, String>,
    /// Loaded modules, with how many things use each.
    pub modules: BTreeMap<ModuleName, u32>,
    /// Swap areas in use, with their priority.
    pub swap: BTreeMap<HostPath, i32>,
    /// Installed packages.
    pub packages: BTreeMap<PackageName, PackageVersion>,
    /// Units.
    pub units: BTreeMap<UnitName, Unit>,
    /// Network links.
    pub links: BTreeMap<LinkName, LinkSeen>,
    /// What the program `switch` has been told; what is off is not here.
    pub switches: BTreeMap<String, String>,
}

/// A unit of a simulated host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unit {
    /// What its own file says; none where only a mask has the name.
    pub file: Option<Enablement>,
    /// Whether it is masked.
    pub masked: bool,
    /// Whether it runs.
    pub running: bool,
}

impl Sim {
    /// Looks at what only Linux has.
    pub(super) fn linux<T>(&self, look: impl FnOnce(&LinuxWorld) -> T) -> Result<T> {
        self.read("linux")?;
        let world = self.lock();
        let linux = world.linux.as_ref();
        linux
            .map(look)
            .ok_or_else(|| unsupported("a simulated Windows host"))
    }

    /// One change of what only Linux has, by name.
    pub(super) fn change_linux<T: Default>(
        &self,
        name: &str,
        change: impl FnOnce(&mut LinuxWorld) -> Result<T>,
    ) -> Result<T> {
        self.change(name, |world| match world.linux.as_mut() {
            Some(linux) => change(linux),
            None => Err(refused(name, "a Windows host")),
        })
    }
}
