//! Networks, endpoints and load balancers of the Host Networking Service (HNS).
//!
//! Reading and attaching uses the v1 API, which returns everything in one response
//! and includes the address of the host. Creating and deleting uses the v2 API
//! (HCN), or v1 on a Windows without v2.

use std::net::IpAddr;
use std::time::Duration;

use casement_hcn::{Guid, Hcn, HcnError, Hns as HnsCalls, Kind, Method, everything};
use casement_net::hns::{AttachToHost, Endpoint, EndpointV1, Network, NetworkV1};
use casement_resource::{
    Code, ConditionFacts, Failure, HnsEndpointFacts, HnsNetwork, HnsNetworkFacts, HnsSubnet,
};
use serde_json::Value;

use super::Windows;
use super::adapters::{self, Adapter};
use super::retry_timer::RetryTimer;
use super::{conditions, scm};
use crate::hns_documents;
use crate::platform::{Balancer, Hns, NewEndpoint};

mod v1;

/// How long the host may be without its address: a new switch takes over the
/// adapter, and DHCP addresses are requested again.
const ADDRESS_TIMEOUT: Duration = Duration::from_secs(120);

pub fn networks() -> Result<Vec<HnsNetworkFacts>, Failure> {
    Ok(list("/networks/")?.iter().map(network_facts).collect())
}

/// The adapter of the host on a network: the one with a host endpoint, else the one
/// with the management address.
pub fn host_adapter(network: &str) -> Result<Option<Adapter>, Failure> {
    let matches = |name: &str| name.eq_ignore_ascii_case(network);
    let Some(found) = networks()?.into_iter().find(|it| matches(&it.name)) else {
        return Ok(None);
    };
    let adapters = adapters::adapters()?;
    let with = |address: IpAddr| {
        adapters
            .iter()
            .find(|adapter| adapter.has(address))
            .cloned()
    };
    let endpoint = list("/endpoints/")?
        .iter()
        .map(endpoint_facts)
        .filter(|endpoint| matches(&endpoint.network))
        .find_map(|endpoint| endpoint.address.and_then(with));
    Ok(endpoint.or_else(|| found.management_address.and_then(with)))
}

impl Hns for Windows {
    fn hns_process(&self) -> Result<Option<u32>, Failure> {
        Ok(scm::query("hns")?.and_then(|service| service.process))
    }

    fn hns_networks(&self) -> Result<Vec<HnsNetworkFacts>, Failure> {
        networks()
    }

    fn create_hns_network(&self, network: &HnsNetwork) -> Result<(), Failure> {
        let adapter = adapters::require(network.adapter_address)?;
        let action = || format!("create the HNS network `{}`", network.name);
        let failed = |error: HcnError| hns_failure(action(), &error);
        let spec = hns_documents::network(network, &adapter.name);
        match load_v2().map_err(failed)? {
            Some(hcn) => {
                let document = casement_net::value(&Network::from(&spec));
                hcn.create(Kind::Network, &document).map_err(failed)?;
            }
            None => {
                let document =
                    NetworkV1::try_from(&spec).map_err(|_| overlay_unsupported(network))?;
                v1::create_network(&document).map_err(failed)?;
            }
        }
        wait_for_address(network.adapter_address)?;
        wait_for_management(&network.name)
    }

    fn delete_hns_network(&self, id: &str) -> Result<(), Failure> {
        let action = || format!("delete the HNS network `{id}`");
        let failed = |error: HcnError| hns_failure(action(), &error);
        let guid: Guid = id.parse().map_err(|error| failed(HcnError::from(error)))?;
        let network = networks()?.into_iter().find(|it| same(&it.id, guid));
        delete(Kind::Network, guid).map_err(failed)?;
        match network.and_then(|network| network.management_address) {
            Some(address) => wait_for_address(address),
            None => Ok(()),
        }
    }

