//! Checks whether the cluster can accept the nodes of the file. All problems are reported
//! together, before anything is changed.

pub(crate) mod calico;

use casement_catalog::{Minor, kubelet_range};
use casement_cluster::{FlannelFacts, ObservedCluster};
use casement_diag::Problem;
use casement_net::flannel::NetConf;
use casement_spec::Cluster;

/// Pod networks without Windows support, or with one that kubeadm-joined nodes cannot use.
const UNSUPPORTED_CNI: &[(&str, &str)] = &[
    ("Cilium", "it needs eBPF in the Linux kernel"),
    ("Canal", "its policies are Linux-only"),
    ("Kube-OVN", "its Windows agent needs its own installer"),
    (
        "OVN-Kubernetes",
        "its hybrid overlay is managed by its operator",
    ),
    ("Antrea", "its Windows agent needs its own installer"),
    ("kube-router", "it does not support Windows"),
    ("Weave Net", "it does not support Windows"),
    ("Amazon VPC CNI", "its Windows support is part of EKS"),
    ("Azure CNI", "its Windows support is part of AKS"),
    ("kindnet", "it does not support Windows"),
];

pub fn preflight(
    cluster: &Cluster,
    facts: &ObservedCluster,
    flannel: Option<&FlannelFacts>,
) -> Vec<Problem> {
    let mut problems: Vec<Problem> = version(cluster, facts).into_iter().collect();
    problems.extend(networks(cluster, facts));
    match pod_network(cluster, facts, flannel) {
        Some(problem) => problems.push(problem),
        None => problems.extend(flannel_problems(cluster, flannel)),
    }
    problems.extend(names(cluster, facts));
    problems
}

/// Differences from flannel's configuration that a new VNI or port does not fix.
fn flannel_problems(cluster: &Cluster, flannel: Option<&FlannelFacts>) -> Vec<Problem> {
    let expected = casement_plan::net_conf(cluster);
    let (Some(expected), Some(flannel)) = (expected, flannel) else {
        return Vec::new();
    };
    let mut problems = Vec::new();
    let found = &flannel.net_conf;
    let expected_backend = match cluster.spec.network.mode().is_vxlan() {
        true => "vxlan",
        false => "host-gw",
    };
    if found.backend != expected_backend {
        let help = match found.backend.as_str() {
            "vxlan" => "set `network.mode: flannel-overlay`",
            "host-gw" => "set `network.mode: l3-routes`; `flannel-host-gw` is not supported yet",
            _ => "change flannel's backend to `vxlan`; Windows does not support this one",
        };
        let problem = Problem::new(
            "CAS-FIT-008",
            "flannel's backend does not match the cluster file",
            help,
        );
        problems.push(differ(problem, &found.backend, expected_backend));
    }
    problems.extend(flannel_network(&expected, flannel));
    if found.ipv6 {
        problems.push(
            Problem::new(
                "CAS-FIT-009",
                "flannel has IPv6 enabled: Linux nodes would ignore Windows nodes, which have no IPv6",
                "set `EnableIPv6: false` in net-conf.json, or use an IPv4-only cluster",
            )
            .detail("found in", &flannel.config_map),
        );
    }
    problems
}

fn flannel_network(expected: &NetConf, flannel: &FlannelFacts) -> Option<Problem> {
    let (found, expected) = (&flannel.net_conf.network, expected.network.to_string());
    (*found != expected).then(|| {
        let problem = Problem::new(
            "CAS-FIT-007",
            "flannel's network differs from the pod network",
            "set `kubernetes.podCidr` to the network that flannel and kubeadm were configured with",
        );
        differ(problem, found, &expected)
    })
}

fn version(cluster: &Cluster, facts: &ObservedCluster) -> Option<Problem> {
    let expected = &cluster.spec.kubernetes.version;
    let found = minor(&facts.version);
    let Some(found) = found.filter(|minor| (Minor::OLDEST..=Minor::NEWEST).contains(minor)) else {
        let problem = Problem::new(
            "CAS-FIT-002",
            "the API server's version is not supported",
            format!("use Kubernetes {} to {}", Minor::OLDEST, Minor::NEWEST),
        );
        return Some(differ(problem, &facts.version, &expected.to_string()));
    };
    let (_, number) = expected.minor();
    let kubelet = u16::try_from(number).ok().map(Minor::new);
    let range = kubelet_range(found);
    if kubelet.is_some_and(|kubelet| range.contains(&kubelet)) {
        return None;
    }
    let (_, supported) = casement_plan::SUPPORTED_MINOR;
    let supported = u16::try_from(supported).map_or(Minor::NEWEST, Minor::new);
    let help = match range.contains(&supported) {
        true => format!("set `kubernetes.version` to a release of {supported}"),
        false => format!(
            "use a control plane that accepts Kubernetes {supported}: nodes of other versions are \
             not supported yet"
        ),
    };
    let problem = Problem::new(
        "CAS-FIT-001",
        "kubelets of this version do not work with this API server",
        help,
    )
    .detail("accepted", format!("{} to {}", range.start(), range.end()));
    Some(differ(problem, &facts.version, &expected.to_string()))
}

