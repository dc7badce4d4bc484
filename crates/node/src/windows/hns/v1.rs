//! HNS v1, for Windows Server 2016 and the first releases after it. Supports bridges
//! only; overlays need v2.

use casement_hcn::{Guid, HcnError, Hns, Kind, Method};
use casement_net::hns::{EndpointV1, NetworkV1};
use serde_json::Value;

use super::{text, text_list};
use crate::platform::Balancer;

pub(super) fn create_network(document: &NetworkV1) -> Result<(), HcnError> {
    create(Kind::Network, &casement_net::value(document))
}

pub(super) fn create_endpoint(document: &EndpointV1) -> Result<(), HcnError> {
    create(Kind::Endpoint, &casement_net::value(document))
}

fn create(kind: Kind, document: &Value) -> Result<(), HcnError> {
    let hns = Hns::load()?;
    hns.call(Method::Post, resource_path(kind), Some(document))
        .map(drop)
}

pub(super) fn delete(kind: Kind, id: Guid) -> Result<(), HcnError> {
    let path = format!("{}{id}", resource_path(kind));
    Hns::load()?.call(Method::Delete, &path, None).map(drop)
}

fn resource_path(kind: Kind) -> &'static str {
    match kind {
        Kind::Network => "/networks/",
        Kind::Endpoint => "/endpoints/",
        Kind::Namespace => "/namespaces/",
        Kind::LoadBalancer => "/policylists/",
    }
}

/// Policy lists that reference endpoints.
pub(super) fn balancers() -> Result<Vec<Balancer>, HcnError> {
    let response = Hns::load()?.call(Method::Get, resource_path(Kind::LoadBalancer), None)?;
    let balancer = |document: &Value| Balancer {
        id: text(document, "ID").to_owned(),
        endpoints: text_list(document, "References")
            .into_iter()
            .filter_map(|path| path.strip_prefix("/endpoints/"))
            .map(str::to_owned)
            .collect(),
    };
    let lists = response.as_array().map(Vec::as_slice).unwrap_or_default();
    Ok(lists.iter().map(balancer).collect())
}
