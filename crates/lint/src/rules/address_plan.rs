//! The addresses that a cluster file plans.

use casement_diag::Diagnostic;
use casement_spec::{CidrAllocation, Machines, NetworkMode, Role};

use crate::context::Context;
use crate::rule::{Rule, rule};

pub(crate) const RULES: &[Rule] = &[
    rule!(
        "CAS-NET-011",
        Error,
        Spec,
        "L003",
        "the pod network is too small for the hosts",
        too_small
    ),
    rule!(
        "CAS-NET-030",
        Warning,
        Spec,
        "L015",
        "hosts are hardly on one segment",
        segment
    ),
    rule!(
        "CAS-NET-032",
        Error,
        Spec,
        "L001",
        "pod networks of hosts do not fit",
        host_networks
    ),
    rule!(
        "CAS-NET-033",
        Error,
        Spec,
        "L027",
        "the DNS address is no service's",
        dns_address
    ),
    rule!(
        "CAS-NET-034",
        Warning,
        Spec,
        "L086, K6",
        "packets of pods do not fit the wire",
        mtu
    ),
    rule!(
        "CAS-NET-035",
        Warning,
        Spec,
        "L016",
        "a cloud does not carry routed pods by itself",
        cloud
    ),
];

/// What each node gets, as the controller manager has it.
const NODE_PREFIX: u8 = 24;
/// What VXLAN adds to each packet.
const OVERHEAD: u16 = 50;

fn too_small(context: &Context<'_>) -> Vec<Diagnostic> {
    let Some(spec) = context.spec else {
        return Vec::new();
    };
    let kubernetes = &spec.cluster.spec.kubernetes;
    let nodes = spec
        .cluster
        .spec
        .hosts
        .iter()
        .filter(|host| host.has(Role::Worker) || host.has(Role::ControlPlane))
        .count();
    let pods = kubernetes.pod_cidr.net();
    if spec.cluster.spec.network.mode() == NetworkMode::CalicoVxlan
        || kubernetes.cidr_allocation == CidrAllocation::Hosts
    {
        return Vec::new();
    }
    let bits = NODE_PREFIX.saturating_sub(pods.prefix_len());
    let most = 1_usize.checked_shl(u32::from(bits)).unwrap_or(usize::MAX);
    let most = if pods.prefix_len() > NODE_PREFIX {
        0
    } else {
        most
    };
    if nodes <= most {
        return Vec::new();
    }
    let message = format!(
        "the pod network {pods} has room for {most} of the {nodes} nodes, a /{NODE_PREFIX} each"
    );
    let finding = Diagnostic::error(context.spec_path("kubernetes.podCidr"), message);
    vec![
        finding
            .note("a node without a pod network of its own stays NotReady, and flannel ends with an error")
            .help("take a larger network, such as `podCidr: 10.244.0.0/16`"),
    ]
}

/// Hosts that share fewer bits than this are hardly neighbours. Their own
/// prefix is not known before they are looked at.
const NEIGHBOURS: u32 = 20;

fn segment(context: &Context<'_>) -> Vec<Diagnostic> {
    let Some(spec) = context.spec else {
        return Vec::new();
    };
    let mode = spec.cluster.spec.network.mode();
    if !matches!(mode, NetworkMode::FlannelHostGw | NetworkMode::L3Routes) {
        return Vec::new();
    }
    let hosts = &spec.cluster.spec.hosts;
    let Some(first) = hosts.first() else {
        return Vec::new();
    };
    let shared = |address: std::net::Ipv4Addr| {
        (u32::from(address) ^ u32::from(first.address)).leading_zeros()
    };
    let far = hosts
        .iter()
        .enumerate()
        .find(|(_, host)| shared(host.address) < NEIGHBOURS);
    let Some((index, host)) = far else {
        return Vec::new();
    };
    let path = context.host_path(index).field("address");
    let message = format!(
        "`{mode}` needs one segment, {} is {} and {} is {}: they share {} bits",
        first.name,
        first.address,
        host.name,
        host.address,
        shared(host.address)
    );
    vec![
        Diagnostic::warning(path, message)
            .label(context.host_path(0).field("address"), "hardly a neighbour of this one")
            .note("a route to a pod names the node as its next hop, and a next hop has to be on the same segment")
            .help("take `mode: flannel-overlay`, or let the routers between the segments know the pods' networks"),
    ]
}

