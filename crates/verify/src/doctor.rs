//! Maps an observation to root causes.

use std::fmt;

use casement_diag::Problem;

use crate::observation::{NodeObservation, Observation};
use crate::{host, pods};

/// A root cause.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// `None` if the cause concerns the cluster.
    pub host: Option<String>,
    pub problem: Problem,
}

impl Finding {
    pub(crate) fn on(host: &str, problem: Problem) -> Self {
        Self {
            host: Some(host.to_owned()),
            problem,
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let subject = self.host.as_deref().unwrap_or("cluster");
        write!(f, "{subject}\n{}", self.problem)
    }
}

/// All root causes; empty if everything is healthy.
#[must_use]
pub fn diagnose(observation: &Observation) -> Vec<Finding> {
    let mut findings = Vec::new();
    let misreported = host::misreported_addresses(observation);
    for host in &observation.hosts {
        findings.extend(host::causes(host, observation, &misreported));
    }
    findings.extend(pending_requests(observation));
    let explained = |host: &str| findings.iter().any(|it| it.host.as_deref() == Some(host));
    let mut more: Vec<Finding> = Vec::new();
    for pod in &observation.cluster.pods {
        let host = observation
            .hosts
            .iter()
            .find(|host| host.name.to_lowercase() == pod.node);
        let Some(host) = host.filter(|host| !explained(&host.name)) else {
            continue;
        };
        let finding = pods::cause(pod, host);
        // One incompatible image can affect many pods.
        if !more.contains(&finding) {
            more.push(finding);
        }
    }
    for host in &observation.hosts {
        let on_host = |it: &Finding| it.host.as_ref() == Some(&host.name);
        let node = observation.cluster.node(&host.name);
        let node = node.filter(|node| !node.ready);
        if let Some(node) = node
            && !explained(&host.name)
            && !more.iter().any(on_host)
        {
            more.push(not_ready(&host.name, node));
        }
    }
    findings.extend(more);
    findings
}

/// Kubelets with an unapproved certificate request.
fn pending_requests(observation: &Observation) -> Vec<Finding> {
    let hosts = observation.hosts.iter();
    let findings = hosts.filter_map(|host| {
        let own = |node: &str| node.eq_ignore_ascii_case(&host.name);
        let requests = &observation.cluster.requests;
        let request = requests.iter().find(|request| own(&request.node))?;
        let name = &request.name;
        let problem = Problem::new(
            "CAS-DOC-012",
            format!(
                "the certificate request of the kubelet on {} is not approved",
                host.name
            ),
            format!(
                "run `kubectl certificate approve {name}`; with the ClusterRoleBinding \
                 `kubeadm:node-autoapprove-bootstrap` the controller manager approves requests \
                 automatically"
            ),
        );
        let problem = problem
            .detail("request", name)
            .detail("requestor", &request.user);
        Some(Finding::on(&host.name, problem))
    });
    findings.collect()
}

/// A Node that is not Ready although its host is in sync.
fn not_ready(host: &str, node: &NodeObservation) -> Finding {
    let problem = Problem::new(
        "CAS-DOC-013",
        format!(
            "the Node {} is not Ready, but its host is in sync",
            node.name
        ),
        format!("run `casement logs {host} kubelet`"),
    );
    Finding::on(host, problem.detail("message", &node.message))
}

#[cfg(test)]
mod tests {
    use casement_resource::{Change, Diff};

    use super::*;
    use crate::observation::{
        ClusterObservation, DriftedStep, ExpectedState, HostObservation, PodObservation,
    };

    fn host() -> HostObservation {
        let expected = ExpectedState {
            address: [198, 18, 0, 11].into(),
            windows: true,
            network: "cbr0".to_owned(),
            cni_dir: r"C:\etc\cni\net.d".to_owned(),
            minor: 36,
        };
        HostObservation::new("Win1", expected)
    }

    fn node(ready: bool) -> NodeObservation {
        NodeObservation {
            name: "win1".to_owned(),
            ready,
            message: "PLEG is not healthy".to_owned(),
            addresses: vec!["198.18.0.11".to_owned()],
        }
    }

    fn missing(id: &str) -> DriftedStep {
        let change = Change::missing("field", "value");
        DriftedStep {
            id: id.to_owned(),
            title: id.to_owned(),
            result: Ok(Diff::Changes(vec![change])),
        }
    }

    fn codes(host: HostObservation, ready: bool, pods: Vec<PodObservation>) -> Vec<String> {
        let observation = Observation {
            hosts: vec![host],
            cluster: ClusterObservation {
                nodes: vec![node(ready)],
                pods,
                requests: Vec::new(),
            },
        };
        let findings = diagnose(&observation).into_iter();
        findings.map(|it| it.problem.code.into_owned()).collect()
    }

    #[test]
    fn only_the_root_cause_of_a_chain_is_reported() {
        let mut host = host();
        let chain = ["runs-kubelet", "hns-network", "runs-containerd", "cni"];
        host.drifted = chain.map(missing).to_vec();
        assert_eq!(codes(host, false, Vec::new()), ["CAS-DOC-002"]);
    }

    #[test]
    fn a_stopped_kubelet_is_reported_with_its_last_log_line() {
        let mut host = host();
        host.drifted = vec![missing("runs-kubelet")];
        host.kubelet_log = Some("I0101 started\nfailed to load config\n\n".to_owned());
        let observation = Observation {
            hosts: vec![host],
            ..Observation::default()
        };
        let findings = diagnose(&observation);
        let [finding] = findings.as_slice() else {
            panic!("{findings:?}");
        };
        assert_eq!(finding.problem.code, "CAS-DOC-004");
        assert!(finding.to_string().contains("failed to load config"));
    }

    #[test]
    fn the_proxy_log_takes_precedence_over_its_configuration() {
        let line = |name: &str| {
            format!(
                "E1115 23:40:12.000000    4012 proxier.go:225] \"Unable to find HNS Network \
                 specified, please check network name and CNI deployment\" \
                 err=\"Network name \\\"{name}\\\" not found\" hnsNetworkName=\"{name}\"\n"
            )
        };
        let log = |text: String| {
            let mut host = host();
            host.proxy_log = Some(text);
            codes(host, true, Vec::new())
        };
        assert_eq!(log(line("vxlan0")), ["CAS-DOC-007"]);
        assert_eq!(
            log(line("cbr0")),
            [] as [&str; 0],
            "the network is expected"
        );
        let found = format!("{}I1115 Caches are synced\n", line("vxlan0"));
        assert_eq!(log(found), [] as [&str; 0], "it found the network later");
    }

    #[test]
    fn unknown_causes_are_reported_with_the_observed_message() {
        assert_eq!(codes(host(), false, Vec::new()), ["CAS-DOC-013"]);
        let mut other = host();
        other.drifted = vec![missing("path")];
        assert_eq!(codes(other, true, Vec::new()), ["CAS-DOC-015"]);
        let pod = PodObservation {
            name: "default/web".to_owned(),
            node: "win1".to_owned(),
            reason: "CrashLoopBackOff".to_owned(),
            message: "back-off restarting failed container".to_owned(),
        };
        let twice = vec![pod.clone(), pod];
        assert_eq!(codes(host(), true, twice), ["CAS-DOC-014"]);
        assert_eq!(codes(host(), true, Vec::new()), [] as [&str; 0]);
    }
}
