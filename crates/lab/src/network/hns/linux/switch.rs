//! The virtual switch: it takes the card's place, and the host's connections
//! do not survive that.

use std::thread;

use serde_json::Value;

use super::super::fabric::FabricError;
use super::command::Commands;
use super::{LinuxFabric, VIRTUAL_ADAPTER};

/// Filters of `ss` for connections that are not loopback; a listener for both
/// families has IPv4 connections among the IPv6 ones.
const OUTSIDE: [(&str, &[&str]); 2] = [
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

/// What moves from the card to the switch and back.
#[derive(Debug)]
struct Identity {
    mac: String,
    /// With prefix lengths.
    addresses: Vec<String>,
    /// Family (`-4`, `-6`), destination, gateway.
    routes: Vec<(&'static str, String, Option<String>)>,
}

/// Always the same: Wine never forgets a device, and takes one that comes back
/// under its name with another number for the one that is gone.
const NUMBER: &str = "1000";

impl LinuxFabric {
    pub(super) fn make_switch(&self, nic: &str, cut: bool) -> Result<(), FabricError> {
        let commands = &self.commands;
        if commands.has_device(VIRTUAL_ADAPTER) {
            return Ok(());
        }
        let card = Identity::read(commands, nic)?;
        if cut {
            self.cut_connections(nic)?;
        }
        let moved = || {
            let add = ["link", "add", "name", VIRTUAL_ADAPTER, "index", NUMBER];
            let kind = ["address", &card.mac, "type", "bridge"];
            commands.ip(&[&add[..], &kind[..]].concat())?;
            commands.ip(&["addr", "flush", "dev", nic])?;
            commands.ip(&["link", "set", "dev", nic, "master", VIRTUAL_ADAPTER])?;
            commands.ip(&["link", "set", "dev", nic, "up"])?;
            card.give_to(commands, VIRTUAL_ADAPTER)
        };
        moved().inspect_err(|_| self.free_card(nic, &card))
    }

    pub(super) fn remove_switch(&self, nic: &str) -> Result<(), FabricError> {
        let commands = &self.commands;
        if !commands.has_device(VIRTUAL_ADAPTER) {
            return Ok(());
        }
        let switch = Identity::read(commands, VIRTUAL_ADAPTER)?;
        self.cut_connections(nic)?;
        commands.ip(&["link", "del", "dev", VIRTUAL_ADAPTER])?;
        commands.ip(&["link", "set", "dev", nic, "up"])?;
        switch.give_to(commands, nic)
    }

    /// Puts the card back after a failure; nothing more can be done if that
    /// fails as well.
    fn free_card(&self, nic: &str, card: &Identity) {
        let freed = self.commands.delete_device(VIRTUAL_ADAPTER);
        let freed = freed.and_then(|()| card.give_to(&self.commands, nic));
        if let Err(error) = freed {
            eprintln!("hns: {nic}: {error}");
        }
    }

    /// Resets every established connection that leaves the host, on both of its
    /// ends, and keeps the card down for a moment.
    fn cut_connections(&self, nic: &str) -> Result<(), FabricError> {
        for (family, outside) in OUTSIDE {
            let established = ["-K", "-H", "-n", "-t", family, "state", "established"];
            self.commands
                .run("ss", &[&established[..], outside].concat())?;
        }
        self.commands.ip(&["link", "set", "dev", nic, "down"])?;
        thread::sleep(self.cut);
        Ok(())
    }
}

impl Identity {
    fn read(commands: &Commands, device: &str) -> Result<Self, FabricError> {
        let text = |value: &Value, name: &str| value[name].as_str().map(str::to_owned);
        let shown = commands.ip_list(&["addr", "show", "dev", device])?;
        let shown = shown
            .first()
            .ok_or_else(|| FabricError(format!("no device `{device}`")))?;
        let addresses = shown["addr_info"].as_array().into_iter().flatten();
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
            mac: text(shown, "address").unwrap_or_default(),
            addresses: addresses.collect(),
            routes,
        })
    }

    /// Addresses, then routes: a gateway must be in reach first.
    fn give_to(&self, commands: &Commands, device: &str) -> Result<(), FabricError> {
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
