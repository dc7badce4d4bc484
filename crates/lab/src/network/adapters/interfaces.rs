//! Reads and changes settings of interfaces.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use lab_wire::Failure;
use lab_wire::adapter::{Family, Interface, InterfaceChange, InterfaceSettings};

use super::ip::{self, Link};
use super::{general, invalid};

/// The metric that Windows assigns to a 10 Gbit/s adapter.
const AUTOMATIC_METRIC: u32 = 15;

/// Stores the settings that Linux does not support.
#[derive(Debug, Default)]
pub struct Interfaces {
    stored: Mutex<BTreeMap<Interface, StoredSettings>>,
}

#[derive(Debug, Clone, Copy, Default)]
struct StoredSettings {
    weak_host_send: bool,
    weak_host_receive: bool,
    /// `None` means automatic.
    metric: Option<u32>,
}

impl Interfaces {
    pub fn settings(&self, interface: Interface) -> Result<InterfaceSettings, Failure> {
        let link = ip::link(interface.index)?;
        let stored = self.lock().get(&interface).copied().unwrap_or_default();
        Ok(InterfaceSettings {
            forwarding: forwarding(interface, &link)?,
            weak_host_send: stored.weak_host_send,
            weak_host_receive: stored.weak_host_receive,
            automatic_metric: stored.metric.is_none(),
            metric: stored.metric.unwrap_or(AUTOMATIC_METRIC),
            mtu: link.mtu,
            connected: link.flags.iter().any(|flag| flag == "LOWER_UP"),
        })
    }

    pub fn change(&self, interface: Interface, change: &InterfaceChange) -> Result<(), Failure> {
        let link = ip::link(interface.index)?;
        if let Some(mtu) = change.mtu.filter(|&mtu| mtu != link.mtu) {
            let mtu = mtu.to_string();
            ip::change(&["link", "set", "dev", &link.ifname, "mtu", &mtu])?;
        }
        if let Some(on) = change.forwarding {
            let path = forwarding_file(interface, &link)?;
            fs::write(path, if on { "1" } else { "0" }).map_err(general)?;
        }
        self.lock().entry(interface).or_default().apply(change);
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Interface, StoredSettings>> {
        self.stored.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl StoredSettings {
    fn apply(&mut self, change: &InterfaceChange) {
        self.weak_host_send = change.weak_host_send.unwrap_or(self.weak_host_send);
        self.weak_host_receive = change.weak_host_receive.unwrap_or(self.weak_host_receive);
        self.metric = match (change.automatic_metric, change.metric) {
            (Some(true), _) => None,
            (_, Some(metric)) => Some(metric),
            (Some(false), None) => Some(self.metric.unwrap_or(AUTOMATIC_METRIC)),
            (None, None) => self.metric,
        };
    }
}

fn forwarding(interface: Interface, link: &Link) -> Result<bool, Failure> {
    // The file is missing if the kernel has no IPv6.
    let text = fs::read_to_string(forwarding_file(interface, link)?).unwrap_or_default();
    Ok(text.trim() == "1")
}

fn forwarding_file(interface: Interface, link: &Link) -> Result<PathBuf, Failure> {
    if link.ifname.contains(['/', '\0']) || link.ifname.starts_with('.') {
        return Err(invalid(&link.ifname));
    }
    let protocol = match interface.family {
        Family::V4 => "ipv4",
        Family::V6 => "ipv6",
    };
    Ok(PathBuf::from("/proc/sys/net")
        .join(protocol)
        .join("conf")
        .join(&link.ifname)
        .join("forwarding"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn explicit_metric_disables_automatic_metric() {
        let mut stored = StoredSettings::default();
        let metric = InterfaceChange {
            metric: Some(5),
            ..InterfaceChange::default()
        };
        stored.apply(&metric);
        assert_eq!(stored.metric, Some(5));
        let automatic = InterfaceChange {
            automatic_metric: Some(true),
            metric: Some(5),
            ..InterfaceChange::default()
        };
        stored.apply(&automatic);
        assert_eq!(stored.metric, None);
    }

    #[test]
    fn unset_fields_keep_their_values() {
        let mut stored = StoredSettings {
            weak_host_send: true,
            metric: Some(7),
            ..StoredSettings::default()
        };
        stored.apply(&InterfaceChange::default());
        assert!(stored.weak_host_send);
        assert_eq!(stored.metric, Some(7));
    }
}
