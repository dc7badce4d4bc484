//! `hnsNetwork`, `hnsEndpoint`, `sourceVip`.
//!
//! HNS objects are never modified: an own object that differs is deleted and created
//! again; a foreign one is reported and left alone.

use std::net::IpAddr;

use casement_resource::{
    Code, Diff, Failure, HnsEndpoint, HnsEndpointFacts, HnsNetwork, HnsNetworkFacts, Prior,
    Resource, SourceVip,
};

use super::adapter::restore_settings;
use super::{Kind, KindContext, expected_and_found};
use crate::platform::{Balancer, NewEndpoint, Result};

impl Kind for HnsNetwork {
    fn observe(&self, context: &KindContext<'_>) -> Result<Diff> {
        Ok(self.diff(network(context, &self.name)?.as_ref()))
    }

    fn prior(&self, context: &KindContext<'_>) -> Result<Prior> {
        match network(context, &self.name)? {
            None => Ok(Prior::Nothing),
            Some(found) => Err(foreign("network", &self.name, &self.diff(Some(&found)))),
        }
    }

    fn apply(
        &self,
        context: &KindContext<'_>,
        _prior: &Prior,
        _previous: Option<&Resource>,
    ) -> Result<()> {
        if let Some(found) = network(context, &self.name)? {
            delete_network(context, &found)?;
        }
        context.platform.create_hns_network(self)?;
        restore_settings(context, self.adapter_address)
    }

    fn undo(&self, context: &KindContext<'_>, _prior: &Prior) -> Result<()> {
        if let Some(found) = network(context, &self.name)? {
            delete_network(context, &found)?;
        }
        // Even if the network is gone: a removal may have stopped between the two.
        restore_settings(context, self.adapter_address)
    }
}

impl Kind for HnsEndpoint {
    fn observe(&self, context: &KindContext<'_>) -> Result<Diff> {
        Ok(self.diff(endpoint(context, &self.name)?.as_ref()))
    }

    fn prior(&self, context: &KindContext<'_>) -> Result<Prior> {
        match endpoint(context, &self.name)? {
            None => Ok(Prior::Nothing),
            Some(found) => Err(foreign("endpoint", &self.name, &self.diff(Some(&found)))),
        }
    }

    fn apply(
        &self,
        context: &KindContext<'_>,
        _prior: &Prior,
        _previous: Option<&Resource>,
    ) -> Result<()> {
        let found = ensure_endpoint(context, &self.name, &self.network, self.address)?;
        if found.attached == Some(true) {
            return Ok(());
        }
        context.platform.attach_hns_endpoint(&found.id)
    }

    fn undo(&self, context: &KindContext<'_>, _prior: &Prior) -> Result<()> {
        delete_endpoint(context, &self.name)
    }
}

impl Kind for SourceVip {
    fn observe(&self, context: &KindContext<'_>) -> Result<Diff> {
        Ok(self.diff(endpoint(context, &self.endpoint_name())?.as_ref()))
    }

    fn prior(&self, context: &KindContext<'_>) -> Result<Prior> {
        let name = self.endpoint_name();
        match endpoint(context, &name)? {
            None => Ok(Prior::Nothing),
            Some(found) => Err(foreign("endpoint", &name, &self.diff(Some(&found)))),
        }
    }

    fn apply(
        &self,
        context: &KindContext<'_>,
        _prior: &Prior,
        _previous: Option<&Resource>,
    ) -> Result<()> {
        ensure_endpoint(context, &self.endpoint_name(), &self.network, self.address).map(drop)
    }

    fn undo(&self, context: &KindContext<'_>, _prior: &Prior) -> Result<()> {
        delete_endpoint(context, &self.endpoint_name())
    }
}

fn network(context: &KindContext<'_>, name: &str) -> Result<Option<HnsNetworkFacts>> {
    let networks = context.platform.hns_networks()?;
    Ok(networks
        .into_iter()
        .find(|network| network.name.eq_ignore_ascii_case(name)))
}

