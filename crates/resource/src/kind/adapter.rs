//! `adapterSettings`: what the host's adapter was set to before a virtual
//! switch took it.

use std::fmt::Display;
use std::net::IpAddr;

use ipnet::IpNet;
use serde::{Deserialize, Serialize};

use crate::{Change, Diff};

/// The adapter with the host's address should keep what it had when it was
/// first seen: a switch that takes it makes another adapter in its place, and
/// not all settings come along.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AdapterSettings {
    /// The host's address, which names the adapter.
    pub address: IpAddr,
}

/// What an adapter is set to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AdapterSeen {
    /// Its addresses.
    pub addresses: Vec<IpNet>,
    /// Where packets for elsewhere go.
    pub gateways: Vec<IpAddr>,
    /// Who is asked for names; empty where DHCP says who.
    pub name_servers: Vec<IpAddr>,
    /// How much its routes cost; none where Windows decides.
    pub metric: Option<u32>,
}

/// An adapter as found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AdapterSettingsFacts {
    /// What was kept; none before the first time.
    pub kept: Option<AdapterSeen>,
    /// What is there now.
    pub now: AdapterSeen,
}

impl AdapterSettings {
    /// What is to change. More than was kept is fine: pods' networks add to it.
    #[must_use]
    pub fn diff(&self, facts: &AdapterSettingsFacts) -> Diff {
        let Some(kept) = &facts.kept else {
            let count = facts.now.addresses.len();
            return Diff::Changes(vec![Change::missing("kept", format!("{count} addresses"))]);
        };
        let now = &facts.now;
        let mut changes = Vec::new();
        lost(&mut changes, "address", &kept.addresses, &now.addresses);
        lost(&mut changes, "gateway", &kept.gateways, &now.gateways);
        let (before, after) = (&kept.name_servers, &now.name_servers);
        if !before.is_empty() && before != after {
            changes.push(Change::field("name servers", all(after), all(before)));
        }
        if let (Some(metric), now) = (kept.metric, now.metric)
            && now != Some(metric)
        {
            let now = now.map_or_else(|| "automatic".to_owned(), |now| now.to_string());
            changes.push(Change::field("metric", now, metric));
        }
        Diff::from_changes(changes, || format!("kept, {}", all(&kept.addresses)))
    }
}

fn lost<T: PartialEq + Display>(changes: &mut Vec<Change>, field: &str, before: &[T], now: &[T]) {
    for one in before.iter().filter(|one| !now.contains(one)) {
        changes.push(Change::missing(field, one));
    }
}

fn all<T: Display>(values: &[T]) -> String {
    if values.is_empty() {
        return "none".to_owned();
    }
    let texts: Vec<String> = values.iter().map(ToString::to_string).collect();
    texts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen() -> AdapterSeen {
        AdapterSeen {
            addresses: vec!["198.18.0.11/24".parse().unwrap()],
            gateways: vec!["198.18.0.1".parse().unwrap()],
            name_servers: vec!["198.18.0.1".parse().unwrap()],
            metric: Some(10),
        }
    }

    fn right(kept: Option<AdapterSeen>, now: AdapterSeen) -> bool {
        let address = "198.18.0.11".parse().unwrap();
        let facts = AdapterSettingsFacts { kept, now };
        AdapterSettings { address }.diff(&facts).is_right()
    }

    #[test]
    fn what_was_lost_counts_and_what_came_does_not() {
        assert!(!right(None, seen()), "it is kept first");
        assert!(right(Some(seen()), seen()));
        let mut more = seen();
        more.addresses.push("10.244.1.2/24".parse().unwrap());
        assert!(right(Some(seen()), more));
        for lose in [
            |now: &mut AdapterSeen| now.addresses.clear(),
            |now: &mut AdapterSeen| now.gateways.clear(),
            |now: &mut AdapterSeen| now.name_servers.clear(),
            |now: &mut AdapterSeen| now.metric = None,
        ] {
            let mut less = seen();
            lose(&mut less);
            assert!(!right(Some(seen()), less));
        }
    }

    #[test]
    fn what_windows_or_dhcp_decide_is_left_to_them() {
        let mut kept = seen();
        kept.name_servers.clear();
        kept.metric = None;
        assert!(right(Some(kept), seen()));
    }
}
