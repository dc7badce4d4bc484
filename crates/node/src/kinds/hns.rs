//! `hnsNetwork`, `hnsEndpoint`, `sourceVip`.
//!
//! HNS objects are never changed: one of ours that differs is deleted and made
//! anew, a foreign one is left alone and named.

use std::net::IpAddr;

use casement_resource::{
    Code, Diff, Failure, HnsEndpoint, HnsEndpointFacts, HnsNetwork, HnsNetworkFacts, Prior,
    Resource, SourceVip,
};

use super::adapter::give_back;
use super::{Kind, Place, both_sides};
use crate::platform::{Balancer, NewEndpoint, Result};

impl Kind for HnsNetwork {
    fn look(&self, at: &Place<'_>) -> Result<Diff> {
        Ok(self.diff(network(at, &self.name)?.as_ref()))
    }

    fn prior(&self, at: &Place<'_>) -> Result<Prior> {
        match network(at, &self.name)? {
            None => Ok(Prior::Nothing),
            Some(found) => Err(foreign("network", &self.name, &self.diff(Some(&found)))),
        }
    }

    fn change(&self, at: &Place<'_>, _prior: &Prior, _earlier: Option<&Resource>) -> Result<()> {
        if let Some(found) = network(at, &self.name)? {
            delete_network(at, &found)?;
        }
        at.platform.create_hns_network(self)?;
        give_back(at, self.adapter_address)
    }

    fn undo(&self, at: &Place<'_>, _prior: &Prior) -> Result<()> {
        if let Some(found) = network(at, &self.name)? {
            delete_network(at, &found)?;
        }
        // Of one that is gone, too: a removal may have ended between the two.
        give_back(at, self.adapter_address)
    }
}

impl Kind for HnsEndpoint {
    fn look(&self, at: &Place<'_>) -> Result<Diff> {
        Ok(self.diff(endpoint(at, &self.name)?.as_ref()))
    }

    fn prior(&self, at: &Place<'_>) -> Result<Prior> {
        match endpoint(at, &self.name)? {
            None => Ok(Prior::Nothing),
            Some(found) => Err(foreign("endpoint", &self.name, &self.diff(Some(&found)))),
        }
    }

    fn change(&self, at: &Place<'_>, _prior: &Prior, _earlier: Option<&Resource>) -> Result<()> {
        let found = make_endpoint(at, &self.name, &self.network, self.address)?;
        if found.attached == Some(true) {
            return Ok(());
        }
        at.platform.attach_hns_endpoint(&found.id)
    }

    fn undo(&self, at: &Place<'_>, _prior: &Prior) -> Result<()> {
        delete_endpoint(at, &self.name)
    }
}

impl Kind for SourceVip {
    fn look(&self, at: &Place<'_>) -> Result<Diff> {
        Ok(self.diff(endpoint(at, &self.endpoint_name())?.as_ref()))
    }

    fn prior(&self, at: &Place<'_>) -> Result<Prior> {
        let name = self.endpoint_name();
        match endpoint(at, &name)? {
            None => Ok(Prior::Nothing),
            Some(found) => Err(foreign("endpoint", &name, &self.diff(Some(&found)))),
        }
    }

    fn change(&self, at: &Place<'_>, _prior: &Prior, _earlier: Option<&Resource>) -> Result<()> {
        make_endpoint(at, &self.endpoint_name(), &self.network, self.address).map(drop)
    }

    fn undo(&self, at: &Place<'_>, _prior: &Prior) -> Result<()> {
        delete_endpoint(at, &self.endpoint_name())
    }
}

fn network(at: &Place<'_>, name: &str) -> Result<Option<HnsNetworkFacts>> {
    let networks = at.platform.hns_networks()?;
    Ok(networks
        .into_iter()
        .find(|network| network.name.eq_ignore_ascii_case(name)))
}

