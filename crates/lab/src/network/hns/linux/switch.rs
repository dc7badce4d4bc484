//! Creates and removes the virtual switch, which takes over the NIC's addresses and
//! resets the host's connections.

use std::thread;

use serde_json::Value;

use super::super::fabric::FabricError;
use super::command::Commands;
use super::{LinuxFabric, VIRTUAL_ADAPTER};

/// `ss` filters for connections that are not loopback. A dual-stack listener has IPv4
/// connections among the IPv6 ones.
const NOT_LOOPBACK: [(&str, &[&str]); 2] = [
    ("-4", &["not", "dst", "127.0.0.0/8"]),
    (
        "-6",
        &[
            "not",
            "dst",
            "[::1]",
            "and",
            "not",
            "dst",
            "[::ffff:127.0.0.0/104]",
        ],
    ),
];

/// The settings that move from the NIC to the switch and back.
#[derive(Debug)]
struct AdapterConfig {
    mac: String,
    /// With prefix lengths.
    addresses: Vec<String>,
    /// Family (`-4`, `-6`), destination, gateway.
    routes: Vec<(&'static str, String, Option<String>)>,
}

/// A fixed interface index: Wine never removes a device from its list, and would take a
/// new one with the same name and another index for the old one.
const INTERFACE_INDEX: &str = "1000";

impl LinuxFabric {
    pub(super) fn create_switch(
        &self,
        nic: &str,
        reset_connections: bool,
    ) -> Result<(), FabricError> {
        let commands = &self.commands;
        if commands.has_device(VIRTUAL_ADAPTER) {
            return Ok(());
        }
        let config = AdapterConfig::read(commands, nic)?;
        if reset_connections {
            self.reset_connections(nic)?;
        }
        let create = || {
            let add = [
                "link",
                "add",
                "name",
                VIRTUAL_ADAPTER,
                "index",
                INTERFACE_INDEX,
            ];
            let kind = ["address", &config.mac, "type", "bridge"];
            commands.ip(&[&add[..], &kind[..]].concat())?;
            commands.ip(&["addr", "flush", "dev", nic])?;
            commands.ip(&["link", "set", "dev", nic, "master", VIRTUAL_ADAPTER])?;
            commands.ip(&["link", "set", "dev", nic, "up"])?;
            config.apply_to(commands, VIRTUAL_ADAPTER)
        };
        create().inspect_err(|_| self.restore_nic(nic, &config))
    }

    pub(super) fn remove_switch(&self, nic: &str) -> Result<(), FabricError> {
        let commands = &self.commands;
        if !commands.has_device(VIRTUAL_ADAPTER) {
            return Ok(());
        }
        let config = AdapterConfig::read(commands, VIRTUAL_ADAPTER)?;
        self.reset_connections(nic)?;
        commands.ip(&["link", "del", "dev", VIRTUAL_ADAPTER])?;
        commands.ip(&["link", "set", "dev", nic, "up"])?;
        config.apply_to(commands, nic)
    }

    /// Rolls back after a failure; a second failure is only logged.
    fn restore_nic(&self, nic: &str, config: &AdapterConfig) {
        let deleted = self.commands.delete_device(VIRTUAL_ADAPTER);
        let restored = deleted.and_then(|()| config.apply_to(&self.commands, nic));
        if let Err(error) = restored {
            eprintln!("hns: failed to restore {nic}: {error}");
        }
    }

    /// Resets every established connection that is not loopback and keeps the NIC down
    /// for the outage.
    fn reset_connections(&self, nic: &str) -> Result<(), FabricError> {
        for (family, not_loopback) in NOT_LOOPBACK {
            let established = ["-K", "-H", "-n", "-t", family, "state", "established"];
            self.commands
                .run("ss", &[&established[..], not_loopback].concat())?;
        }
        self.commands.ip(&["link", "set", "dev", nic, "down"])?;
        thread::sleep(self.outage);
        Ok(())
    }
}

impl AdapterConfig {
    fn read(commands: &Commands, device: &str) -> Result<Self, FabricError> {
        let text = |value: &Value, name: &str| value[name].as_str().map(str::to_owned);
        let output = commands.ip_list(&["addr", "show", "dev", device])?;
        let output = output
            .first()
            .ok_or_else(|| FabricError(format!("no device `{device}`")))?;
        let addresses = output["addr_info"].as_array().into_iter().flatten();
        let addresses = addresses
            .filter(|it| it["scope"] == "global")
            .filter_map(|it| Some(format!("{}/{}", text(it, "local")?, it["prefixlen"])));
        let mut routes = Vec::new();
        for family in ["-4", "-6"] {
            let known = commands.ip_list(&[family, "route", "show", "dev", device])?;
            let known = known.iter().filter(|it| it["protocol"] != "kernel");
            routes.extend(
                known.filter_map(|it| Some((family, text(it, "dst")?, text(it, "gateway")))),
            );
        }
        Ok(Self {
            mac: text(output, "address").unwrap_or_default(),
            addresses: addresses.collect(),
            routes,
        })
    }

    /// Addresses before routes, because a gateway must be reachable.
    fn apply_to(&self, commands: &Commands, device: &str) -> Result<(), FabricError> {
        commands.ip(&["link", "set", "dev", device, "up"])?;
        for address in &self.addresses {
            let nodad = if address.contains(':') {
                &["nodad"][..]
            } else {
                &[]
            };
            commands.ip(&[&["addr", "replace", address, "dev", device][..], nodad].concat())?;
        }
        for (family, to, gateway) in &self.routes {
            let via = gateway.as_deref().map_or(Vec::new(), |it| vec!["via", it]);
            let route = [family, "route", "replace", to.as_str()];
            commands.ip(&[&route[..], &via, &["dev", device]].concat())?;
        }
        Ok(())
    }
}
