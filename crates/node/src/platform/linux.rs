//! What only Linux has: a kernel that is told values and given modules, swap
//! areas, packages, units, links that are made by name.

use casement_resource::{
    Enablement, HostPath, KernelModuleFacts, LinkName, LinkSeen, LinkType, ModuleName, PackageName,
    PackageVersion, SwapArea, SysctlName, UnitName, UnitSeen,
};

use super::{Result, unsupported};

/// The running kernel.
pub trait Kernel {
    /// A value; none if the kernel has no such one.
    fn sysctl(&self, name: &SysctlName) -> Result<Option<String>> {
        Err(unsupported(&format!("kernel value `{name}`")))
    }

    /// Sets a value that is there.
    fn set_sysctl(&self, name: &SysctlName, _value: &str) -> Result<()> {
        Err(unsupported(&format!("kernel value `{name}`")))
    }

    /// Whether a module is there, and how.
    fn kernel_module(&self, name: &ModuleName) -> Result<KernelModuleFacts> {
        Err(unsupported(&format!("kernel module `{name}`")))
    }

    /// Loads a module, with those that it needs.
    fn load_kernel_module(&self, name: &ModuleName) -> Result<()> {
        Err(unsupported(&format!("kernel module `{name}`")))
    }

    /// Unloads a module that nothing uses, and no other one.
    fn unload_kernel_module(&self, name: &ModuleName) -> Result<()> {
        Err(unsupported(&format!("kernel module `{name}`")))
    }
}

/// Swap.
pub trait Swaps {
    /// The areas in use.
    fn swap_areas(&self) -> Result<Vec<SwapArea>> {
        Err(unsupported("swap"))
    }

    /// Where fstab(5) is.
    fn swap_table(&self) -> Result<HostPath> {
        Err(unsupported("swap"))
    }

    /// Stops the use of an area.
    fn swap_off(&self, _area: &SwapArea) -> Result<()> {
        Err(unsupported("swap"))
    }

    /// Puts an area to use.
    fn swap_on(&self, _area: &SwapArea) -> Result<()> {
        Err(unsupported("swap"))
    }
}

/// The distribution's packages.
pub trait Packages {
    /// The version that is installed, whole; none if none is, or not quite.
    fn package(&self, name: &PackageName) -> Result<Option<PackageVersion>> {
        Err(unsupported(&format!("package `{name}`")))
    }

    /// Installs a package, in a version if one is given, whichever is there.
    fn install_package(&self, name: &PackageName, _version: Option<&PackageVersion>) -> Result<()> {
        Err(unsupported(&format!("package `{name}`")))
    }

    /// Removes a package that nothing needs; its configuration, and what was
    /// installed along with it, stay.
    fn remove_package(&self, name: &PackageName) -> Result<()> {
        Err(unsupported(&format!("package `{name}`")))
    }
}

/// Units of systemd that are not casement's own.
pub trait Units {
    /// A unit; none if there is no such one.
    fn unit(&self, name: &UnitName) -> Result<Option<UnitSeen>> {
        Err(unsupported(&format!("unit `{name}`")))
    }

    /// Says what a boot does with it. One that is masked and should not be is
    /// unmasked first. There is nothing to do for [`Enablement::Fixed`] else.
    fn set_unit_enablement(&self, name: &UnitName, _wanted: Enablement) -> Result<()> {
        Err(unsupported(&format!("unit `{name}`")))
    }

    /// Starts or stops it; returns when that is done.
    fn set_unit_running(&self, name: &UnitName, _running: bool) -> Result<()> {
        Err(unsupported(&format!("unit `{name}`")))
    }
}

/// Network links.
pub trait Links {
    /// A link; none if there is no such one.
    fn link(&self, name: &LinkName) -> Result<Option<LinkSeen>> {
        Err(unsupported(&format!("link `{name}`")))
    }

    /// Makes a link, which is down then.
    fn add_link(&self, name: &LinkName, _link: &LinkType) -> Result<()> {
        Err(unsupported(&format!("link `{name}`")))
    }

    /// Deletes a link.
    fn delete_link(&self, name: &LinkName) -> Result<()> {
        Err(unsupported(&format!("link `{name}`")))
    }

    /// Sets the longest packet.
    fn set_link_mtu(&self, name: &LinkName, _mtu: u32) -> Result<()> {
        Err(unsupported(&format!("link `{name}`")))
    }

    /// Switches a link on or off.
    fn set_link_up(&self, name: &LinkName, _up: bool) -> Result<()> {
        Err(unsupported(&format!("link `{name}`")))
    }
}