fn endpoint(at: &Place<'_>, name: &str) -> Result<Option<HnsEndpointFacts>> {
    let endpoints = at.platform.hns_endpoints()?;
    Ok(endpoints
        .into_iter()
        .find(|endpoint| endpoint.name.eq_ignore_ascii_case(name)))
}

/// The endpoint of that name, network and address; one of ours that differs is
/// made anew.
fn make_endpoint(
    at: &Place<'_>,
    name: &str,
    network_name: &str,
    address: IpAddr,
) -> Result<HnsEndpointFacts> {
    if let Some(found) = endpoint(at, name)? {
        if found.address == Some(address) && found.network.eq_ignore_ascii_case(network_name) {
            return Ok(found);
        }
        delete_found(at, &found)?;
    }
    let network = network(at, network_name)?.ok_or_else(|| {
        Failure::new(
            Code::System,
            format!("endpoint `{name}` needs the HNS network `{network_name}`, which is not there"),
            "put a step that makes the network before it",
        )
    })?;
    at.platform.create_hns_endpoint(&NewEndpoint {
        name: name.to_owned(),
        network_id: network.id,
        address,
    })?;
    endpoint(at, name)?.ok_or_else(|| {
        Failure::new(
            Code::NotConverged,
            format!("HNS made the endpoint `{name}`, and does not have it"),
            "restart the service `hns` and apply again",
        )
    })
}

fn delete_endpoint(at: &Place<'_>, name: &str) -> Result<()> {
    match endpoint(at, name)? {
        None => Ok(()),
        Some(found) => delete_found(at, &found),
    }
}

/// What lives in a network goes with it, whoever put it there: load balancers,
/// then endpoints, then the network. In another order HNS refuses, or keeps what
/// nobody finds any more.
fn delete_network(at: &Place<'_>, network: &HnsNetworkFacts) -> Result<()> {
    let all = at.platform.hns_endpoints()?;
    let (endpoints, others): (Vec<_>, Vec<_>) = all
        .into_iter()
        .partition(|it| it.network.eq_ignore_ascii_case(&network.name));
    // Those of pods that went a moment ago spread to nothing any more, and are left
    // by a kube-proxy that did not live to see it.
    delete_balancers(at, |balancer| {
        let uses = |some: &[_]| balancer.endpoints.iter().any(|id| is_among(some, id));
        uses(&endpoints) || !uses(&others)
    })?;
    for endpoint in &endpoints {
        at.platform.delete_hns_endpoint(&endpoint.id)?;
    }
    at.platform.delete_hns_network(&network.id)
}

fn delete_found(at: &Place<'_>, endpoint: &HnsEndpointFacts) -> Result<()> {
    let this = std::slice::from_ref(endpoint);
    delete_balancers(at, |it| it.endpoints.iter().any(|id| is_among(this, id)))?;
    at.platform.delete_hns_endpoint(&endpoint.id)
}

fn is_among(endpoints: &[HnsEndpointFacts], id: &str) -> bool {
    endpoints.iter().any(|it| it.id.eq_ignore_ascii_case(id))
}

/// kube-proxy's, as a rule: without the endpoints they have nothing to spread to.
fn delete_balancers(at: &Place<'_>, goes: impl Fn(&Balancer) -> bool) -> Result<()> {
    for balancer in at.platform.hns_balancers()?.iter().filter(|it| goes(it)) {
        at.platform.delete_hns_balancer(&balancer.id)?;
    }
    Ok(())
}

fn foreign(what: &str, name: &str, diff: &Diff) -> Failure {
    let (wanted, found) = match diff {
        Diff::Changes(changes) => both_sides(changes),
        Diff::Right { reason, .. } => (reason.clone(), reason.clone()),
    };
    Failure::new(
        Code::Foreign,
        format!("HNS has a {what} `{name}` that casement did not make, and that differs"),
        "choose another name (`network.hnsNetwork`), or delete it if nobody needs it",
    )
    .values(wanted, found)
}
