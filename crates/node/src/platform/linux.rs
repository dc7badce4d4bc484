//! Concerns that only Linux has: kernel parameters and modules, swap, packages,
//! systemd units, network links.

use casement_resource::{
    Enablement, HostPath, KernelModuleFacts, LinkName, LinkType, ModuleName, ObservedLink,
    ObservedUnit, PackageName, PackageVersion, SwapArea, SysctlName, UnitName,
};

use super::{Result, unsupported};

pub trait Kernel {
    /// `None` if the kernel has no such parameter.
    fn sysctl(&self, name: &SysctlName) -> Result<Option<String>> {
        Err(unsupported(&format!("kernel parameter `{name}`")))
    }

    /// The parameter must exist.
    fn set_sysctl(&self, name: &SysctlName, _value: &str) -> Result<()> {
        Err(unsupported(&format!("kernel parameter `{name}`")))
    }

    fn kernel_module(&self, name: &ModuleName) -> Result<KernelModuleFacts> {
        Err(unsupported(&format!("kernel module `{name}`")))
    }

    /// Also loads its dependencies.
    fn load_kernel_module(&self, name: &ModuleName) -> Result<()> {
        Err(unsupported(&format!("kernel module `{name}`")))
    }

    /// The module must not be in use. Its dependencies stay loaded.
    fn unload_kernel_module(&self, name: &ModuleName) -> Result<()> {
        Err(unsupported(&format!("kernel module `{name}`")))
    }
}

pub trait Swaps {
    fn swap_areas(&self) -> Result<Vec<SwapArea>> {
        Err(unsupported("swap"))
    }

    /// The path of fstab(5).
    fn swap_table(&self) -> Result<HostPath> {
        Err(unsupported("swap"))
    }

    fn swap_off(&self, _area: &SwapArea) -> Result<()> {
        Err(unsupported("swap"))
    }

    fn swap_on(&self, _area: &SwapArea) -> Result<()> {
        Err(unsupported("swap"))
    }
}

pub trait Packages {
    /// `None` if the package is not installed, or only partially.
    fn package(&self, name: &PackageName) -> Result<Option<PackageVersion>> {
        Err(unsupported(&format!("package `{name}`")))
    }

    /// Replaces an installed version if another one is given.
    fn install_package(&self, name: &PackageName, _version: Option<&PackageVersion>) -> Result<()> {
        Err(unsupported(&format!("package `{name}`")))
    }

    /// Removes a package that no other one needs. Its configuration files and
    /// dependencies stay.
    fn remove_package(&self, name: &PackageName) -> Result<()> {
        Err(unsupported(&format!("package `{name}`")))
    }
}

/// systemd units that casement does not own.
pub trait Units {
    /// `None` if there is no such unit.
    fn unit(&self, name: &UnitName) -> Result<Option<ObservedUnit>> {
        Err(unsupported(&format!("unit `{name}`")))
    }

    /// Unmasks a masked unit first, unless it should be masked.
    /// [`Enablement::Fixed`] needs nothing else.
    fn set_unit_enablement(&self, name: &UnitName, _wanted: Enablement) -> Result<()> {
        Err(unsupported(&format!("unit `{name}`")))
    }

    /// Returns when the unit has started or stopped.
    fn set_unit_running(&self, name: &UnitName, _running: bool) -> Result<()> {
        Err(unsupported(&format!("unit `{name}`")))
    }
}

pub trait Links {
    /// `None` if there is no such link.
    fn link(&self, name: &LinkName) -> Result<Option<ObservedLink>> {
        Err(unsupported(&format!("link `{name}`")))
    }

    /// The new link is down.
    fn add_link(&self, name: &LinkName, _link: &LinkType) -> Result<()> {
        Err(unsupported(&format!("link `{name}`")))
    }

    fn delete_link(&self, name: &LinkName) -> Result<()> {
        Err(unsupported(&format!("link `{name}`")))
    }

    fn set_link_mtu(&self, name: &LinkName, _mtu: u32) -> Result<()> {
        Err(unsupported(&format!("link `{name}`")))
    }

    fn set_link_up(&self, name: &LinkName, _up: bool) -> Result<()> {
        Err(unsupported(&format!("link `{name}`")))
    }
}
