//! What only Windows has: a machine-wide environment, a registry, a firewall with
//! rules by name, optional parts, a name that a boot gives, and HNS.

use std::net::IpAddr;

use casement_resource::{
    FirewallRule, FirewallRuleFacts, HnsEndpointFacts, HnsNetwork, HnsNetworkFacts, HostPath,
    HostnameFacts, RegistryData, WindowsFeatureFacts,
};

use super::{Result, unsupported};

/// The machine-wide environment.
pub trait Environment {
    /// A variable's value, unexpanded; none if it is not set.
    fn env(&self, name: &str) -> Result<Option<String>> {
        Err(unsupported(&format!("machine-wide variable `{name}`")))
    }

    /// Sets a variable, or with none deletes it.
    fn set_env(&self, name: &str, _value: Option<&str>) -> Result<()> {
        Err(unsupported(&format!("machine-wide variable `{name}`")))
    }

    /// The entries of the search path, as written.
    fn path_entries(&self) -> Result<Vec<String>> {
        Err(unsupported("machine-wide search path"))
    }

    /// Replaces the search path, keeping its registry type.
    fn set_path_entries(&self, _entries: &[String]) -> Result<()> {
        Err(unsupported("machine-wide search path"))
    }
}

/// `HKEY_LOCAL_MACHINE`; keys with backslashes, without the root's name.
pub trait Registry {
    /// Whether the key exists.
    fn registry_key_exists(&self, key: &str) -> Result<bool> {
        Err(unsupported(&format!("registry key `{key}`")))
    }

    /// A value's data; none if the key or the value is absent.
    fn registry_value(&self, key: &str, _name: &str) -> Result<Option<RegistryData>> {
        Err(unsupported(&format!("registry key `{key}`")))
    }

    /// Sets a value; makes the key, and its parents, as needed.
    fn set_registry_value(&self, key: &str, _name: &str, _data: &RegistryData) -> Result<()> {
        Err(unsupported(&format!("registry key `{key}`")))
    }

    /// Deletes a value; absent is fine.
    fn delete_registry_value(&self, key: &str, _name: &str) -> Result<()> {
        Err(unsupported(&format!("registry key `{key}`")))
    }

    /// Deletes a key if it has neither values nor keys below; says whether it
    /// is gone.
    fn delete_empty_registry_key(&self, key: &str) -> Result<bool> {
        Err(unsupported(&format!("registry key `{key}`")))
    }
}

/// The firewall. A name may belong to several rules, and case does not matter.
pub trait Firewall {
    /// All rules of that name.
    fn firewall_rules(&self, name: &str) -> Result<Vec<FirewallRuleFacts>> {
        Err(unsupported(&format!("firewall rule `{name}`")))
    }

    /// All that [`restore_firewall_rules`](Self::restore_firewall_rules) needs
    /// to put the rules of that name back as they are now; fails if one has
    /// something that could not be put back.
    fn save_firewall_rules(&self, name: &str) -> Result<Vec<serde_json::Value>> {
        Err(unsupported(&format!("firewall rule `{name}`")))
    }

    /// Puts a rule there, in place of all that have its name.
    fn set_firewall_rule(&self, rule: &FirewallRule) -> Result<()> {
        Err(unsupported(&format!("firewall rule `{}`", rule.name)))
    }

    /// Puts back what [`save_firewall_rules`](Self::save_firewall_rules) gave,
    /// in place of all rules that have the name now.
    fn restore_firewall_rules(&self, name: &str, _saved: &[serde_json::Value]) -> Result<()> {
        Err(unsupported(&format!("firewall rule `{name}`")))
    }
}

/// Optional parts of Windows, and the boots that they need.
pub trait Features {
    /// Whether the feature is there.
    fn windows_feature(&self, name: &str) -> Result<WindowsFeatureFacts> {
        Err(unsupported(&format!("feature `{name}`")))
    }

