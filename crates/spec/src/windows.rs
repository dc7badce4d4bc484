//! What is particular to Windows hosts.

use std::fmt;
use std::str::FromStr;

use camino::Utf8PathBuf;
use serde::{Serialize, Serializer};

use crate::named::named;
use crate::text::line_fault;
use crate::{HostAddress, Invalid, WindowsPath, defaults};

named! {
    /// How the node's programs run.
    pub enum WindowsComponents {
        /// As services of the host.
        Services = "services",
        /// As HostProcess containers.
        HostProcess = "host-process",
    }
}

named! {
    /// What is done when a change needs a reboot.
    pub enum RebootPolicy {
        /// The host is rebooted.
        Auto = "auto",
        /// It is not; the run says so.
        Never = "never",
    }
}

named! {
    /// What the node's service does about drift.
    pub enum RepairPolicy {
        /// It repairs.
        Auto = "auto",
        /// It only says so.
        Report = "report",
    }
}

named! {
    /// What becomes of Windows Defender.
    pub enum DefenderPolicy {
        /// The node's programs and folders are excluded from it.
        Exclude = "exclude",
        /// Its settings are kept.
        Keep = "keep",
    }
}

/// An update that hosts must have.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum WindowsUpdate {
    /// This article's, or a later one that contains it.
    Kb(u32),
    /// This package, an `.msu` file.
    Package(Utf8PathBuf),
}

impl FromStr for WindowsUpdate {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let wrong = |reason: &str| Invalid::new("update", text, reason);
        let lower = text.to_ascii_lowercase();
        if lower.ends_with(".msu") {
            return match line_fault(text, 1000) {
                None => Ok(Self::Package(text.into())),
                Some(fault) => Err(wrong(&fault)),
            };
        }
        let number = lower.strip_prefix("kb").unwrap_or(&lower);
        match number.parse() {
            Ok(number @ 100_000..) if lower.starts_with("kb") => Ok(Self::Kb(number)),
            Ok(number @ 100_000_u32..) => {
                Err(wrong("`KB` is missing before the number").suggest(Some(format!("KB{number}"))))
            }
            _ => Err(wrong(
                "it is neither `KB5012637` nor the path of an `.msu` file",
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

/// What is particular to Windows hosts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Windows {
    /// Where programs are put.
    pub base_dir: WindowsPath,
    /// How they run.
    pub components: WindowsComponents,
    /// What is done when a change needs a reboot.
    pub reboot: RebootPolicy,
    /// What is done about drift.
    pub repair: RepairPolicy,
    /// What becomes of Windows Defender.
    pub defender: DefenderPolicy,
    /// Updates that hosts must have.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub updates: Vec<WindowsUpdate>,
    /// Where hosts get the time from; empty where theirs is kept.
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
    fn an_update_is_an_article_or_a_package() {
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