    fn hns_endpoints(&self) -> Result<Vec<HnsEndpointFacts>, Failure> {
        let adapters = adapters::adapters()?;
        let mut endpoints: Vec<_> = list("/endpoints/")?.iter().map(endpoint_facts).collect();
        for endpoint in &mut endpoints {
            // Attached means that the host has the address; the state in HNS does
            // not distinguish the host from a container.
            endpoint.attached = endpoint
                .address
                .map(|address| adapters.iter().any(|adapter| adapter.has(address)));
        }
        Ok(endpoints)
    }

    fn create_hns_endpoint(&self, endpoint: &NewEndpoint) -> Result<(), Failure> {
        let action = || format!("create the HNS endpoint `{}`", endpoint.name);
        let failed = |error: HcnError| hns_failure(action(), &error);
        let spec = hns_documents::endpoint(endpoint);
        let Some(hcn) = load_v2().map_err(failed)? else {
            return v1::create_endpoint(&EndpointV1::from(&spec)).map_err(failed);
        };
        let document = casement_net::value(&Endpoint::from(&spec));
        let network: Guid = endpoint
            .network_id
            .parse()
            .map_err(|error| failed(HcnError::from(error)))?;
        hcn.create_endpoint(network, &document).map_err(failed)?;
        Ok(())
    }

    fn attach_hns_endpoint(&self, id: &str) -> Result<(), Failure> {
        let action = || format!("attach the HNS endpoint `{id}` to the host");
        let failed = |error: HcnError| hns_failure(action(), &error);
        let hns = HnsCalls::load().map_err(failed)?;
        let host = casement_net::value(&AttachToHost::DEFAULT_COMPARTMENT);
        match hns.call(
            Method::Post,
            &format!("/endpoints/{id}/attach"),
            Some(&host),
        ) {
            Err(error) if !error.is_already_attached() => return Err(failed(error)),
            _ => {}
        }
        let endpoint = hns
            .call(Method::Get, &format!("/endpoints/{id}"), None)
            .map_err(failed)?;
        match endpoint_facts(&endpoint).address {
            Some(address) => wait_for_address(address),
            None => Ok(()),
        }
    }

    fn delete_hns_endpoint(&self, id: &str) -> Result<(), Failure> {
        let failed =
            |error: HcnError| hns_failure(format!("delete the HNS endpoint `{id}`"), &error);
        let guid: Guid = id.parse().map_err(|error| failed(HcnError::from(error)))?;
        delete(Kind::Endpoint, guid).map_err(failed)
    }

    fn hns_balancers(&self) -> Result<Vec<Balancer>, Failure> {
        let failed = |error: HcnError| hns_failure("list HNS load balancers".to_owned(), &error);
        let Some(hcn) = load_v2().map_err(failed)? else {
            return v1::balancers().map_err(failed);
        };
        let balancers = hcn.list(Kind::LoadBalancer, &everything());
        let balancer = |document: &Value| Balancer {
            id: text(document, "ID").to_owned(),
            endpoints: text_list(document, "HostComputeEndpoints")
                .into_iter()
                .map(str::to_owned)
                .collect(),
        };
        Ok(balancers.map_err(failed)?.iter().map(balancer).collect())
    }

    fn delete_hns_balancer(&self, id: &str) -> Result<(), Failure> {
        let failed = |error: HcnError| {
            let action = format!("delete the HNS load balancer `{id}`");
            hns_failure(action, &error)
        };
        let guid: Guid = id.parse().map_err(|error| failed(HcnError::from(error)))?;
        delete(Kind::LoadBalancer, guid).map_err(failed)
    }
}

