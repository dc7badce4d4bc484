//! The features that are known, and where their state is kept.

use std::io;

use winreg::RegKey;
use winreg::enums::{HKEY_LOCAL_MACHINE, KEY_WRITE, REG_OPTION_VOLATILE};

/// A feature of Windows.
pub struct Feature {
    /// Its name.
    pub name: &'static str,
    /// Whether a switch takes effect at the next boot only.
    pub needs_boot: bool,
    /// Whether a new host has it.
    at_first: bool,
}

/// A host of the lab can run containers from the start.
const KNOWN: [Feature; 3] = [
    Feature {
        name: "Containers",
        needs_boot: true,
        at_first: true,
    },
    Feature {
        name: "Microsoft-Hyper-V",
        needs_boot: true,
        at_first: false,
    },
    Feature {
        name: "TelnetClient",
        needs_boot: false,
        at_first: false,
    },
];

/// Holds, for each feature that was switched, what it was (`From`), what it is
/// to be (`To`), and in which boot it was switched (`Boot`).
const KEY: &str = r"SOFTWARE\casement-lab\features";
const BOOT: &str =
    r"SYSTEM\CurrentControlSet\Control\Session Manager\Memory Management\PrefetchParameters";
/// Windows' own sign; as long as this boot lasts.
const PENDING: &str =
    r"SOFTWARE\Microsoft\Windows\CurrentVersion\Component Based Servicing\RebootPending";

pub fn known(name: &str) -> Option<&'static Feature> {
    KNOWN
        .iter()
        .find(|feature| feature.name.eq_ignore_ascii_case(name))
}

fn root() -> RegKey {
    RegKey::predef(HKEY_LOCAL_MACHINE)
}

fn boot() -> u32 {
    let key = root().open_subkey(BOOT);
    key.and_then(|key| key.get_value("BootId"))
        .unwrap_or_default()
}

/// Whether it is there in fact, and whether it is to be there.
fn now_and_then(feature: &Feature) -> (bool, bool) {
    let read = || {
        let key = root().open_subkey(format!(r"{KEY}\{}", feature.name))?;
        let number = |name: &str| key.get_value::<u32, _>(name);
        let (from, to) = (number("From")? != 0, number("To")? != 0);
        let settled = !feature.needs_boot || number("Boot")? != boot();
        io::Result::Ok((if settled { to } else { from }, to))
    };
    read().unwrap_or((feature.at_first, feature.at_first))
}

/// `DismPackageFeatureState`: staged, uninstall pending, installed, install
/// pending.
pub fn state(feature: &Feature) -> u32 {
    match now_and_then(feature) {
        (false, false) => 2,
        (true, false) => 1,
        (true, true) => 4,
        (false, true) => 5,
    }
}

/// Switches a feature; says whether it waits for a boot.
pub fn switch(feature: &Feature, on: bool) -> io::Result<bool> {
    let (now, _) = now_and_then(feature);
    let (key, _) = root().create_subkey(format!(r"{KEY}\{}", feature.name))?;
    key.set_value("From", &u32::from(now))?;
    key.set_value("To", &u32::from(on))?;
    key.set_value("Boot", &boot())?;
    let waits = feature.needs_boot && now != on;
    if waits {
        root().create_subkey_with_options_flags(PENDING, REG_OPTION_VOLATILE, KEY_WRITE)?;
    }
    Ok(waits)
}