    /// Switches a feature on, with those that it needs, or off. It may take
    /// effect at the next boot only.
    fn set_windows_feature(&self, name: &str, _present: bool) -> Result<()> {
        Err(unsupported(&format!("feature `{name}`")))
    }

    /// What waits for a reboot, each in a few words.
    fn waiting_for_reboot(&self) -> Result<Vec<String>> {
        Err(unsupported("reboot that something waits for"))
    }

    /// The number of this boot: another one in each.
    fn boot(&self) -> Result<u32> {
        Err(unsupported("number of the boot"))
    }

    /// Orders a reboot; the host goes down soon after it returns.
    fn begin_reboot(&self) -> Result<()> {
        Err(unsupported("reboot by casement"))
    }
}

/// Who the host is.
pub trait Identity {
    /// Its name, and the domain that it is a member of.
    fn hostname(&self) -> Result<HostnameFacts> {
        Err(unsupported("name that casement could give"))
    }

    /// Gives it another name, from the next boot on.
    fn set_hostname(&self, name: &str) -> Result<()> {
        Err(unsupported(&format!("name `{name}` from casement")))
    }
}

/// An HNS endpoint to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewEndpoint {
    /// Its name.
    pub name: String,
    /// The id of its network.
    pub network_id: String,
    /// Its address.
    pub address: IpAddr,
}

/// A load balancer of HNS, which its first generation calls a policy list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Balancer {
    /// Its id.
    pub id: String,
    /// The ids of the endpoints that it spreads to.
    pub endpoints: Vec<String>,
}

/// The Host Networking Service of Windows.
pub trait Hns {
    /// The process that HNS is now: another one has forgotten what is not
    /// persistent. None where there is no such service.
    fn hns_process(&self) -> Result<Option<u32>> {
        Ok(None)
    }

    /// All networks.
    fn hns_networks(&self) -> Result<Vec<HnsNetworkFacts>> {
        Err(unsupported("HNS network"))
    }

    /// Makes a network on the adapter that has the wanted address, and returns
    /// when the host has its address back.
    fn create_hns_network(&self, network: &HnsNetwork) -> Result<()> {
        Err(unsupported(&format!("HNS network `{}`", network.name)))
    }

    /// Deletes a network that has no endpoints any more; returns when the host has
    /// its address back.
    fn delete_hns_network(&self, id: &str) -> Result<()> {
        Err(unsupported(&format!("HNS network `{id}`")))
    }

    /// All endpoints.
    fn hns_endpoints(&self) -> Result<Vec<HnsEndpointFacts>> {
        Err(unsupported("HNS endpoint"))
    }

    /// Makes an endpoint.
    fn create_hns_endpoint(&self, endpoint: &NewEndpoint) -> Result<()> {
        Err(unsupported(&format!("HNS endpoint `{}`", endpoint.name)))
    }

    /// Attaches an endpoint to the host's own compartment.
    fn attach_hns_endpoint(&self, id: &str) -> Result<()> {
        Err(unsupported(&format!("HNS endpoint `{id}`")))
    }

    /// Deletes an endpoint that no load balancer uses any more; absent is fine.
    fn delete_hns_endpoint(&self, id: &str) -> Result<()> {
        Err(unsupported(&format!("HNS endpoint `{id}`")))
    }

    /// All load balancers.
    fn hns_balancers(&self) -> Result<Vec<Balancer>> {
        Err(unsupported("HNS load balancer"))
    }

    /// Deletes a load balancer; absent is fine.
    fn delete_hns_balancer(&self, id: &str) -> Result<()> {
        Err(unsupported(&format!("HNS load balancer `{id}`")))
    }
}

/// Layers of containers, which on Windows are no plain folders.
pub trait Layers {
    /// Deletes a layer with all that is in it, whoever owns it; absent is fine.
    fn destroy_layer(&self, path: &HostPath) -> Result<()> {
        Err(unsupported(&format!("container layer `{path}`")))
    }
}
