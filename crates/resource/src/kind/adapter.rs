//! `adapterSettings`: preserves the host adapter's settings when a virtual switch uses
//! the adapter.

use std::fmt::Display;
use std::net::IpAddr;

use ipnet::IpNet;
use serde::{Deserialize, Serialize};

use crate::{Change, Diff};

/// The adapter should keep its first observed settings: a virtual switch replaces it
/// with another adapter and does not copy all settings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AdapterSettings {
    /// The host's address identifies the adapter.
    pub address: IpAddr,
}

/// An adapter's settings.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ObservedAdapter {
    pub addresses: Vec<IpNet>,
    /// Default gateways.
    pub gateways: Vec<IpAddr>,
    /// DNS servers; empty if set by DHCP.
    pub name_servers: Vec<IpAddr>,
    /// The interface metric; none if automatic.
    pub metric: Option<u32>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AdapterSettingsFacts {
    /// The saved settings; none before the first run.
    pub kept: Option<ObservedAdapter>,
    pub now: ObservedAdapter,
}

impl AdapterSettings {
    /// Additional settings are ignored: pod networks add some.
    #[must_use]
    pub fn diff(&self, facts: &AdapterSettingsFacts) -> Diff {
        let Some(kept) = &facts.kept else {
            let count = facts.now.addresses.len();
            return Diff::Changes(vec![Change::missing(
                "saved",
                match count {
                    1 => "1 address".to_owned(),
                    count => format!("{count} addresses"),
                },
            )]);
        };
        let now = &facts.now;
        let mut changes = Vec::new();
        add_missing(&mut changes, "address", &kept.addresses, &now.addresses);
        add_missing(&mut changes, "gateway", &kept.gateways, &now.gateways);
        let (before, after) = (&kept.name_servers, &now.name_servers);
        if !before.is_empty() && before != after {
            changes.push(Change::field("name servers", join(after), join(before)));
        }
        if let (Some(metric), now) = (kept.metric, now.metric)
            && now != Some(metric)
        {
            let now = now.map_or_else(|| "automatic".to_owned(), |now| now.to_string());
            changes.push(Change::field("metric", now, metric));
        }
        Diff::from_changes(changes, || format!("saved, {}", join(&kept.addresses)))
    }
}

fn add_missing<T: PartialEq + Display>(
    changes: &mut Vec<Change>,
    field: &str,
    before: &[T],
    now: &[T],
) {
    for one in before.iter().filter(|one| !now.contains(one)) {
        changes.push(Change::missing(field, one));
    }
}

fn join<T: Display>(values: &[T]) -> String {
    if values.is_empty() {
        return "none".to_owned();
    }
    let texts: Vec<String> = values.iter().map(ToString::to_string).collect();
    texts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn observed() -> ObservedAdapter {
        ObservedAdapter {
            addresses: vec!["198.18.0.11/24".parse().unwrap()],
            gateways: vec!["198.18.0.1".parse().unwrap()],
            name_servers: vec!["198.18.0.1".parse().unwrap()],
            metric: Some(10),
        }
    }

    fn in_sync(kept: Option<ObservedAdapter>, now: ObservedAdapter) -> bool {
        let address = "198.18.0.11".parse().unwrap();
        let facts = AdapterSettingsFacts { kept, now };
        AdapterSettings { address }.diff(&facts).in_sync()
    }

    #[test]
    fn only_missing_settings_are_changes() {
        assert!(!in_sync(None, observed()), "the settings are saved first");
        assert!(in_sync(Some(observed()), observed()));
        let mut more = observed();
        more.addresses.push("10.244.1.2/24".parse().unwrap());
        assert!(in_sync(Some(observed()), more));
        for lose in [
            |now: &mut ObservedAdapter| now.addresses.clear(),
            |now: &mut ObservedAdapter| now.gateways.clear(),
            |now: &mut ObservedAdapter| now.name_servers.clear(),
            |now: &mut ObservedAdapter| now.metric = None,
        ] {
            let mut less = observed();
            lose(&mut less);
            assert!(!in_sync(Some(observed()), less));
        }
    }

    #[test]
    fn automatic_settings_are_ignored() {
        let mut kept = observed();
        kept.name_servers.clear();
        kept.metric = None;
        assert!(in_sync(Some(kept), observed()));
    }
}
