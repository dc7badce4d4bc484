//! Whether a cluster can take the nodes that a file asks for; told before anything
//! is changed, and all at once.

#[path = "preflight/calico.rs"]
pub(crate) mod calico;

use casement_catalog::{Minor, kubelet_range};
use casement_cluster::{ClusterFacts, FlannelFacts};
use casement_diag::Problem;
use casement_net::flannel::NetConf;
use casement_spec::{Cluster, NetworkMode};

/// Pod networks that have no way for packets on Windows, or none that fits a node
/// that kubeadm joins.
const NO_WINDOWS: &[(&str, &str)] = &[
    ("Cilium", "it is made of eBPF programs of Linux"),
    ("Canal", "its policies are Linux only"),
    ("Kube-OVN", "its Windows side is an installation of its own"),
    ("OVN-Kubernetes", "its hybrid overlay is its operator's"),
    ("Antrea", "its Windows agent is an installation of its own"),
    ("kube-router", "it has no Windows side"),
    ("Weave Net", "it has no Windows side"),
    ("Amazon VPC CNI", "its Windows side is made by EKS"),
    ("Azure CNI", "its Windows side is made by AKS"),
    ("kindnet", "it has no Windows side"),
];

/// Everything that is in the way.
pub fn unfit(
    cluster: &Cluster,
    facts: &ClusterFacts,
    flannel: Option<&FlannelFacts>,
) -> Vec<Problem> {
    let mut problems: Vec<Problem> = version(cluster, facts).into_iter().collect();
    problems.extend(networks(cluster, facts));
    match pod_network(cluster, facts) {
        Some(problem) => problems.push(problem),
        None => problems.extend(flannel_fit(cluster, flannel)),
    }
    problems.extend(names(cluster, facts));
    problems
}

/// What differs between the file and flannel's own configuration, beyond what a
/// change of numbers mends.
fn flannel_fit(cluster: &Cluster, flannel: Option<&FlannelFacts>) -> Vec<Problem> {
    let wanted = casement_plan::net_conf(cluster);
    let (Some(wanted), Some(flannel)) = (wanted, flannel) else {
        return Vec::new();
    };
    let mut problems = Vec::new();
    let found = &flannel.net_conf;
    let wanted_backend = match cluster.spec.network.mode() {
        NetworkMode::FlannelHostGw => "host-gw",
        _ => "vxlan",
    };
    if found.backend != wanted_backend {
        let mode = match found.backend.as_str() {
            "vxlan" => "`network.mode: flannel-overlay`",
            "host-gw" => "`network.mode: flannel-host-gw`",
            _ => "flannel with `vxlan` or `host-gw`: no other kind carries Windows",
        };
        let problem = Problem::new(
            "CAS-FIT-008",
            "flannel moves packets in another way than the file says",
            format!("it takes {mode}"),
        );
        problems.push(differ(problem, &found.backend, wanted_backend));
    }
    problems.extend(flannel_network(&wanted, flannel));
    if found.ipv6 {
        problems.push(
            Problem::new(
                "CAS-FIT-009",
                "flannel has IPv6 on, and Windows nodes have none: Linux nodes would leave them out",
                "turn `EnableIPv6` off in net-conf.json, or use a cluster with IPv4 only",
            )
            .seen("found in", &flannel.config_map),
        );
    }
    problems
}

fn flannel_network(wanted: &NetConf, flannel: &FlannelFacts) -> Option<Problem> {
    let (found, wanted) = (&flannel.net_conf.network, wanted.network.to_string());
    (*found != wanted).then(|| {
        let problem = Problem::new(
            "CAS-FIT-007",
            "flannel's network is not that of the pods",
            "`kubernetes.podCidr` has to be what flannel and kubeadm were given",
        );
        differ(problem, found, &wanted)
    })
}

fn version(cluster: &Cluster, facts: &ClusterFacts) -> Option<Problem> {
    let wanted = &cluster.spec.kubernetes.version;
    let found = minor(&facts.version);
    let Some(found) = found.filter(|minor| (Minor::OLDEST..=Minor::NEWEST).contains(minor)) else {
        let problem = Problem::new(
            "CAS-FIT-002",
            "the API server's version is none that casement knows",
            format!(
                "casement knows Kubernetes {} to {}",
                Minor::OLDEST,
                Minor::NEWEST
            ),
        );
        return Some(differ(problem, &facts.version, &wanted.to_string()));
    };
    let (_, number) = wanted.minor();
    let kubelet = u16::try_from(number).ok().map(Minor::new);
    let range = kubelet_range(found);
    if kubelet.is_some_and(|kubelet| range.contains(&kubelet)) {
        return None;
    }
    let problem = Problem::new(
        "CAS-FIT-001",
        "kubelets of the file's version cannot work with this API server",
        format!(
            "`kubernetes.version` may be from {} to {}",
            range.start(),
            range.end()
        ),
    );
    Some(differ(problem, &facts.version, &wanted.to_string()))
}

