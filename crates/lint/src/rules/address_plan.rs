//! The networks and addresses in the cluster file.

use casement_diag::Diagnostic;
use casement_spec::{CidrAllocation, Machines, Role};

use crate::context::Context;
use crate::rule::{Rule, rule};

pub(crate) const RULES: &[Rule] = &[
    rule!("CAS-NET-011", Error, Spec, "L003", too_small),
    rule!("CAS-NET-030", Warning, Spec, "L015", segment),
    rule!("CAS-NET-032", Error, Spec, "L001", host_networks),
    rule!("CAS-NET-033", Error, Spec, "L027", dns_address),
    rule!("CAS-NET-034", Warning, Spec, "L086, K6", mtu),
    rule!("CAS-NET-035", Warning, Spec, "L016", cloud),
];

/// Prefix length of the pod network of a node, as in the controller manager.
const NODE_PREFIX: u8 = 24;
/// Bytes that VXLAN adds to each packet.
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
    if spec.cluster.spec.network.mode().cni_assigns_pod_cidrs()
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
        "the pod network {pods} is large enough for {most} of {nodes} nodes, with a /{NODE_PREFIX} each"
    );
    let finding = Diagnostic::error(context.spec_path("kubernetes.podCidr"), message);
    vec![
        finding
            .note("a node without a pod network stays NotReady, and flannel exits with an error")
            .help("use a larger network, such as `podCidr: 10.244.0.0/16`"),
    ]
}

/// Hosts that share fewer bits than this are probably on different segments. Their
/// actual prefix is unknown before casement connects to them.
const SEGMENT_BITS: u32 = 20;

fn segment(context: &Context<'_>) -> Vec<Diagnostic> {
    let Some(spec) = context.spec else {
        return Vec::new();
    };
    let mode = spec.cluster.spec.network.mode();
    if !mode.is_routed() {
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
        .find(|(_, host)| shared(host.address) < SEGMENT_BITS);
    let Some((index, host)) = far else {
        return Vec::new();
    };
    let path = context.host_path(index).field("address");
    let message = format!(
        "`{mode}` needs all hosts on one segment, but {} ({}) and {} ({}) share only {} bits",
        first.name,
        first.address,
        host.name,
        host.address,
        shared(host.address)
    );
    vec![
        Diagnostic::warning(path, message)
            .label(context.host_path(0).field("address"), "probably on another segment")
            .note("the next hop of a route to a pod is its node, and a next hop must be on the same segment")
            .help("use `mode: flannel-overlay`, or add routes for the pod networks to the routers between the segments"),
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
                "`podCidr` of {} is {own}, which is outside the pod network {pods}",
                host.name
            );
            findings.push(
                context
                    .spec_label(
                        Diagnostic::error(path, message),
                        "kubernetes.podCidr",
                        "the pod network",
                    )
                    .help("use a part of the pod network"),
            );
        } else {
            given.push((index, own));
        }
    }
    // After sorting only adjacent networks can overlap, which scales to ten
    // thousand hosts.
    given.sort_by_key(|(_, own)| (own.net().network(), own.net().prefix_len()));
    for pair in given.windows(2) {
        let [(one, first), (other, second)] = pair else {
            continue;
        };
        if first.overlaps(*second) {
            let message = format!("the pod networks of two hosts overlap: {first} and {second}");
            findings.push(
                Diagnostic::error(context.host_path(*other).field("podCidr"), message)
                    .label(
                        context.host_path(*one).field("podCidr"),
                        "overlaps with this",
                    )
                    .help("give each host a separate network"),
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
    let mut default = kubernetes.clone();
    default.dns_ip = None;
    vec![
        context
            .spec_label(finding, "kubernetes.serviceCidr", "the service network")
            .note("the cluster DNS is a service, so its address is in the service network")
            .help(format!("remove it; the default is {}", default.dns())),
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
    let link_mtu = if azure { 1400 } else { 1500 };
    // A larger MTU implies jumbo frames, whose size is unknown here.
    if mtu.get() + OVERHEAD <= link_mtu || mtu.get() > link_mtu {
        return Vec::new();
    }
    let message = format!(
        "an MTU of {mtu} plus {OVERHEAD} bytes for VXLAN exceeds the {link_mtu} bytes of the network"
    );
    vec![
        Diagnostic::warning(context.spec_path("network.mtu"), message)
            .note("larger packets are dropped between Linux and Windows nodes: small requests work, large ones hang")
            .help(format!("set `mtu: {}`, or remove it", link_mtu - OVERHEAD))
            .replace(format!("set {}", link_mtu - OVERHEAD), (link_mtu - OVERHEAD).to_string()),
    ]
}

fn cloud(context: &Context<'_>) -> Vec<Diagnostic> {
    let Some(spec) = context.spec else {
        return Vec::new();
    };
    let mode = spec.cluster.spec.network.mode();
    if !mode.is_routed() || !matches!(spec.cluster.spec.machines, Some(Machines::Azure(_))) {
        return Vec::new();
    }
    let message = format!(
        "`mode: {mode}` does not work on Azure by default: its network drops packets from unknown addresses"
    );
    vec![
        Diagnostic::warning(context.spec_path("network.mode"), message)
            .label(context.spec_path("machines"), "the cloud")
            .help("use `mode: flannel-overlay`, or enable IP forwarding on the interfaces and add routes for the pods"),
    ]
}
