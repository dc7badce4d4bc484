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
    for host in &seen.hosts {
        findings.extend(host::causes(host, seen));
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