fn endpoint(context: &KindContext<'_>, name: &str) -> Result<Option<HnsEndpointFacts>> {
    let endpoints = context.platform.hns_endpoints()?;
    Ok(endpoints
        .into_iter()
        .find(|endpoint| endpoint.name.eq_ignore_ascii_case(name)))
}

/// Finds or creates the endpoint. One that differs is created again.
fn ensure_endpoint(
    context: &KindContext<'_>,
    name: &str,
    network_name: &str,
    address: IpAddr,
) -> Result<HnsEndpointFacts> {
    if let Some(found) = endpoint(context, name)? {
        if found.address == Some(address) && found.network.eq_ignore_ascii_case(network_name) {
            return Ok(found);
        }
        delete_with_balancers(context, &found)?;
    }
    let network = network(context, network_name)?.ok_or_else(|| {
        Failure::new(
            Code::System,
            format!(
                "endpoint `{name}` needs the HNS network `{network_name}`, which does not exist"
            ),
            "add a step that creates the network before it",
        )
    })?;
    context.platform.create_hns_endpoint(&NewEndpoint {
        name: name.to_owned(),
        network_id: network.id,
        address,
    })?;
    endpoint(context, name)?.ok_or_else(|| {
        Failure::new(
            Code::NotConverged,
            format!("HNS created the endpoint `{name}`, but does not list it"),
            "restart the service `hns`, then run `casement apply` again",
        )
    })
}

fn delete_endpoint(context: &KindContext<'_>, name: &str) -> Result<()> {
    match endpoint(context, name)? {
        None => Ok(()),
        Some(found) => delete_with_balancers(context, &found),
    }
}

/// Deletes a network with everything in it, whoever created it: load balancers, then
/// endpoints, then the network. In another order HNS refuses, or leaves orphans.
fn delete_network(context: &KindContext<'_>, network: &HnsNetworkFacts) -> Result<()> {
    let all = context.platform.hns_endpoints()?;
    let (endpoints, others): (Vec<_>, Vec<_>) = all
        .into_iter()
        .partition(|it| it.network.eq_ignore_ascii_case(&network.name));
    // A kube-proxy that stopped before it saw the last pods go leaves load balancers
    // without endpoints.
    delete_balancers(context, |balancer| {
        let uses = |some: &[_]| balancer.endpoints.iter().any(|id| is_among(some, id));
        uses(&endpoints) || !uses(&others)
    })?;
    for endpoint in &endpoints {
        context.platform.delete_hns_endpoint(&endpoint.id)?;
    }
    context.platform.delete_hns_network(&network.id)
}

fn delete_with_balancers(context: &KindContext<'_>, endpoint: &HnsEndpointFacts) -> Result<()> {
    let this = std::slice::from_ref(endpoint);
    delete_balancers(context, |it| {
        it.endpoints.iter().any(|id| is_among(this, id))
    })?;
    context.platform.delete_hns_endpoint(&endpoint.id)
}

fn is_among(endpoints: &[HnsEndpointFacts], id: &str) -> bool {
    endpoints.iter().any(|it| it.id.eq_ignore_ascii_case(id))
}

/// Usually those of kube-proxy, which are useless without the endpoints.
fn delete_balancers(context: &KindContext<'_>, selected: impl Fn(&Balancer) -> bool) -> Result<()> {
    for balancer in context
        .platform
        .hns_balancers()?
        .iter()
        .filter(|it| selected(it))
    {
        context.platform.delete_hns_balancer(&balancer.id)?;
    }
    Ok(())
}

fn foreign(what: &str, name: &str, diff: &Diff) -> Failure {
    let (wanted, found) = match diff {
        Diff::Changes(changes) => expected_and_found(changes),
        Diff::InSync { reason, .. } => (reason.clone(), reason.clone()),
    };
    Failure::new(
        Code::Foreign,
        format!("HNS has another {what} named `{name}`, which casement did not create"),
        "choose another name (`network.hnsNetwork`), or delete it if it is not needed",
    )
    .values(wanted, found)
}
