//! The machine-wide environment, which services and new logins get.
#![allow(unsafe_code, reason = "a broadcast of the Windows API")]

use std::ptr;

use casement_resource::{Failure, RegistryData};
use windows_sys::Win32::UI::WindowsAndMessaging::{
    HWND_BROADCAST, SMTO_ABORTIFHUNG, SendMessageTimeoutW, WM_SETTINGCHANGE,
};

use super::wide::wide;
use super::{Windows, registry};
use crate::platform::Environment;

const KEY: &str = r"SYSTEM\CurrentControlSet\Control\Session Manager\Environment";
const PATH: &str = "Path";
const BROADCAST_MS: u32 = 1_000;

impl Environment for Windows {
    fn env(&self, name: &str) -> Result<Option<String>, Failure> {
        Ok(match registry::read(KEY, name)? {
            Some(RegistryData::Text(text) | RegistryData::ExpandText(text)) => Some(text),
            _ => None,
        })
    }

    fn set_env(&self, name: &str, value: Option<&str>) -> Result<(), Failure> {
        match value {
            Some(value) => registry::write(KEY, name, &data(registry::read(KEY, name)?, value))?,
            None => registry::delete(KEY, name)?,
        }
        broadcast_change();
        Ok(())
    }

    /// Includes empty entries: many hosts have a trailing `;`, which is kept.
    fn path_entries(&self) -> Result<Vec<String>, Failure> {
        let path = self.env(PATH)?.filter(|path| !path.is_empty());
        Ok(path.map_or_else(Vec::new, |path| {
            path.split(';').map(str::to_owned).collect()
        }))
    }

    fn set_path_entries(&self, entries: &[String]) -> Result<(), Failure> {
        self.set_env(PATH, Some(&entries.join(";")))
    }
}

/// Keeps the type of an existing value; a new one is expandable if it refers to
/// other variables.
fn data(before: Option<RegistryData>, value: &str) -> RegistryData {
    let expands = match before {
        Some(RegistryData::ExpandText(_)) => true,
        Some(_) => false,
        None => value.split('%').count() > 2,
    };
    if expands {
        RegistryData::ExpandText(value.to_owned())
    } else {
        RegistryData::Text(value.to_owned())
    }
}

/// Notifies open windows. Failures are ignored: services read the environment when
/// they start.
fn broadcast_change() {
    let what = wide("Environment");
    let mut result = 0;
    // SAFETY: NUL-terminated text that outlives the call, and a writable pointer.
    unsafe {
        SendMessageTimeoutW(
            HWND_BROADCAST,
            WM_SETTINGCHANGE,
            0,
            what.as_ptr() as isize,
            SMTO_ABORTIFHUNG,
            BROADCAST_MS,
            ptr::from_mut(&mut result),
        )
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn existing_values_keep_their_type() {
        let expanding = Some(RegistryData::ExpandText(String::new()));
        let plain = Some(RegistryData::Text(String::new()));
        assert_eq!(
            data(expanding, "x"),
            RegistryData::ExpandText("x".to_owned())
        );
        assert_eq!(data(plain, "%x%"), RegistryData::Text("%x%".to_owned()));
        assert_eq!(
            data(None, "%x%"),
            RegistryData::ExpandText("%x%".to_owned())
        );
        assert_eq!(data(None, "100%"), RegistryData::Text("100%".to_owned()));
    }
}
