//! From what was seen to its causes.

use std::fmt;

use casement_diag::Problem;

use crate::seen::{NodeSeen, Seen};
use crate::{host, pods};

/// A cause, and whom it is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The host; none where it is about the cluster.
    pub host: Option<String>,
    /// Code, cause, values, remedy.
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
        let whom = self.host.as_deref().unwrap_or("cluster");
        write!(f, "{whom}\n{}", self.problem)
    }
}

/// Every cause that can be told from what was seen; none if all is well.
#[must_use]
pub fn diagnose(seen: &Seen) -> Vec<Finding> {
    let mut findings = Vec::new();
    let misled = host::misled(seen);
    for host in &seen.hosts {
        findings.extend(host::causes(host, seen, &misled));
    }
    findings.extend(requests(seen));
    let explained = |host: &str| findings.iter().any(|it| it.host.as_deref() == Some(host));
    let mut more: Vec<Finding> = Vec::new();
    for pod in &seen.pods {
        let host = seen
            .hosts
            .iter()
            .find(|host| host.name.to_lowercase() == pod.node);
        let Some(host) = host.filter(|host| !explained(&host.name)) else {
            continue;
        };
        let finding = pods::cause(pod, host);
        // One image that does not fit stops many pods.
        if !more.contains(&finding) {
            more.push(finding);
        }
    }
    for host in &seen.hosts {
        let told = |it: &Finding| it.host.as_ref() == Some(&host.name);
        let node = seen.node(&host.name).filter(|node| !node.ready);
        if let Some(node) = node
            && !explained(&host.name)
            && !more.iter().any(told)
        {
            more.push(not_ready(&host.name, node));
        }
    }
    findings.extend(more);
    findings
}

/// Kubelets that ask for a certificate, and nobody answers.
fn requests(seen: &Seen) -> Vec<Finding> {
    let hosts = seen.hosts.iter();
    let asked = hosts.filter_map(|host| {
        let own = |node: &str| node.eq_ignore_ascii_case(&host.name);
        let request = seen.requests.iter().find(|request| own(&request.node))?;
        let name = &request.name;
        let problem = Problem::new(
            "CAS-DOC-012",
            format!(
                "the kubelet of {} asks for its certificate, and nobody approves it",
                host.name
            ),
            format!(
                "kubectl certificate approve {name}; the controller manager does it by itself \
                 where the ClusterRoleBinding \
                 `kubeadm:node-autoapprove-bootstrap` is there"
            ),
        );
        let problem = problem
            .seen("request", name)
            .seen("asked by", &request.user);
        Some(Finding::on(&host.name, problem))
    });
    asked.collect()
}

/// What is left to say of a Node whose host shows no fault.
fn not_ready(host: &str, node: &NodeSeen) -> Finding {
    let problem = Problem::new(
        "CAS-DOC-013",
        format!(
            "the Node {} is not Ready, and its host is as the file says",
            node.name
        ),
        format!("casement logs {host} kubelet"),
    );
    Finding::on(host, problem.seen("it says", &node.message))
}

#[cfg(test)]
mod tests {
    use casement_resource::{Change, Diff};

    use super::*;
    use crate::seen::{HostSeen, PodSeen, StepSeen, Wanted};

    fn host() -> HostSeen {
        let wanted = Wanted {
            address: [198, 18, 0, 11].into(),
            windows: true,
            network: "cbr0".to_owned(),
            cni_folder: r"C:\etc\cni\net.d".to_owned(),
            minor: 36,
        };
        HostSeen::new("Win1", wanted)
    }

    fn node(ready: bool) -> NodeSeen {
        NodeSeen {
            name: "win1".to_owned(),
            ready,
            message: "PLEG is not healthy".to_owned(),
            addresses: vec!["198.18.0.11".to_owned()],
        }
    }

    fn missing(id: &str) -> StepSeen {
        let change = Change::missing("field", "value");
        StepSeen {
            id: id.to_owned(),
            what: id.to_owned(),
            seen: Ok(Diff::Changes(vec![change])),
        }
    }

    fn codes(host: HostSeen, ready: bool, pods: Vec<PodSeen>) -> Vec<String> {
        let seen = Seen {
            hosts: vec![host],
            nodes: vec![node(ready)],
            pods,
            requests: Vec::new(),
        };
        let findings = diagnose(&seen).into_iter();
        findings.map(|it| it.problem.code.into_owned()).collect()
    }

    #[test]
    fn of_a_chain_only_the_beginning_is_told() {
        let mut host = host();
        let chain = ["runs-kubelet", "hns-network", "runs-containerd", "cni"];
        host.wrong = chain.map(missing).to_vec();
        assert_eq!(codes(host, false, Vec::new()), ["CAS-DOC-002"]);
    }

    #[test]
    fn a_kubelet_that_ended_otherwise_is_told_with_its_last_words() {
        let mut host = host();
        host.wrong = vec![missing("runs-kubelet")];
        host.kubelet_log = Some("I0101 started\nfailed to load config\n\n".to_owned());
        let seen = Seen {
            hosts: vec![host],
            ..Seen::default()
        };
        let findings = diagnose(&seen);
        let [finding] = findings.as_slice() else {
            panic!("{findings:?}");
        };
        assert_eq!(finding.problem.code, "CAS-DOC-004");
        assert!(finding.to_string().contains("failed to load config"));
    }

    #[test]
    fn a_proxy_that_waits_says_for_what_whatever_its_file_has() {
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
        assert_eq!(log(line("cbr0")), [] as [&str; 0], "the network is late");
        let found = format!("{}I1115 Caches are synced\n", line("vxlan0"));
        assert_eq!(log(found), [] as [&str; 0], "it has found it since");
    }

    #[test]
    fn what_has_no_name_is_told_as_it_was_seen() {
        assert_eq!(codes(host(), false, Vec::new()), ["CAS-DOC-013"]);
        let mut other = host();
        other.wrong = vec![missing("path")];
        assert_eq!(codes(other, true, Vec::new()), ["CAS-DOC-015"]);
        let pod = PodSeen {
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
