//! Modifies networks: policies (in particular routes to the pods of other hosts), DNS
//! and subnets.

use ipnet::IpNet;
use lab_wire::Failure;
use serde_json::Value;

use super::super::document;
use super::super::fabric::{Effect, RemoteSubnet};
use super::super::failure;
use super::super::mac::Mac;
use super::super::model::{Network, Policy, Subnet};
use super::super::policy;
use super::super::store::Store;
use super::read::{read_dns, read_subnet};

/// The policy type with which flannel connects hosts.
const REMOTE_SUBNET: &str = "RemoteSubnetRoute";

impl Store {
    /// `{ResourceType, RequestType, Settings}`.
    pub(in super::super) fn modify_network(
        &mut self,
        id: &str,
        request: &Value,
    ) -> Result<(), Failure> {
        let before = self.network(id)?.clone();
        let settings = document::field(request, "Settings")
            .cloned()
            .unwrap_or_default();
        let verb = document::text(request, "RequestType").unwrap_or_else(|| "Add".to_owned());
        let mut after = before.clone();
        let resource = document::text(request, "ResourceType").unwrap_or_default();
        match resource.to_ascii_lowercase().as_str() {
            "policy" => {
                let policies = policy::read_all(&settings, self.config.version)?;
                change_policies(&mut after, &verb, policies)?;
            }
            "dns" => after.dns = read_dns(&serde_json::json!({"Dns": settings})),
            "subnet" | "ipam" => change_subnets(&mut after, &verb, &settings)?,
            "ipsubnet" | "extension" => {}
            _ => return Err(failure::unsupported()),
        }
        self.push_route_effects(&before, &after);
        *self.network_mut(id)? = after;
        Ok(())
    }

    /// Adds effects for removed and added routes.
    fn push_route_effects(&mut self, before: &Network, after: &Network) {
        let (old, new) = (self.remote_subnets(before), self.remote_subnets(after));
        for mut route in old.iter().filter(|route| !new.contains(route)).cloned() {
            let mut others = new.iter();
            route.only_prefix = !others.any(|other| other.router_mac == route.router_mac);
            self.effects.push(Effect::RemoteSubnetRemoved(route));
        }
        for route in new.into_iter().filter(|route| !old.contains(route)) {
            self.effects.push(Effect::RemoteSubnetAdded(route));
        }
    }

    /// The routes to the pods of other hosts; invalid ones are skipped.
    pub(in super::super) fn remote_subnets(&self, network: &Network) -> Vec<RemoteSubnet> {
        let default_vni = network.subnets.iter().find_map(Subnet::vsid);
        let routes = network.policies.iter().filter(|it| it.is(REMOTE_SUBNET));
        routes
            .filter_map(|policy| {
                let settings = &policy.settings;
                Some(RemoteSubnet {
                    network: network.id.clone(),
                    prefix: prefix(settings)?.trunc(),
                    vni: document::number32(settings, "IsolationId").or(default_vni)?,
                    provider: document::text(settings, "ProviderAddress")?.parse().ok()?,
                    router_mac: router_mac(settings)?,
                    only_prefix: true,
                })
            })
            .collect()
    }
}

fn prefix(settings: &Value) -> Option<IpNet> {
    document::text(settings, "DestinationPrefix")?.parse().ok()
}

fn router_mac(settings: &Value) -> Option<Mac> {
    document::text(settings, "DistributedRouterMacAddress")?
        .parse()
        .ok()
}

fn change_policies(network: &mut Network, verb: &str, new: Vec<Policy>) -> Result<(), Failure> {
    match verb.to_ascii_lowercase().as_str() {
        "add" => {
            for policy in new {
                check(&policy)?;
                network.policies.retain(|old| !replaces(&policy, old));
                network.policies.push(policy);
            }
        }
        "remove" => {
            for policy in new {
                let before = network.policies.len();
                network.policies.retain(|old| !selects(&policy, old));
                if network.policies.len() == before {
                    return Err(failure::policy_not_found());
                }
            }
        }
        "update" => {
            new.iter().try_for_each(check)?;
            network.policies = new;
        }
        "refresh" => {}
        _ => return Err(failure::unsupported()),
    }
    Ok(())
}

fn check(policy: &Policy) -> Result<(), Failure> {
    let invalid = policy.is(REMOTE_SUBNET) && prefix(&policy.settings).is_none();
    match invalid {
        true => Err(failure::invalid_policy()),
        false => Ok(()),
    }
}

/// Whether an added policy replaces an old one: there is one route per prefix.
fn replaces(new: &Policy, old: &Policy) -> bool {
    match new.is(REMOTE_SUBNET) {
        true => old.is(REMOTE_SUBNET) && prefix(&old.settings) == prefix(&new.settings),
        false => old == new,
    }
}

/// Whether a removal request selects this policy. Addresses are compared by value, not
/// as text; missing fields match everything.
fn selects(requested: &Policy, policy: &Policy) -> bool {
    if !policy.is(&requested.kind) {
        return false;
    }
    let (requested, found) = (&requested.settings, &policy.settings);
    if policy.is(REMOTE_SUBNET) {
        let mac = router_mac(requested);
        return prefix(requested) == prefix(found) && (mac.is_none() || mac == router_mac(found));
    }
    requested == found || requested.as_object().is_none_or(serde_json::Map::is_empty)
}

fn change_subnets(network: &mut Network, verb: &str, settings: &Value) -> Result<(), Failure> {
    let subnets = document::list(settings, "Subnets").iter().map(read_subnet);
    let subnets: Vec<Subnet> = subnets.collect::<Result<_, _>>()?;
    let same = |one: &Subnet, other: &Subnet| one.net() == other.net();
    match verb.to_ascii_lowercase().as_str() {
        "add" => network.subnets.extend(subnets),
        "remove" => network
            .subnets
            .retain(|old| !subnets.iter().any(|removed| same(removed, old))),
        "update" => network.subnets = subnets,
        _ => return Err(failure::unsupported()),
    }
    Ok(())
}
