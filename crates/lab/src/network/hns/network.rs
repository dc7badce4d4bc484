//! Creates, reads and deletes networks.

mod modify;
mod read;

pub(super) use read::{default_route, read_dns, read_routes};

use lab_wire::Failure;
use serde_json::{Value, json};

use super::document;
use super::fabric::{Effect, NetworkPlan, Vxlan};
use super::failure;
use super::kind::NetworkKind;
use super::mac::Mac;
use super::model::{Network, Policy, Subnet};
use super::store::{Store, normal_id};
use super::system::System;

/// Default UDP port without a `VxlanPort` policy.
const VXLAN_PORT: u16 = 4789;

impl Store {
    pub(super) fn network(&self, id: &str) -> Result<&Network, Failure> {
        let id = normal_id(id);
        self.state
            .networks
            .iter()
            .find(|network| network.id == id)
            .ok_or_else(failure::network_not_found)
    }

    fn network_mut(&mut self, id: &str) -> Result<&mut Network, Failure> {
        let id = normal_id(id);
        self.state
            .networks
            .iter_mut()
            .find(|network| network.id == id)
            .ok_or_else(failure::network_not_found)
    }

    pub(super) fn create_network(
        &mut self,
        id: &str,
        settings: &Value,
        system: &mut dyn System,
    ) -> Result<(), Failure> {
        let network = self.read_network(id, settings, system)?;
        let name = &network.name;
        if !name.is_empty() && self.state.networks.iter().any(|it| &it.name == name) {
            return Err(failure::network_exists());
        }
        if network.kind.is_external() {
            self.check_adapter(&network)?;
            if !self.has_switch() {
                self.effects.push(Effect::SwitchCreated {
                    nic: self.config.nic.clone(),
                    reset_connections: true,
                });
            }
        }
        self.effects
            .push(Effect::NetworkCreated(self.plan(&network)));
        let routes = self.remote_subnets(&network);
        self.effects
            .extend(routes.into_iter().map(Effect::RemoteSubnetAdded));
        self.state.networks.push(network);
        Ok(())
    }

    fn has_switch(&self) -> bool {
        self.state.networks.iter().any(|it| it.kind.is_external())
    }

    /// Only the physical NIC can be the uplink, not the adapter of the switch.
    fn check_adapter(&self, network: &Network) -> Result<(), Failure> {
        let settings = network.policy("NetAdapterName");
        let adapter = settings.and_then(|it| document::text(it, "NetworkAdapterName"));
        match adapter {
            None => Ok(()),
            Some(name) if name.eq_ignore_ascii_case(&self.config.nic) => Ok(()),
            Some(name) if name.starts_with("vEthernet") => Err(failure::incorrect_parameter()),
            Some(_) => Err(failure::adapter_not_found()),
        }
    }

    /// Also deletes its endpoints, even attached ones, and load balancers without other
    /// backends.
    pub(super) fn delete_network(&mut self, id: &str) -> Result<(), Failure> {
        let network = self.network(id)?.clone();
        let endpoints = self.state.endpoints.iter();
        let attached: Vec<(String, String)> = endpoints
            .filter(|it| it.network == network.id)
            .filter_map(|it| Some((it.namespace.clone()?, it.id.clone())))
            .collect();
        for (namespace, endpoint) in attached {
            self.detach(&namespace, &endpoint)?;
        }
        self.state.endpoints.retain(|it| it.network != network.id);
        self.drop_dangling();
        self.state.networks.retain(|it| it.id != network.id);
        self.effects
            .push(Effect::NetworkRemoved(self.plan(&network)));
        if network.kind.is_external() && !self.has_switch() {
            self.effects.push(Effect::SwitchRemoved {
                nic: self.config.nic.clone(),
            });
        }
        Ok(())
    }

    pub(super) fn plan(&self, network: &Network) -> NetworkPlan {
        let subnets = network.subnets.iter();
        let port = network
            .policy("VxlanPort")
            .and_then(|settings| document::number(settings, "Port"))
            .and_then(|port| u16::try_from(port).ok());
        let vni = network.subnets.iter().find_map(Subnet::vsid);
        NetworkPlan {
            id: network.id.clone(),
            subnets: subnets
                .filter_map(|subnet| Some((subnet.net()?, subnet.gateway())))
                .collect(),
            vxlan: vni.zip(network.dr_mac).map(|(vni, router_mac)| Vxlan {
                vni,
                port: port.unwrap_or(VXLAN_PORT),
                router_mac,
                local: self.config.management_ip,
            }),
        }
    }

    /// As on Windows, documents contain the host's address only some time after the
    /// network was created.
    pub(super) fn has_host_address(&self, network: &Network, now: u64) -> bool {
        let delay = u64::try_from(self.config.address_delay.as_millis()).unwrap_or(u64::MAX);
        network.kind.is_external() && now >= network.created_at.saturating_add(delay)
    }

    /// The caller's policies and those that HNS adds to overlay networks.
    fn all_policies(&self, network: &Network, now: u64) -> Vec<Policy> {
        let mut policies = network.policies.clone();
        let mut add = |kind: &str, settings: Value| {
            policies.push(Policy {
                kind: kind.to_owned(),
                settings,
            });
        };
        if network.kind == NetworkKind::Overlay && self.has_host_address(network, now) {
            let address = json!({"ProviderAddress": self.config.management_ip});
            add("ProviderAddress", address);
        }
        if let Some(mac) = network.dr_mac {
            add("DrMacAddress", json!({"Address": mac}));
        }
        policies
    }

    /// The v2 document. NAT networks have no `Type`, because NAT is the first value of
    /// the enumeration.
    pub(super) fn network_document(&self, network: &Network, now: u64) -> Value {
        let mut document = json!({
            "ID": network.id,
            "Name": network.name,
            "Type": network.kind.name(),
            "Policies": self.all_policies(network, now).iter().map(Policy::document).collect::<Vec<_>>(),
            "MacPool": {"Ranges": network.mac_pools},
            "Dns": network.dns,
            "Ipams": [],
            "Flags": network.flags,
            "Health": {"Extra": {"LayeredOn": "", "SwitchGuid": ""}},
            "SchemaVersion": {"Major": 2, "Minor": 0},
        });
        if let Some(fields) = document.as_object_mut() {
            if network.kind == NetworkKind::Nat {
                fields.remove("Type");
            }
            if !network.subnets.is_empty() || network.ipam != "Static" {
                let subnets: Vec<Value> = network.subnets.iter().map(subnet_document).collect();
                fields.insert(
                    "Ipams".to_owned(),
                    json!([{"Type": network.ipam, "Subnets": subnets}]),
                );
            }
        }
        document
    }

    /// The first unused MAC address of the network's pools.
    pub(super) fn free_mac(&self, network: &Network) -> Result<Mac, Failure> {
        let taken = |mac: Mac| self.state.endpoints.iter().any(|it| it.mac == mac);
        network
            .mac_pools
            .iter()
            .find_map(|pool| pool.first_free(taken))
            .ok_or_else(failure::invalid_endpoint)
    }
}

fn subnet_document(subnet: &Subnet) -> Value {
    json!({
        "IpAddressPrefix": subnet.prefix,
        "Policies": subnet.policies.iter().map(Policy::document).collect::<Vec<_>>(),
        "Routes": subnet.routes,
        "Flags": subnet.flags,
    })
}
