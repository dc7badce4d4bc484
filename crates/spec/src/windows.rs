//! Settings of Windows hosts.

use std::fmt;
use std::str::FromStr;

use camino::Utf8PathBuf;
use serde::{Serialize, Serializer};

use crate::named::named;
use crate::text::line_error;
use crate::{HostAddress, Invalid, WindowsPath, defaults};

named! {
    pub enum WindowsComponents {
        Services = "services",
        HostProcess = "host-process",
    }
}

named! {
    pub enum RebootPolicy {
        Auto = "auto",
        Never = "never",
    }
}

named! {
    pub enum RepairPolicy {
        Auto = "auto",
        Report = "report",
    }
}

named! {
    pub enum DefenderPolicy {
        Exclude = "exclude",
        Keep = "keep",
    }
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum WindowsUpdate {
    /// This update, or a later one that includes it.
    Kb(u32),
    /// An `.msu` file.
    Package(Utf8PathBuf),
}

impl FromStr for WindowsUpdate {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let wrong = |reason: &str| Invalid::new("update", text, reason);
        let lower = text.to_ascii_lowercase();
        if lower.ends_with(".msu") {
            return match line_error(text, 1000) {
                None => Ok(Self::Package(text.into())),
                Some(error) => Err(wrong(&error)),
            };
        }
        let number = lower.strip_prefix("kb").unwrap_or(&lower);
        match number.parse() {
            Ok(number @ 100_000..) if lower.starts_with("kb") => Ok(Self::Kb(number)),
            Ok(number @ 100_000_u32..) => {
                Err(wrong("`KB` is missing before the number").suggest(Some(format!("KB{number}"))))
            }
            _ => Err(wrong(
                "expected a number like `KB5012637` or the path of an `.msu` file",
            )),
        }
    }
}

impl fmt::Display for WindowsUpdate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kb(number) => write!(f, "KB{number}"),
            Self::Package(path) => path.fmt(f),
        }
    }
}

impl Serialize for WindowsUpdate {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Windows {
    pub base_dir: WindowsPath,
    pub components: WindowsComponents,
    pub reboot: RebootPolicy,
    pub repair: RepairPolicy,
    pub defender: DefenderPolicy,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub updates: Vec<WindowsUpdate>,
    /// Empty: the host keeps its time servers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub time_servers: Vec<HostAddress>,
}

impl Default for Windows {
    fn default() -> Self {
        Self {
            base_dir: defaults::base_dir(),
            components: WindowsComponents::Services,
            reboot: RebootPolicy::Auto,
            repair: RepairPolicy::Auto,
            defender: DefenderPolicy::Exclude,
            updates: Vec::new(),
            time_servers: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn update_is_a_kb_number_or_a_package() {
        assert_eq!("kb5012637".parse(), Ok(WindowsUpdate::Kb(5_012_637)));
        let package = "./updates/windows10.0-kb5012637-x64.msu";
        let read: WindowsUpdate = package.parse().unwrap();
        assert_eq!(read, WindowsUpdate::Package(package.into()));
        let wrong = "5012637".parse::<WindowsUpdate>().unwrap_err();
        assert_eq!(wrong.suggestion.as_deref(), Some("KB5012637"));
        for bad in ["", "KB", "KB12", "all", "x.cab"] {
            assert!(bad.parse::<WindowsUpdate>().is_err(), "{bad}");
        }
    }
}
