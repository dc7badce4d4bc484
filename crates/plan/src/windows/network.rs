//! Stage C: what needs the node's pod network, in each mode.

use casement_net::Late;
use casement_net::pod_network::PodNetwork;
use casement_net::routes;
use casement_resource::{
    Forwarding, HnsEndpoint, HnsNetwork, HnsNetworkType, InterfaceRef, Kubeconfig, NodeDocument,
    Resource, Route, Run, Stage,
};
use casement_spec::{Backend, Cluster, Host, WindowsComponents};

use super::{adapter, repair};
use crate::facts::ClusterFacts;
use crate::kube_proxy::KubeProxy;
use crate::kubelet::Kubelet;
use crate::places::{self, Places};
use crate::pods;
use crate::release::Release;
use crate::services::{self, file, service};
use crate::steps::{PlanError, Steps, path};

/// The document of stage C.
pub fn network(
    cluster: &Cluster,
    host: &Host,
    facts: &ClusterFacts,
) -> Result<NodeDocument, PlanError> {
    let release = Release::of(cluster)?;
    release.check(host)?;
    let places = Places::of(cluster, host, release);
    let kubelet = Kubelet {
        cluster,
        host,
        release,
        places: &places,
    };
    let name = host.name.as_str();
    let Late::Known(pods) = pods::of_host(host, facts)? else {
        return Err(PlanError::NoPodNetwork(name.to_owned()));
    };
    let mut steps = Steps::default();
    // The same step as in stage A. kubeadm has started it since: from here on, a
    // kubelet that stands still is drift.
    let definition = services::kubelet(&kubelet)?;
    service(&mut steps, &[], definition, Run::Running, &[])?;
    let made = match cluster.spec.network.backend {
        Backend::L3Routes => {
            switch(&mut steps, cluster, host, pods)?;
            roads(&mut steps, cluster, host, facts)?;
            Some("hns-endpoint")
        }
        Backend::FlannelOverlay { vxlan, .. } => {
            overlay(&mut steps, &kubelet, vxlan.vni.get(), pods)?;
            daemon(&mut steps, &kubelet, facts)?
        }
        Backend::FlannelHostGw { .. } => daemon(&mut steps, &kubelet, facts)?,
        Backend::CalicoVxlan { .. } => None,
    };
    let mut made: Vec<&str> = made.into_iter().collect();
    // Before the runtime can ask for a pod's address.
    made.extend(lease(&mut steps, &kubelet, pods)?);
    if cluster.spec.network.mode().is_flannel() || !cluster.spec.network.mode().is_vxlan() {
        let conflist = pods::conflist(cluster, host, release, Late::Known(pods), facts);
        let file_name = pods::conflist_name(cluster, host);
        let place = places.below(places.cni_configuration, &[file_name]);
        // The kubelet calls the node ready when this file is there: it comes last.
        file(
            &mut steps,
            "cni",
            &made,
            &place,
            conflist.unwrap_or_default(),
        )?;
    }
    if cluster.spec.windows.components == WindowsComponents::Services {
        proxy(&mut steps, &kubelet, facts, pods, &made)?;
    }
    let document = steps.finish(name, Stage::Network)?;
    Ok(document.kept(repair(cluster)))
}

fn switch(
    steps: &mut Steps,
    cluster: &Cluster,
    host: &Host,
    pods: PodNetwork,
) -> Result<(), PlanError> {
    let name = cluster.spec.network.hns_network.as_str();
    let network = HnsNetwork {
        name: name.to_owned(),
        network_type: HnsNetworkType::L2Bridge,
        subnet: pods.net().into(),
        gateway: pods.gateway().into(),
        isolation: None,
        adapter_address: host.address.into(),
    };
    let kept = adapter(steps, host)?;
    steps.add_disruptive("hns-network", &[kept], Resource::HnsNetwork(network))?;
    let endpoint = HnsEndpoint {
        name: format!("{name}_ep"),
        network: name.to_owned(),
        address: pods.host().into(),
    };
    steps.add(
        "hns-endpoint",
        &["hns-network"],
        Resource::HnsEndpoint(endpoint),
    )
}

/// The pods' own network, which the daemon takes as it finds it: what casement has
/// made, it takes back with all that is in it. The switch is there already, so
/// nothing is cut. A HostProcess daemon is the cluster's, and so is its network.
fn overlay(
    steps: &mut Steps,
    kubelet: &Kubelet<'_>,
    vni: u32,
    pods: PodNetwork,
) -> Result<(), PlanError> {
    let cluster = kubelet.cluster;
    if cluster.spec.windows.components == WindowsComponents::HostProcess {
        return Ok(());
    }
    let network = HnsNetwork {
        name: cluster.spec.network.hns_network.to_string(),
        network_type: HnsNetworkType::Overlay,
        subnet: pods.net().into(),
        gateway: pods.gateway().into(),
        isolation: Some(vni),
        adapter_address: kubelet.host.address.into(),
    };
    steps.add("hns-network", &[], Resource::HnsNetwork(network))
}

