//! The known features, with their state in the registry.

use std::io;

use winreg::RegKey;
use winreg::enums::{HKEY_LOCAL_MACHINE, KEY_WRITE, REG_OPTION_VOLATILE};

pub struct Feature {
    pub name: &'static str,
    /// Whether a change takes effect only at the next boot.
    pub needs_reboot: bool,
    enabled_by_default: bool,
}

/// Lab hosts have the Containers feature enabled.
const KNOWN: [Feature; 3] = [
    Feature {
        name: "Containers",
        needs_reboot: true,
        enabled_by_default: true,
    },
    Feature {
        name: "Microsoft-Hyper-V",
        needs_reboot: true,
        enabled_by_default: false,
    },
    Feature {
        name: "TelnetClient",
        needs_reboot: false,
        enabled_by_default: false,
    },
];

/// For each changed feature: the old state (`From`), the new state (`To`), and
/// the boot in which it was changed (`Boot`).
const KEY: &str = r"SOFTWARE\casement-lab\features";
const BOOT: &str =
    r"SYSTEM\CurrentControlSet\Control\Session Manager\Memory Management\PrefetchParameters";
/// The marker that Windows uses; volatile, so it is gone after a reboot.
const PENDING: &str =
    r"SOFTWARE\Microsoft\Windows\CurrentVersion\Component Based Servicing\RebootPending";

pub fn find(name: &str) -> Option<&'static Feature> {
    KNOWN
        .iter()
        .find(|feature| feature.name.eq_ignore_ascii_case(name))
}

fn root() -> RegKey {
    RegKey::predef(HKEY_LOCAL_MACHINE)
}

fn boot_id() -> u32 {
    let key = root().open_subkey(BOOT);
    key.and_then(|key| key.get_value("BootId"))
        .unwrap_or_default()
}

/// The current and the target state.
fn current_and_target(feature: &Feature) -> (bool, bool) {
    let read = || {
        let key = root().open_subkey(format!(r"{KEY}\{}", feature.name))?;
        let number = |name: &str| key.get_value::<u32, _>(name);
        let (from, to) = (number("From")? != 0, number("To")? != 0);
        let in_effect = !feature.needs_reboot || number("Boot")? != boot_id();
        io::Result::Ok((if in_effect { to } else { from }, to))
    };
    read().unwrap_or((feature.enabled_by_default, feature.enabled_by_default))
}

/// `DismPackageFeatureState`: staged, uninstall pending, installed, install
/// pending.
pub fn state(feature: &Feature) -> u32 {
    match current_and_target(feature) {
        (false, false) => 2,
        (true, false) => 1,
        (true, true) => 4,
        (false, true) => 5,
    }
}

/// Enables or disables a feature; returns whether that needs a reboot.
pub fn set_enabled(feature: &Feature, enabled: bool) -> io::Result<bool> {
    let (current, _) = current_and_target(feature);
    let (key, _) = root().create_subkey(format!(r"{KEY}\{}", feature.name))?;
    key.set_value("From", &u32::from(current))?;
    key.set_value("To", &u32::from(enabled))?;
    key.set_value("Boot", &boot_id())?;
    let reboot_required = feature.needs_reboot && current != enabled;
    if reboot_required {
        root().create_subkey_with_options_flags(PENDING, REG_OPTION_VOLATILE, KEY_WRITE)?;
    }
    Ok(reboot_required)
}
