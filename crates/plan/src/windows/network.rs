//! Stage C: what needs the node's pod network.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use casement_net::Late;
use casement_net::cni::{Dialect, WindowsPods};
use casement_net::pod_network::PodNetwork;
use casement_net::routes;
use casement_resource::{
    Forwarding, HnsEndpoint, HnsNetwork, HnsNetworkType, InterfaceRef, Kubeconfig, NodeDocument,
    Resource, Route, Run, ServiceDefinition, Stage,
};
use casement_spec::{Cluster, Host};
use ipnet::Ipv4Net;

use super::kube_proxy::KubeProxy;
use super::prepare::{definition, file, service};
use super::{base, places};
use crate::facts::ClusterFacts;
use crate::steps::{PlanError, Steps, path};

/// The HNS network's name, which kube-proxy and the CNI plugins look for.
pub const HNS_NETWORK: &str = "cbr0";

/// The document of stage C.
pub fn network(
    cluster: &Cluster,
    host: &Host,
    facts: &ClusterFacts,
) -> Result<NodeDocument, PlanError> {
    let name = host.name.as_str();
    let pods = facts
        .pods_of(name)
        .ok_or_else(|| PlanError::NoPodNetwork(name.to_owned()))?;
    let pods = PodNetwork::new(pods)?;
    let mut steps = Steps::default();
    switch(&mut steps, host, pods)?;
    roads(&mut steps, host, facts)?;
    let conflist = conflist(cluster, host, facts, pods);
    let place = format!(r"{}\10-casement.conflist", places::CNI_CONFIGURATION);
    // The kubelet calls the node ready when this file is there: it comes last.
    file(&mut steps, "cni", &["hns-endpoint"], &place, conflist)?;
    proxy(&mut steps, cluster, host, facts)?;
    steps.finish(name, Stage::Network)
}

fn switch(steps: &mut Steps, host: &Host, pods: PodNetwork) -> Result<(), PlanError> {
    let network = HnsNetwork {
        name: HNS_NETWORK.to_owned(),
        network_type: HnsNetworkType::L2Bridge,
        subnet: pods.net().into(),
        gateway: pods.gateway().into(),
        isolation: None,
        adapter_address: host.address.into(),
    };
    steps.add_disruptive("hns-network", &[], Resource::HnsNetwork(network))?;
    let endpoint = HnsEndpoint {
        name: format!("{HNS_NETWORK}_ep"),
        network: HNS_NETWORK.to_owned(),
        address: pods.host().into(),
    };
    steps.add(
        "hns-endpoint",
        &["hns-network"],
        Resource::HnsEndpoint(endpoint),
    )
}

fn roads(steps: &mut Steps, host: &Host, facts: &ClusterFacts) -> Result<(), PlanError> {
    let management = InterfaceRef::Address(host.address.into());
    let pods = InterfaceRef::HnsNetwork(HNS_NETWORK.to_owned());
    for (id, interface) in [
        ("forwarding-host", management.clone()),
        ("forwarding-pods", pods),
    ] {
        let forwarding = Resource::Forwarding(Forwarding { interface });
        steps.add(id, &["hns-endpoint"], forwarding)?;
    }
    for route in routes::to_others(host.name.as_str(), &facts.peers()) {
        let id = format!("route-{}", route.destination.network());
        let route = Route {
            destination: route.destination.into(),
            next_hop: route.via.into(),
            interface: management.clone(),
        };
        steps.add(&id, &["hns-network"], Resource::Route(route))?;
    }
    Ok(())
}

fn conflist(cluster: &Cluster, host: &Host, facts: &ClusterFacts, pods: PodNetwork) -> String {
    let kubernetes = &cluster.spec.kubernetes;
    let mut not_translated = vec![kubernetes.pod_cidr.net(), kubernetes.service_cidr.net()];
    // Nodes see a pod's own address too: nothing answers for another one.
    let nodes: BTreeSet<Ipv4Addr> = facts.nodes.iter().filter_map(|node| node.address).collect();
    not_translated.extend(nodes.into_iter().map(Ipv4Net::from));
    let document = WindowsPods {
        network: HNS_NETWORK,
        not_translated,
        services: kubernetes.service_cidr.net(),
        node: host.address,
        dialect: Dialect::Hcn,
        dockershim: false,
    }
    .bridge(Late::Known(pods), places::CNI_LEASES);
    casement_net::text(&document)
}

fn proxy(
    steps: &mut Steps,
    cluster: &Cluster,
    host: &Host,
    facts: &ClusterFacts,
) -> Result<(), PlanError> {
    let base = base(cluster);
    let kubeconfig = format!(r"{base}\kube-proxy.kubeconfig");
    let certificate = format!(r"{}\pki\kubelet-client-current.pem", places::KUBELET);
    let identity = Kubeconfig {
        path: path(&kubeconfig)?,
        server: format!("https://{}", facts.api_server),
        ca: facts.ca.clone(),
        client_certificate: path(&certificate)?,
    };
    steps.add("proxy-kubeconfig", &[], Resource::Kubeconfig(identity))?;
    let configuration = format!(r"{base}\kube-proxy.json");
    let text = KubeProxy {
        node: host.name.as_str(),
        address: host.address,
        pods: cluster.spec.kubernetes.pod_cidr.net(),
        network: HNS_NETWORK,
        kubeconfig: &kubeconfig,
    }
    .configuration();
    file(steps, "proxy-config", &[], &configuration, text)?;
    let definition = ServiceDefinition {
        program: vec![
            format!(r"{base}\kube-proxy.exe"),
            format!("--config={configuration}"),
        ],
        ..definition("kube-proxy", "kube-proxy (casement)")?
    };
    let restart_on = ["proxy-config", "proxy-kubeconfig"];
    let after = ["proxy-config", "proxy-kubeconfig", "hns-endpoint"];
    service(
        steps,
        "service-kube-proxy",
        &after,
        definition,
        Run::Running,
        &restart_on,
    )
}
