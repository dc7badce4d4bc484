//! `registryValue`: one value under `HKEY_LOCAL_MACHINE`.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Change, Diff};

/// The data of a registry value, with its type.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum RegistryData {
    /// `REG_SZ`.
    Text(String),
    /// `REG_EXPAND_SZ`: only observed and restored.
    ExpandText(String),
    /// `REG_DWORD`.
    Number(u32),
    /// `REG_MULTI_SZ`.
    MultiText(Vec<String>),
    /// Any other type, kept so that it can be restored.
    Other {
        /// The number of the type.
        type_number: u32,
        bytes: Vec<u8>,
    },
}

impl fmt::Display for RegistryData {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => write!(formatter, "\"{text}\""),
            Self::ExpandText(text) => write!(formatter, "expand \"{text}\""),
            Self::Number(number) => write!(formatter, "{number}"),
            Self::MultiText(texts) => write!(formatter, "{texts:?}"),
            Self::Other { type_number, bytes } => {
                write!(formatter, "type {type_number}, {} bytes", bytes.len())
            }
        }
    }
}

/// Missing keys are created.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RegistryValue {
    /// The key below `HKEY_LOCAL_MACHINE`, with backslashes.
    pub key: String,
    pub name: String,
    pub data: RegistryData,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RegistryFacts {
    /// None if the value does not exist.
    pub data: Option<RegistryData>,
}

impl RegistryValue {
    #[must_use]
    pub fn diff(&self, facts: &RegistryFacts) -> Diff {
        match &facts.data {
            None => Diff::Changes(vec![Change::missing("data", &self.data)]),
            Some(found) if *found == self.data => Diff::unchanged(format!("already {found}")),
            Some(found) => Diff::Changes(vec![Change::field("data", found, &self.data)]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_value_type_counts() {
        let wanted = RegistryValue {
            key: r"SOFTWARE\x".to_owned(),
            name: "n".to_owned(),
            data: RegistryData::Number(1),
        };
        let found = |data| RegistryFacts { data: Some(data) };
        assert!(wanted.diff(&found(RegistryData::Number(1))).in_sync());
        assert!(
            !wanted
                .diff(&found(RegistryData::Text("1".to_owned())))
                .in_sync()
        );
        assert!(!wanted.diff(&RegistryFacts { data: None }).in_sync());
    }
}