fn roads(
    steps: &mut Steps,
    cluster: &Cluster,
    host: &Host,
    facts: &ClusterFacts,
) -> Result<(), PlanError> {
    let management = InterfaceRef::Address(host.address.into());
    let pods = InterfaceRef::HnsNetwork(cluster.spec.network.hns_network.to_string());
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

/// flannel's file, identity and daemon; gives the step after which the network
/// is there. A HostProcess daemon is the cluster's to run.
fn daemon(
    steps: &mut Steps,
    kubelet: &Kubelet<'_>,
    facts: &ClusterFacts,
) -> Result<Option<&'static str>, PlanError> {
    if kubelet.cluster.spec.windows.components == WindowsComponents::HostProcess {
        return Ok(None);
    }
    let (Some(net_conf), Some(definition)) = (
        pods::net_conf(kubelet.cluster),
        services::overlay_daemon(kubelet)?,
    ) else {
        return Ok(None);
    };
    let place = format!(r"{}\net-conf.json", places::WINDOWS_FLANNEL);
    let text = casement_net::text(&net_conf);
    file(steps, "flannel-config", &[], &place, text)?;
    identity(steps, kubelet, facts, "flannel")?;
    let mut needs = vec!["flannel-config", "flannel-kubeconfig"];
    if kubelet.cluster.spec.network.mode().is_vxlan() {
        // One that was made anew has another router, which others must be told.
        needs.push("hns-network");
    }
    service(steps, &needs, definition, Run::Running, &needs)?;
    let daemon = crate::surroundings::daemon(kubelet.cluster);
    Ok(match daemon {
        Some("casement-overlay") => Some("service-casement-overlay"),
        _ => Some("service-flanneld"),
    })
}

/// A kubeconfig that is the node's own identity.
fn identity(
    steps: &mut Steps,
    kubelet: &Kubelet<'_>,
    facts: &ClusterFacts,
    program: &str,
) -> Result<(), PlanError> {
    let places = kubelet.places;
    let file_name = format!("{program}.kubeconfig");
    let certificate = places.in_kubelet(&["pki", "kubelet-client-current.pem"]);
    let identity = Kubeconfig {
        path: path(&places.below(&places.programs, &[&file_name]))?,
        server: format!("https://{}", facts.api_server),
        ca: facts.ca.clone(),
        client_certificate: path(&certificate)?,
    };
    let id = format!("{program}-kubeconfig");
    let id = id.strip_prefix("kube-").unwrap_or(&id);
    steps.add(id, &[], Resource::Kubeconfig(identity))
}

/// kube-proxy answers from an address of an overlay: the lease keeps
/// `host-local` from giving that to a pod. kube-proxy makes the endpoint itself,
/// with the host's own MAC.
fn lease(
    steps: &mut Steps,
    kubelet: &Kubelet<'_>,
    pods: PodNetwork,
) -> Result<Option<&'static str>, PlanError> {
    let (network, places) = (&kubelet.cluster.spec.network, kubelet.places);
    if !matches!(network.backend, Backend::FlannelOverlay { .. }) {
        return Ok(None);
    }
    let address = pods.host().to_string();
    let parts = [network.hns_network.as_str(), &address];
    let place = places.below(places::WINDOWS_CNI_LEASES, &parts);
    let text = "kube-proxy\r\nsource-vip".to_owned();
    file(steps, "source-vip", &[], &place, text)?;
    Ok(Some("source-vip"))
}

/// kube-proxy with its identity.
fn proxy(
    steps: &mut Steps,
    kubelet: &Kubelet<'_>,
    facts: &ClusterFacts,
    pods: PodNetwork,
    made: &[&str],
) -> Result<(), PlanError> {
    let (cluster, places) = (kubelet.cluster, kubelet.places);
    identity(steps, kubelet, facts, "kube-proxy")?;
    let kubeconfig = places.below(&places.programs, &["kube-proxy.kubeconfig"]);
    let vip = Late::Known(pods.host());
    let proxy = KubeProxy::new(cluster, kubelet.host, kubelet.release, vip, &kubeconfig);
    let configuration = places.below(&places.programs, &["kube-proxy.json"]);
    file(steps, "proxy-config", &[], &configuration, proxy.text())?;
    let mut after = vec!["proxy-config", "proxy-kubeconfig"];
    let restart_on = after.clone();
    after.extend(made);
    let definition = services::kube_proxy(kubelet)?;
    service(steps, &after, definition, Run::Running, &restart_on)
}
