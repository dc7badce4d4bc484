//! Values below `HKEY_LOCAL_MACHINE`, in the 64-bit view. Keys are relative to it.

use std::io;

use casement_resource::{Failure, RegistryData};
use winreg::enums::{
    HKEY_LOCAL_MACHINE, KEY_READ, KEY_SET_VALUE, KEY_WOW64_64KEY, KEY_WRITE, REG_DWORD,
    REG_EXPAND_SZ, REG_MULTI_SZ, REG_OPTION_VOLATILE, REG_QWORD, REG_SZ,
};
use winreg::types::{FromRegValue, ToRegValue};
use winreg::{RegKey, RegValue};

use super::Windows;
use super::failure::system;
use crate::platform::Registry;

impl Registry for Windows {
    fn registry_key_exists(&self, key: &str) -> Result<bool, Failure> {
        exists(key)
    }

    fn registry_value(&self, key: &str, name: &str) -> Result<Option<RegistryData>, Failure> {
        read(key, name)
    }

    fn set_registry_value(
        &self,
        key: &str,
        name: &str,
        data: &RegistryData,
    ) -> Result<(), Failure> {
        write(key, name, data)
    }

    fn delete_registry_value(&self, key: &str, name: &str) -> Result<(), Failure> {
        delete(key, name)
    }

    fn delete_empty_registry_key(&self, key: &str) -> Result<bool, Failure> {
        delete_if_empty(key)
    }
}

fn root() -> RegKey {
    RegKey::predef(HKEY_LOCAL_MACHINE)
}

pub fn exists(key: &str) -> Result<bool, Failure> {
    Ok(open(key)?.is_some())
}

/// The key disappears at the next boot.
pub fn create_volatile(key: &str) -> Result<(), Failure> {
    let flags = KEY_WRITE | KEY_WOW64_64KEY;
    root()
        .create_subkey_with_options_flags(key, REG_OPTION_VOLATILE, flags)
        .map(drop)
        .map_err(|error| system(format_args!("create the key `{key}`"), &error))
}

fn open(key: &str) -> Result<Option<RegKey>, Failure> {
    match root().open_subkey_with_flags(key, KEY_READ | KEY_WOW64_64KEY) {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(system(format_args!("open the key `{key}`"), &error)),
    }
}

/// `None` if the value or its key is absent.
pub fn read(key: &str, name: &str) -> Result<Option<RegistryData>, Failure> {
    let Some(opened) = open(key)? else {
        return Ok(None);
    };
    match opened.get_raw_value(name) {
        Ok(value) => Ok(Some(data_of(value))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(system(format_args!(r"read `{key}\{name}`"), &error)),
    }
}

/// Creates the key if needed.
pub fn write(key: &str, name: &str, value: &RegistryData) -> Result<(), Failure> {
    let action = || format!(r"write `{key}\{name}`");
    let (opened, _) = root()
        .create_subkey_with_flags(key, KEY_WRITE | KEY_WOW64_64KEY)
        .map_err(|error| system(action(), &error))?;
    opened
        .set_raw_value(name, &raw(value))
        .map_err(|error| system(action(), &error))
}

/// Succeeds if the value is absent.
pub fn delete(key: &str, name: &str) -> Result<(), Failure> {
    let action = || format!(r"delete `{key}\{name}`");
    let flags = KEY_SET_VALUE | KEY_WOW64_64KEY;
    let opened = root().open_subkey_with_flags(key, flags);
    match opened.and_then(|opened| opened.delete_value(name)) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(system(action(), &error)),
    }
}

/// Returns whether the key is gone.
pub fn delete_if_empty(key: &str) -> Result<bool, Failure> {
    let Some(opened) = open(key)? else {
        return Ok(true);
    };
    let info = opened
        .query_info()
        .map_err(|error| system(format_args!("read the key `{key}`"), &error))?;
    if info.sub_keys > 0 || info.values > 0 {
        return Ok(false);
    }
    root()
        .delete_subkey_with_flags(key, KEY_WOW64_64KEY)
        .map(|()| true)
        .map_err(|error| system(format_args!("delete the key `{key}`"), &error))
}

pub fn subkeys(key: &str) -> Result<Vec<String>, Failure> {
    let Some(opened) = open(key)? else {
        return Ok(Vec::new());
    };
    opened
        .enum_keys()
        .collect::<Result<_, _>>()
        .map_err(|error| system(format_args!("list the key `{key}`"), &error))
}

fn data_of(value: RegValue<'_>) -> RegistryData {
    let read = match value.vtype {
        REG_SZ => String::from_reg_value(&value).map(RegistryData::Text),
        REG_EXPAND_SZ => String::from_reg_value(&value).map(RegistryData::ExpandText),
        REG_MULTI_SZ => Vec::from_reg_value(&value).map(RegistryData::MultiText),
        REG_DWORD => u32::from_reg_value(&value).map(RegistryData::Number),
        _ => Err(io::ErrorKind::Unsupported.into()),
    };
    read.unwrap_or_else(|_| RegistryData::Other {
        type_number: value.vtype.clone() as u32,
        bytes: value.bytes.to_vec(),
    })
}

fn raw(value: &RegistryData) -> RegValue<'_> {
    match value {
        RegistryData::Text(text) => text.to_reg_value(),
        RegistryData::ExpandText(text) => RegValue {
            vtype: REG_EXPAND_SZ,
            ..text.to_reg_value()
        },
        RegistryData::MultiText(texts) => texts.to_reg_value(),
        RegistryData::Number(number) => number.to_reg_value(),
        RegistryData::Other { type_number, bytes } => RegValue {
            vtype: kind_of(*type_number),
            bytes: bytes.clone().into(),
        },
    }
}

/// Unknown types become `REG_BINARY`.
fn kind_of(number: u32) -> winreg::enums::RegType {
    use winreg::enums::RegType::{
        REG_BINARY, REG_DWORD_BIG_ENDIAN, REG_FULL_RESOURCE_DESCRIPTOR, REG_LINK, REG_NONE,
        REG_RESOURCE_LIST, REG_RESOURCE_REQUIREMENTS_LIST,
    };
    let types = [
        REG_NONE,
        REG_SZ,
        REG_EXPAND_SZ,
        REG_DWORD,
        REG_DWORD_BIG_ENDIAN,
        REG_LINK,
        REG_MULTI_SZ,
        REG_RESOURCE_LIST,
        REG_FULL_RESOURCE_DESCRIPTOR,
        REG_RESOURCE_REQUIREMENTS_LIST,
        REG_QWORD,
    ];
    types
        .into_iter()
        .find(|kind| kind.clone() as u32 == number)
        .unwrap_or(REG_BINARY)
}
