//! The machine's environment: what services and new logins get.
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
        announce();
        Ok(())
    }

    /// Empty ones too: many hosts have a `;` at the end, and it stays there.
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

/// A value of the type that was there; a new one is expanded if it refers to
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

/// Tells open windows. A host without any, or one that hangs, is no failure:
/// services read the environment when they start.
fn announce() {
    let what = wide("Environment");
    let mut answer = 0;
    // SAFETY: terminated text that outlives the call, and a place.
    unsafe {
        SendMessageTimeoutW(
            HWND_BROADCAST,
            WM_SETTINGCHANGE,
            0,
            what.as_ptr() as isize,
            SMTO_ABORTIFHUNG,
            BROADCAST_MS,
            ptr::from_mut(&mut answer),
        )
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_keeps_its_type_and_a_new_one_gets_the_right_one() {
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
