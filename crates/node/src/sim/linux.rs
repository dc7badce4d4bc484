//! The state that only a simulated Linux host has.

use std::collections::BTreeMap;

use casement_resource::{
    Enablement, HostPath, LinkName, ModuleName, ObservedLink, PackageName, PackageVersion,
    SysctlName, UnitName,
};

use super::{Sim, refused};
use crate::platform::{Result, unsupported};

mod kernel;
mod manage;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LinuxWorld {
    pub values: BTreeMap<SysctlName, String>,
    /// Loaded modules with their use count.
    pub modules: BTreeMap<ModuleName, u32>,
    /// Active swap areas with their priority.
    pub swap: BTreeMap<HostPath, i32>,
    pub packages: BTreeMap<PackageName, PackageVersion>,
    pub units: BTreeMap<UnitName, Unit>,
    pub links: BTreeMap<LinkName, ObservedLink>,
    /// The settings of the program `switch`; those that are off are absent.
    pub switches: BTreeMap<String, String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unit {
    /// The state of the unit file; `None` if there is only a mask.
    pub file: Option<Enablement>,
    pub masked: bool,
    pub running: bool,
}

impl Sim {
    pub(super) fn linux<T>(&self, read: impl FnOnce(&LinuxWorld) -> T) -> Result<T> {
        self.read("linux")?;
        let world = self.lock();
        let linux = world.linux.as_ref();
        linux
            .map(read)
            .ok_or_else(|| unsupported("a simulated Windows host"))
    }

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