/// `None` where Windows has no v2 API.
fn load_v2() -> Result<Option<Hcn>, HcnError> {
    match Hcn::load() {
        Ok(hcn) => Ok(Some(hcn)),
        Err(HcnError::MissingLibrary { .. } | HcnError::MissingFunction { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Succeeds if the object is absent.
fn delete(kind: Kind, id: Guid) -> Result<(), HcnError> {
    let deleted = match load_v2()? {
        Some(hcn) => hcn.delete(kind, id),
        None => v1::delete(kind, id),
    };
    match deleted {
        Err(error) if !error.is_not_found() => Err(error),
        _ => Ok(()),
    }
}

fn overlay_unsupported(network: &HnsNetwork) -> Failure {
    Failure::new(
        Code::ActionRequired,
        format!(
            "this version of Windows does not support the overlay network `{}`",
            network.name
        ),
        "use Windows Server 2019 or newer, or a network without an overlay (`l3-routes`)",
    )
    .values("HNS v2 (computenetwork.dll)", "HNS v1 only")
}

fn list(path: &str) -> Result<Vec<Value>, Failure> {
    let action = || format!("read `{path}` from HNS");
    let response = match HnsCalls::load() {
        Ok(hns) => hns.call(Method::Get, path, None),
        Err(error) => Err(error),
    };
    match response {
        Ok(Value::Array(items)) => Ok(items),
        Ok(_) => Ok(Vec::new()),
        Err(error) => Err(hns_failure(action(), &error)),
    }
}

fn network_facts(document: &Value) -> HnsNetworkFacts {
    let subnet = |subnet: &Value| {
        Some(HnsSubnet {
            subnet: text(subnet, "AddressPrefix").parse().ok()?,
            gateway: text(subnet, "GatewayAddress").parse().ok(),
        })
    };
    let subnets = document.get("Subnets").and_then(Value::as_array);
    HnsNetworkFacts {
        id: text(document, "ID").to_owned(),
        name: text(document, "Name").to_owned(),
        network_type: text(document, "Type").to_owned(),
        subnets: subnets.into_iter().flatten().filter_map(subnet).collect(),
        management_address: text(document, "ManagementIP").parse().ok(),
    }
}

fn endpoint_facts(document: &Value) -> HnsEndpointFacts {
    HnsEndpointFacts {
        id: text(document, "ID").to_owned(),
        name: text(document, "Name").to_owned(),
        network: text(document, "VirtualNetworkName").to_owned(),
        address: text(document, "IPAddress").parse().ok(),
        attached: None,
    }
}

fn text<'a>(document: &'a Value, field: &str) -> &'a str {
    document
        .get(field)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

fn text_list<'a>(document: &'a Value, field: &str) -> Vec<&'a str> {
    let items = document.get(field).and_then(Value::as_array);
    items
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect()
}

fn same(text: &str, id: Guid) -> bool {
    text.parse() == Ok(id)
}

/// Waits until an address of the host is usable.
fn wait_for_address(address: IpAddr) -> Result<(), Failure> {
    let condition = casement_resource::Condition::Address(address);
    let mut retry_timer = RetryTimer::new(ADDRESS_TIMEOUT);
    loop {
        match conditions::evaluate(&condition)? {
            ConditionFacts::Holds => return Ok(()),
            ConditionFacts::NotYet(_) if retry_timer.wait() => {}
            ConditionFacts::NotYet(found) => {
                return Err(Failure::new(
                    Code::TimedOut,
                    format!(
                        "the host did not regain its address {address} within {} s",
                        ADDRESS_TIMEOUT.as_secs()
                    ),
                    "check the virtual switch and its adapter on the console of the host",
                )
                .found(found));
            }
        }
    }
}

/// kube-proxy and CNI plugins need the management address.
fn wait_for_management(name: &str) -> Result<(), Failure> {
    let mut retry_timer = RetryTimer::new(ADDRESS_TIMEOUT);
    loop {
        let networks = networks()?;
        let found = networks.iter().find(|it| it.name == name);
        if found.is_some_and(|network| network.management_address.is_some()) {
            return Ok(());
        }
        if !retry_timer.wait() {
            return Err(Failure::new(
                Code::TimedOut,
                format!(
                    "HNS did not report the management address of `{name}` within {} s",
                    ADDRESS_TIMEOUT.as_secs()
                ),
                "restart the service `hns`, then run `casement apply` again",
            ));
        }
    }
}

fn hns_failure(action: String, error: &HcnError) -> Failure {
    let help = error
        .help()
        .unwrap_or("resolve the error above, then run `casement apply` again");
    Failure::new(Code::System, format!("failed to {action}: {error}"), help)
}
