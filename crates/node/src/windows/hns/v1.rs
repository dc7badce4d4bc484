//! Networks, endpoints and load balancers of a Windows whose HNS has only the first
//! generation of its interface: Windows Server 2016, and the first releases after
//! it. Only bridges: an overlay needs the second one.

use casement_hcn::{Guid, HcnError, Hns, Kind, Method};
use casement_resource::HnsNetwork;
use serde_json::{Value, json};

use super::{text, texts};
use crate::platform::{Balancer, NewEndpoint};

/// Makes a network on an adapter.
pub(super) fn make_network(network: &HnsNetwork, adapter: &str) -> Result<(), HcnError> {
    let document = json!({
        "Name": network.name,
        "Type": network.network_type.to_string(),
        "NetworkAdapterName": adapter,
        "Subnets": [{
            "AddressPrefix": network.subnet.to_string(),
            "GatewayAddress": network.gateway.to_string(),
        }],
    });
    make(Kind::Network, &document)
}

/// Makes an endpoint.
pub(super) fn make_endpoint(endpoint: &NewEndpoint) -> Result<(), HcnError> {
    let document = json!({
        "Name": endpoint.name,
        "VirtualNetwork": endpoint.network_id,
        "IPAddress": endpoint.address.to_string(),
    });
    make(Kind::Endpoint, &document)
}

fn make(kind: Kind, document: &Value) -> Result<(), HcnError> {
    let hns = Hns::load()?;
    hns.call(Method::Post, place(kind), Some(document))
        .map(drop)
}

/// Deletes a thing by its id.
pub(super) fn delete(kind: Kind, id: Guid) -> Result<(), HcnError> {
    let path = format!("{}{id}", place(kind));
    Hns::load()?.call(Method::Delete, &path, None).map(drop)
}

/// Where things of a kind are.
fn place(kind: Kind) -> &'static str {
    match kind {
        Kind::Network => "/networks/",
        Kind::Endpoint => "/endpoints/",
        Kind::Namespace => "/namespaces/",
        Kind::LoadBalancer => "/policylists/",
    }
}

/// All lists of policies that spread to endpoints.
pub(super) fn balancers() -> Result<Vec<Balancer>, HcnError> {
    let answer = Hns::load()?.call(Method::Get, place(Kind::LoadBalancer), None)?;
    let balancer = |document: &Value| Balancer {
        id: text(document, "ID").to_owned(),
        endpoints: texts(document, "References")
            .into_iter()
            .filter_map(|path| path.strip_prefix("/endpoints/"))
            .map(str::to_owned)
            .collect(),
    };
    let lists = answer.as_array().map(Vec::as_slice).unwrap_or_default();
    Ok(lists.iter().map(balancer).collect())
}