/// Parses `v1.36.3`.
fn minor(version: &str) -> Option<Minor> {
    let mut parts = version.trim_start_matches('v').split('.');
    let (major, minor) = (parts.next()?, parts.next()?);
    let digits: String = minor.chars().take_while(char::is_ascii_digit).collect();
    (major == "1").then_some(())?;
    digits.parse().ok().map(Minor::new)
}

fn networks(cluster: &Cluster, facts: &ObservedCluster) -> Vec<Problem> {
    let kubernetes = &cluster.spec.kubernetes;
    let pairs = [
        (
            "CAS-FIT-005",
            "podCidr",
            "pod",
            &facts.pod_cidrs,
            kubernetes.pod_cidr.to_string(),
        ),
        (
            "CAS-FIT-006",
            "serviceCidr",
            "service",
            &facts.service_cidrs,
            kubernetes.service_cidr.to_string(),
        ),
    ];
    let mut problems = Vec::new();
    for (code, field, what, found, expected) in pairs {
        let found = found.join(",");
        let same = |text: &str| text.replace([' ', '[', ']', '"'], "");
        if found.is_empty() || same(&found) == same(&expected) {
            continue;
        }
        let help = match found.contains([',', ':']) {
            true => "use a cluster with one IPv4 network: IPv6 is not supported yet".to_owned(),
            false => format!("set `kubernetes.{field}: {found}`"),
        };
        let problem = Problem::new(
            code,
            format!("the {what} network in the cluster file differs from the one in the cluster"),
            help,
        );
        problems.push(differ(problem, &found, &expected));
    }
    problems
}

fn pod_network(
    cluster: &Cluster,
    facts: &ObservedCluster,
    flannel: Option<&FlannelFacts>,
) -> Option<Problem> {
    let mode = cluster.spec.network.mode();
    let found = facts.cni.as_ref();
    let name = found.map(|cni| cni.name.as_str());
    let reason = UNSUPPORTED_CNI
        .iter()
        .find(|(known, _)| Some(*known) == name);
    if let (Some(cni), Some((_, reason))) = (found, reason) {
        let problem = Problem::new(
            "CAS-FIT-003",
            format!("{} does not support Windows nodes here: {reason}", cni.name),
            "use a cluster with flannel or Calico, or with routed pod networks",
        );
        return Some(problem.detail("found", &cni.daemon_set));
    }
    let compatible = match mode.cni() {
        Some(cni) => name == Some(cni),
        // Routes work beside whatever connects the Linux nodes; Calico assigns pod networks
        // without telling the Nodes.
        None => name != Some("Calico"),
    };
    if compatible {
        return None;
    }
    let problem = Problem::new(
        "CAS-FIT-004",
        format!("`network.mode: {mode}` does not match the cluster's pod network"),
        match name {
            Some("flannel") if flannel.is_some_and(|it| it.net_conf.backend == "host-gw") => {
                "set `network.mode: l3-routes`; `flannel-host-gw` is not supported yet"
            }
            Some("flannel") => "set `network.mode: flannel-overlay`",
            Some("Calico") => {
                "set `network.mode: calico-vxlan` and `windows.components: host-process`"
            }
            _ => {
                "install flannel or Calico on the Linux nodes first, or set `network.mode: l3-routes`"
            }
        },
    );
    let found = found.map_or("no known CNI".to_owned(), |cni| {
        format!("{} ({})", cni.name, cni.daemon_set)
    });
    Some(problem.detail("found", found))
}

/// A Windows host must not take over the Node of a Linux host.
fn names(cluster: &Cluster, facts: &ObservedCluster) -> Vec<Problem> {
    let taken = cluster.windows_hosts().filter_map(|host| {
        let node = facts.node(host.name.as_str())?;
        (node.os == "linux").then(|| {
            Problem::new(
                "CAS-FIT-010",
                format!("Node `{}` already exists and runs Linux", node.name),
                "rename the Windows host, or delete the Node if it is a leftover",
            )
            .detail("addresses", node.addresses.join(", "))
        })
    });
    taken.collect()
}

fn differ(problem: Problem, found: &str, expected: &str) -> Problem {
    problem
        .detail("cluster", format!("`{found}`"))
        .detail("file", format!("`{expected}`"))
}

#[cfg(test)]
mod tests;
