//! Settings of interfaces.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use lab_wire::Failure;
use lab_wire::adapter::{Change, Family, Interface, Settings};

use super::ip::{self, Link};
use super::{general, invalid};

/// Windows' automatic metric of an adapter with 10 Gbit/s.
const AUTOMATIC_METRIC: u32 = 15;

/// The settings that Linux has no place for.
#[derive(Debug, Default)]
pub struct Interfaces {
    remembered: Mutex<BTreeMap<Interface, Remembered>>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Remembered {
    weak_host_send: bool,
    weak_host_receive: bool,
    /// `None` is automatic.
    metric: Option<u32>,
}

impl Interfaces {
    /// All settings of an interface.
    pub fn settings(&self, interface: Interface) -> Result<Settings, Failure> {
        let link = ip::link(interface.index)?;
        let remembered = self.lock().get(&interface).copied().unwrap_or_default();
        Ok(Settings {
            forwarding: forwarding(interface, &link)?,
            weak_host_send: remembered.weak_host_send,
            weak_host_receive: remembered.weak_host_receive,
            automatic_metric: remembered.metric.is_none(),
            metric: remembered.metric.unwrap_or(AUTOMATIC_METRIC),
            mtu: link.mtu,
            connected: link.flags.iter().any(|flag| flag == "LOWER_UP"),
        })
    }

    /// Changes some of them.
    pub fn change(&self, interface: Interface, change: &Change) -> Result<(), Failure> {
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

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Interface, Remembered>> {
        self.remembered
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Remembered {
    fn apply(&mut self, change: &Change) {
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
    // Without IPv6 in the kernel there is no such file.
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
    fn a_metric_of_ones_own_is_not_automatic() {
        let mut remembered = Remembered::default();
        let metric = Change {
            metric: Some(5),
            ..Change::default()
        };
        remembered.apply(&metric);
        assert_eq!(remembered.metric, Some(5));
        let automatic = Change {
            automatic_metric: Some(true),
            metric: Some(5),
            ..Change::default()
        };
        remembered.apply(&automatic);
        assert_eq!(remembered.metric, None);
    }

    #[test]
    fn what_is_not_named_stays() {
        let mut remembered = Remembered {
            weak_host_send: true,
            metric: Some(7),
            ..Remembered::default()
        };
        remembered.apply(&Change::default());
        assert!(remembered.weak_host_send);
        assert_eq!(remembered.metric, Some(7));
    }
}
