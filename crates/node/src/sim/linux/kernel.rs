//! Kernel, swap and links of a simulated Linux host.

use casement_resource::{
    HostPath, KernelModuleFacts, LinkName, LinkType, ModuleName, ObservedLink, SwapArea, SysctlName,
};

use super::super::{Sim, refused};
use crate::platform::{Kernel, Links, Result, Swaps};

/// A module and the sysctl that exists only while it is loaded.
const MODULE_SYSCTL: (&str, &str) = ("br_netfilter", "net.bridge.bridge-nf-call-iptables");

fn sysctl_of(module: &ModuleName) -> Option<SysctlName> {
    let (name, value) = MODULE_SYSCTL;
    (module.as_str() == name).then(|| value.parse().ok())?
}

impl Kernel for Sim {
    fn sysctl(&self, name: &SysctlName) -> Result<Option<String>> {
        self.linux(|linux| linux.values.get(name).cloned())
    }

    fn set_sysctl(&self, name: &SysctlName, value: &str) -> Result<()> {
        let what = format!("set_sysctl {name}");
        self.change_linux(&what, |linux| match linux.values.get_mut(name) {
            Some(found) => {
                value.clone_into(found);
                Ok(())
            }
            None => Err(refused(&what, "no such value")),
        })
    }

    fn kernel_module(&self, name: &ModuleName) -> Result<KernelModuleFacts> {
        self.linux(|linux| match linux.modules.get(name) {
            Some(users) => KernelModuleFacts::Loaded { users: *users },
            None => KernelModuleFacts::Absent,
        })
    }

    fn load_kernel_module(&self, name: &ModuleName) -> Result<()> {
        self.change_linux(&format!("load_kernel_module {name}"), |linux| {
            linux.modules.entry(name.clone()).or_insert(0);
            if let Some(value) = sysctl_of(name) {
                linux.values.entry(value).or_insert_with(|| "0".to_owned());
            }
            Ok(())
        })
    }

    fn unload_kernel_module(&self, name: &ModuleName) -> Result<()> {
        let what = format!("unload_kernel_module {name}");
        self.change_linux(&what, |linux| {
            if linux.modules.get(name).is_some_and(|users| *users > 0) {
                return Err(refused(&what, "it is in use"));
            }
            linux.modules.remove(name);
            if let Some(value) = sysctl_of(name) {
                linux.values.remove(&value);
            }
            Ok(())
        })
    }
}

impl Swaps for Sim {
    fn swap_areas(&self) -> Result<Vec<SwapArea>> {
        self.linux(|linux| {
            let areas = linux.swap.iter().map(|(path, priority)| SwapArea {
                path: path.clone(),
                priority: *priority,
            });
            areas.collect()
        })
    }

    fn swap_table(&self) -> Result<HostPath> {
        "/etc/fstab"
            .parse()
            .map_err(|_| refused("swap_table", "invalid path"))
    }

    fn swap_off(&self, area: &SwapArea) -> Result<()> {
        let what = format!("swap_off {}", area.path);
        self.change_linux(&what, |linux| match linux.swap.remove(&area.path) {
            Some(_) => Ok(()),
            None => Err(refused(&what, "it is not in use")),
        })
    }

    fn swap_on(&self, area: &SwapArea) -> Result<()> {
        let what = format!("swap_on {}", area.path);
        self.change_linux(&what, |linux| {
            match linux.swap.insert(area.path.clone(), area.priority) {
                None => Ok(()),
                Some(_) => Err(refused(&what, "it is already in use")),
            }
        })
    }
}

impl Links for Sim {
    fn link(&self, name: &LinkName) -> Result<Option<ObservedLink>> {
        self.linux(|linux| linux.links.get(name).cloned())
    }

    fn add_link(&self, name: &LinkName, link: &LinkType) -> Result<()> {
        let what = format!("add_link {name}");
        self.change_linux(&what, |linux| {
            let new = ObservedLink {
                link: Some(link.clone()),
                mtu: 1500,
                up: false,
            };
            match linux.links.insert(name.clone(), new) {
                None => Ok(()),
                Some(_) => Err(refused(&what, "it exists")),
            }
        })
    }

    fn delete_link(&self, name: &LinkName) -> Result<()> {
        let what = format!("delete_link {name}");
        self.change_linux(&what, |linux| match linux.links.remove(name) {
            Some(_) => Ok(()),
            None => Err(refused(&what, "no such link")),
        })
    }

    fn set_link_mtu(&self, name: &LinkName, mtu: u32) -> Result<()> {
        self.change_link(name, |link| link.mtu = mtu)
    }

    fn set_link_up(&self, name: &LinkName, up: bool) -> Result<()> {
        self.change_link(name, |link| link.up = up)
    }
}

impl Sim {
    fn change_link(&self, name: &LinkName, change: impl FnOnce(&mut ObservedLink)) -> Result<()> {
        let what = format!("set_link {name}");
        self.change_linux(&what, |linux| match linux.links.get_mut(name) {
            Some(link) => {
                change(link);
                Ok(())
            }
            None => Err(refused(&what, "no such link")),
        })
    }
}