/// `v1.36.3` to its minor.
fn minor(version: &str) -> Option<Minor> {
    let mut parts = version.trim_start_matches('v').split('.');
    let (major, minor) = (parts.next()?, parts.next()?);
    let digits: String = minor.chars().take_while(char::is_ascii_digit).collect();
    (major == "1").then_some(())?;
    digits.parse().ok().map(Minor::new)
}

fn networks(cluster: &Cluster, facts: &ClusterFacts) -> Vec<Problem> {
    let kubernetes = &cluster.spec.kubernetes;
    let pairs = [
        (
            "CAS-FIT-005",
            "podCidr",
            "pods",
            &facts.pod_cidrs,
            kubernetes.pod_cidr.to_string(),
        ),
        (
            "CAS-FIT-006",
            "serviceCidr",
            "services",
            &facts.service_cidrs,
            kubernetes.service_cidr.to_string(),
        ),
    ];
    let mut problems = Vec::new();
    for (code, field, what, found, wanted) in pairs {
        let found = found.join(",");
        let same = |text: &str| text.replace([' ', '[', ']', '"'], "");
        if found.is_empty() || same(&found) == same(&wanted) {
            continue;
        }
        let problem = Problem::new(
            code,
            format!("the network of {what} is another in the cluster"),
            format!("write `kubernetes.{field}: {found}`"),
        );
        problems.push(differ(problem, &found, &wanted));
    }
    problems
}

fn pod_network(cluster: &Cluster, facts: &ClusterFacts) -> Option<Problem> {
    let mode = cluster.spec.network.mode();
    let found = facts.cni.as_ref();
    let name = found.map(|cni| cni.name.as_str());
    let because = NO_WINDOWS.iter().find(|(known, _)| Some(*known) == name);
    if let (Some(cni), Some((_, because))) = (found, because) {
        let problem = Problem::new(
            "CAS-FIT-003",
            format!(
                "{} cannot carry the pods of Windows nodes here: {because}",
                cni.name
            ),
            "use a cluster with flannel or Calico, or one whose pods are routed",
        );
        return Some(problem.seen("found", &cni.daemon_set));
    }
    let fits = match mode {
        NetworkMode::FlannelOverlay | NetworkMode::FlannelHostGw => name == Some("flannel"),
        NetworkMode::CalicoVxlan => name == Some("Calico"),
        // Routes stand beside what connects Linux nodes to each other.
        NetworkMode::L3Routes => name != Some("Calico"),
    };
    if fits {
        return None;
    }
    let problem = Problem::new(
        "CAS-FIT-004",
        format!("`network.mode: {mode}` does not go with the cluster's pod network"),
        match name {
            Some("flannel") => "write `network.mode: flannel-overlay` or `flannel-host-gw`",
            Some("Calico") => "write `network.mode: calico-vxlan`",
            _ => "install flannel or Calico on the Linux nodes first, or write `mode: l3-routes`",
        },
    );
    let found = found.map_or("none that casement knows".to_owned(), |cni| {
        format!("{} ({})", cni.name, cni.daemon_set)
    });
    Some(problem.seen("found", found))
}

/// A Windows host must not take over a Node of Linux.
fn names(cluster: &Cluster, facts: &ClusterFacts) -> Vec<Problem> {
    let taken = cluster.windows_hosts().filter_map(|host| {
        let node = facts.node(host.name.as_str())?;
        (node.os == "linux").then(|| {
            Problem::new(
                "CAS-FIT-010",
                format!("Node `{}` is there already, and is a Linux one", node.name),
                "give the Windows host another name, or delete the Node if it is left over",
            )
            .seen("addresses", node.addresses.join(", "))
        })
    });
    taken.collect()
}

fn differ(problem: Problem, found: &str, wanted: &str) -> Problem {
    problem
        .seen("cluster", format!("`{found}`"))
        .seen("file", format!("`{wanted}`"))
}

#[cfg(test)]
#[path = "preflight/tests.rs"]
mod tests;
