//! Concerns that only Windows has: machine-wide environment, registry, firewall,
//! optional features, computer name, HNS.

use std::net::IpAddr;

use casement_resource::{
    FirewallRule, FirewallRuleFacts, HnsEndpointFacts, HnsNetwork, HnsNetworkFacts, HostPath,
    HostnameFacts, RegistryData, WindowsFeatureFacts,
};

use super::{Result, unsupported};

pub trait Environment {
    /// Unexpanded; `None` if the variable is not set.
    fn env(&self, name: &str) -> Result<Option<String>> {
        Err(unsupported(&format!("machine-wide variable `{name}`")))
    }

    /// `None` deletes the variable.
    fn set_env(&self, name: &str, _value: Option<&str>) -> Result<()> {
        Err(unsupported(&format!("machine-wide variable `{name}`")))
    }

    /// Unexpanded.
    fn path_entries(&self) -> Result<Vec<String>> {
        Err(unsupported("machine-wide search path"))
    }

    /// Keeps the registry type of the value.
    fn set_path_entries(&self, _entries: &[String]) -> Result<()> {
        Err(unsupported("machine-wide search path"))
    }
}

/// `HKEY_LOCAL_MACHINE`; keys use backslashes and omit the name of the root.
pub trait Registry {
    fn registry_key_exists(&self, key: &str) -> Result<bool> {
        Err(unsupported(&format!("registry key `{key}`")))
    }

    /// `None` if the key or the value is absent.
    fn registry_value(&self, key: &str, _name: &str) -> Result<Option<RegistryData>> {
        Err(unsupported(&format!("registry key `{key}`")))
    }

    /// Creates the key and its parents if needed.
    fn set_registry_value(&self, key: &str, _name: &str, _data: &RegistryData) -> Result<()> {
        Err(unsupported(&format!("registry key `{key}`")))
    }

    /// Succeeds if the value is absent.
    fn delete_registry_value(&self, key: &str, _name: &str) -> Result<()> {
        Err(unsupported(&format!("registry key `{key}`")))
    }

    /// Deletes a key without values and subkeys; returns whether it is gone.
    fn delete_empty_registry_key(&self, key: &str) -> Result<bool> {
        Err(unsupported(&format!("registry key `{key}`")))
    }
}

/// Several rules may have the same name; names are case-insensitive.
pub trait Firewall {
    fn firewall_rules(&self, name: &str) -> Result<Vec<FirewallRuleFacts>> {
        Err(unsupported(&format!("firewall rule `{name}`")))
    }

    /// Everything that [`restore_firewall_rules`](Self::restore_firewall_rules)
    /// needs; fails if a rule has something that could not be restored.
    fn save_firewall_rules(&self, name: &str) -> Result<Vec<serde_json::Value>> {
        Err(unsupported(&format!("firewall rule `{name}`")))
    }

    /// Replaces all rules with this name.
    fn set_firewall_rule(&self, rule: &FirewallRule) -> Result<()> {
        Err(unsupported(&format!("firewall rule `{}`", rule.name)))
    }

    /// Restores what [`save_firewall_rules`](Self::save_firewall_rules) returned,
    /// replacing all rules with this name.
    fn restore_firewall_rules(&self, name: &str, _saved: &[serde_json::Value]) -> Result<()> {
        Err(unsupported(&format!("firewall rule `{name}`")))
    }
}

/// Optional features of Windows, and the reboots that they need.
pub trait Features {
    fn windows_feature(&self, name: &str) -> Result<WindowsFeatureFacts> {
        Err(unsupported(&format!("feature `{name}`")))
    }

    /// Enables a feature with its dependencies, or disables it. May take effect only
    /// after a reboot.
    fn set_windows_feature(&self, name: &str, _present: bool) -> Result<()> {
        Err(unsupported(&format!("feature `{name}`")))
    }

    /// The reasons for a pending reboot, each in a few words.
    fn pending_reboots(&self) -> Result<Vec<String>> {
        Err(unsupported("pending reboot"))
    }

    /// The ID of this boot, different after each reboot.
    fn boot(&self) -> Result<u32> {
        Err(unsupported("boot ID"))
    }

    /// Schedules a reboot; the host shuts down shortly after this returns.
    fn begin_reboot(&self) -> Result<()> {
        Err(unsupported("reboot"))
    }
}

pub trait Identity {
    fn hostname(&self) -> Result<HostnameFacts> {
        Err(unsupported("computer name"))
    }

    /// Takes effect after a reboot.
    fn set_hostname(&self, name: &str) -> Result<()> {
        Err(unsupported(&format!("computer name `{name}`")))
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewEndpoint {
    pub name: String,
    pub network_id: String,
    pub address: IpAddr,
}

/// An HNS load balancer; HNS v1 calls it a policy list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Balancer {
    pub id: String,
    /// Endpoint IDs.
    pub endpoints: Vec<String>,
}

/// The Windows Host Networking Service (HNS).
pub trait Hns {
    /// The process ID of HNS; a new process has lost everything that is not
    /// persistent. `None` without HNS.
    fn hns_process(&self) -> Result<Option<u32>> {
        Ok(None)
    }

    fn hns_networks(&self) -> Result<Vec<HnsNetworkFacts>> {
        Err(unsupported("HNS network"))
    }

    /// Creates a network on the adapter with the given address; returns when the
    /// host has its address back.
    fn create_hns_network(&self, network: &HnsNetwork) -> Result<()> {
        Err(unsupported(&format!("HNS network `{}`", network.name)))
    }

    /// The network must have no endpoints; returns when the host has its address
    /// back.
    fn delete_hns_network(&self, id: &str) -> Result<()> {
        Err(unsupported(&format!("HNS network `{id}`")))
    }

    fn hns_endpoints(&self) -> Result<Vec<HnsEndpointFacts>> {
        Err(unsupported("HNS endpoint"))
    }

    fn create_hns_endpoint(&self, endpoint: &NewEndpoint) -> Result<()> {
        Err(unsupported(&format!("HNS endpoint `{}`", endpoint.name)))
    }

    /// Attaches an endpoint to the network compartment of the host.
    fn attach_hns_endpoint(&self, id: &str) -> Result<()> {
        Err(unsupported(&format!("HNS endpoint `{id}`")))
    }

    /// No load balancer may use the endpoint; succeeds if it is absent.
    fn delete_hns_endpoint(&self, id: &str) -> Result<()> {
        Err(unsupported(&format!("HNS endpoint `{id}`")))
    }

    fn hns_balancers(&self) -> Result<Vec<Balancer>> {
        Err(unsupported("HNS load balancer"))
    }

    /// Succeeds if the load balancer is absent.
    fn delete_hns_balancer(&self, id: &str) -> Result<()> {
        Err(unsupported(&format!("HNS load balancer `{id}`")))
    }
}

/// Container layers, which on Windows are not plain directories.
pub trait Layers {
    /// Deletes a layer and its contents, whatever their owner; succeeds if it is
    /// absent.
    fn destroy_layer(&self, path: &HostPath) -> Result<()> {
        Err(unsupported(&format!("container layer `{path}`")))
    }
}