fn host_networks(context: &Context<'_>) -> Vec<Diagnostic> {
    let Some(spec) = context.spec else {
        return Vec::new();
    };
    let kubernetes = &spec.cluster.spec.kubernetes;
    let pods = kubernetes.pod_cidr;
    let mut findings = Vec::new();
    let mut given: Vec<(usize, casement_spec::Cidrs)> = Vec::new();
    for (index, host) in spec.cluster.spec.hosts.iter().enumerate() {
        let Some(own) = host.pod_cidr else { continue };
        let path = context.host_path(index).field("podCidr");
        if !pods.net().contains(&own.net()) {
            let message = format!(
                "`podCidr` of {} is {own}, which is outside of the pod network {pods}",
                host.name
            );
            findings.push(
                context
                    .spec_label(
                        Diagnostic::error(path, message),
                        "kubernetes.podCidr",
                        "the pod network",
                    )
                    .help("take a part of the pod network"),
            );
        } else {
            given.push((index, own));
        }
    }
    // Sorted, only neighbours can overlap: linear enough for ten thousand hosts.
    given.sort_by_key(|(_, own)| (own.net().network(), own.net().prefix_len()));
    for pair in given.windows(2) {
        let [(one, first), (other, second)] = pair else {
            continue;
        };
        if first.overlaps(*second) {
            let message = format!("two hosts have pod networks that overlap: {first} and {second}");
            findings.push(
                Diagnostic::error(context.host_path(*other).field("podCidr"), message)
                    .label(context.host_path(*one).field("podCidr"), "and this")
                    .help("give each host a network of its own"),
            );
        }
    }
    findings
}

fn dns_address(context: &Context<'_>) -> Vec<Diagnostic> {
    let Some(spec) = context.spec else {
        return Vec::new();
    };
    let kubernetes = &spec.cluster.spec.kubernetes;
    let Some(dns) = kubernetes.dns_ip else {
        return Vec::new();
    };
    if kubernetes.service_cidr.iter().any(|net| net.contains(&dns)) {
        return Vec::new();
    }
    let message = format!(
        "`dnsIp` is {dns}, which is not in the service network {}",
        kubernetes.service_cidr
    );
    let finding = Diagnostic::error(context.spec_path("kubernetes.dnsIp"), message);
    let mut usual = kubernetes.clone();
    usual.dns_ip = None;
    vec![
        context
            .spec_label(finding, "kubernetes.serviceCidr", "the service network")
            .note("the cluster's DNS is a service, so its address is one of the services'")
            .help(format!("leave it out: then it is {}", usual.dns())),
    ]
}

fn mtu(context: &Context<'_>) -> Vec<Diagnostic> {
    let Some(spec) = context.spec else {
        return Vec::new();
    };
    let network = &spec.cluster.spec.network;
    let Some(mtu) = network.mtu.filter(|_| network.backend.vxlan().is_some()) else {
        return Vec::new();
    };
    let azure = matches!(spec.cluster.spec.machines, Some(Machines::Azure(_)));
    let wire = if azure { 1400 } else { 1500 };
    // Above that the wire carries jumbo packets, and their size is not known here.
    if mtu.get() + OVERHEAD <= wire || mtu.get() > wire {
        return Vec::new();
    }
    let message =
        format!("packets of {mtu} bytes and {OVERHEAD} for VXLAN do not fit the wire's {wire}");
    vec![
        Diagnostic::warning(context.spec_path("network.mtu"), message)
            .note("larger packets are dropped between Linux and Windows nodes: small requests work, large ones hang")
            .help(format!("write `mtu: {}`, or leave it out", wire - OVERHEAD))
            .replace(format!("write {}", wire - OVERHEAD), (wire - OVERHEAD).to_string()),
    ]
}

fn cloud(context: &Context<'_>) -> Vec<Diagnostic> {
    let Some(spec) = context.spec else {
        return Vec::new();
    };
    let mode = spec.cluster.spec.network.mode();
    let routed = matches!(mode, NetworkMode::FlannelHostGw | NetworkMode::L3Routes);
    if !routed || !matches!(spec.cluster.spec.machines, Some(Machines::Azure(_))) {
        return Vec::new();
    }
    let message = format!(
        "`mode: {mode}` on Azure: its network drops packets from addresses that it does not know"
    );
    vec![
        Diagnostic::warning(context.spec_path("network.mode"), message)
            .label(context.spec_path("machines"), "the cloud")
            .help("take `mode: flannel-overlay`, or allow IP forwarding on the interfaces and add routes for the pods"),
    ]
}
