//! Services and ports on Windows nodes.

use casement_diag::Diagnostic;
use casement_source::foreign::Value;

use crate::context::Context;
use crate::pod::Pod;
use crate::rule::{Rule, rule};

pub(crate) const RULES: &[Rule] = &[
    rule!("CAS-POD-020", Warning, Files, "L054", port_in_use),
    rule!("CAS-POD-021", Warning, FilesFirst, "L054", host_port),
    rule!("CAS-POD-022", Warning, Together, "L071", affinity),
    rule!("CAS-POD-023", Warning, Files, "L072", local_traffic),
    rule!("CAS-PRX-015", Error, Together, "L073", health_check),
];

const USED_PORTS: [(i64, &str); 6] = [
    (10250, "the kubelet"),
    (10256, "kube-proxy"),
    (10249, "kube-proxy"),
    (5985, "WinRM"),
    (5986, "WinRM"),
    (22, "OpenSSH"),
];

fn host_ports<'a>(pod: &Pod<'a>) -> Vec<Value<'a>> {
    let ports = pod.containers();
    let ports = ports.iter().filter_map(|container| container.get("ports"));
    let ports = ports.flat_map(|list| list.items());
    ports.filter_map(|port| port.get("hostPort")).collect()
}

fn port_in_use(context: &Context<'_>) -> Vec<Diagnostic> {
    let mut findings = Vec::new();
    let pods = context.pods.iter().filter(|pod| pod.is_windows());
    let ports = pods.flat_map(host_ports);
    let checks = context
        .of_kind("Service")
        .filter_map(|service| service.at("spec.healthCheckNodePort"));
    for port in ports.chain(checks) {
        let Some((number, owner)) = USED_PORTS
            .iter()
            .find(|(number, _)| port.integer() == Some(*number))
        else {
            continue;
        };
        findings.push(
            port.warning(format!("port {number} is used by {owner} on Windows nodes"))
                .note("HNS rejects the policy with `the specified port already exists`")
                .help("use another port"),
        );
    }
    findings
}

fn host_port(context: &Context<'_>) -> Vec<Diagnostic> {
    let list = context
        .cni
        .iter()
        .find(|cni| cni.is_windows() && cni.is_overlay());
    let spec = context.is_overlay();
    if list.is_none() && !spec {
        return Vec::new();
    }
    let mut findings = Vec::new();
    for pod in context
        .pods
        .iter()
        .filter(|pod| pod.is_windows() && !pod.has_host_process())
    {
        for port in host_ports(pod) {
            let finding = port
                .warning(format!(
                    "`hostPort: {}` of {} has no effect: win-overlay does not support port mappings",
                    port.text().unwrap_or_default(),
                    pod.title()
                ))
                .help("create a Service of type NodePort");
            let location =
                list.and_then(|cni| cni.endpoint_plugins().into_iter().next()?.get("type"));
            findings.push(match location {
                Some(location) => {
                    finding.label_in(location.file(), location.path().clone(), "the overlay")
                }
                None => finding,
            });
        }
    }
    findings
}

/// Services that select Windows pods.
fn windows_services<'a>(context: &Context<'a>) -> Vec<Value<'a>> {
    let selects = |service: &&Value<'a>| {
        let Some(selector) = service.at("spec.selector") else {
            return false;
        };
        let required = selector.entries();
        context
            .pods
            .iter()
            .filter(|pod| pod.is_windows())
            .any(|pod| {
                let has = |name: &str, value: &Value<'a>| {
                    let label = pod.labels.as_ref().and_then(|labels| labels.get(name));
                    label.is_some_and(|label| label.text() == value.text())
                };
                !required.is_empty() && required.iter().all(|(name, value)| has(name, value))
            })
    };
    context
        .of_kind("Service")
        .filter(selects)
        .cloned()
        .collect()
}

fn affinity(context: &Context<'_>) -> Vec<Diagnostic> {
    let old = context
        .windows_builds()
        .into_iter()
        .find(|(_, build)| *build < 20348);
    let Some((host, build)) = old else {
        return Vec::new();
    };
    let mut findings = Vec::new();
    for service in windows_services(context) {
        let value = service.at("spec.sessionAffinity");
        if let Some(value) = value.filter(|value| value.text() == Some("ClientIP")) {
            findings.push(
                value
                    .warning(format!(
                        "`sessionAffinity: ClientIP` needs build 20348, but {host} has {build}"
                    ))
                    .note("older hosts spread the connections of a client over all pods")
                    .help("run the pods on Server 2022 or newer, or remove it"),
            );
        }
    }
    findings
}

fn local_traffic(context: &Context<'_>) -> Vec<Diagnostic> {
    let proxies = context
        .proxies
        .iter()
        .filter(|proxy| proxy.at("winkernel.networkName").is_some());
    let off = proxies.into_iter().find(|proxy| {
        let dsr = proxy
            .at("winkernel.enableDSR")
            .and_then(|dsr| dsr.boolean());
        dsr != Some(true)
    });
    let location = off.and_then(|proxy| {
        proxy
            .at("winkernel.enableDSR")
            .or_else(|| proxy.at("winkernel.networkName"))
    });
    let Some(location) = location else {
        return Vec::new();
    };
    let mut findings = Vec::new();
    for service in windows_services(context) {
        let value = service.at("spec.externalTrafficPolicy");
        if let Some(value) = value.filter(|value| value.text() == Some("Local")) {
            findings.push(
                value
                    .warning("`externalTrafficPolicy: Local` does not preserve the client address on Windows while DSR is off")
                    .label_in(location.file(), location.path().clone(), "DSR is off")
                    .help("set `winkernel.enableDSR: true`, and `loopbackDSR` in the CNI configuration"),
            );
        }
    }
    findings
}

fn health_check(context: &Context<'_>) -> Vec<Diagnostic> {
    let old = context
        .windows_builds()
        .into_iter()
        .find(|(_, build)| *build == 17763);
    let Some((host, _)) = old else {
        return Vec::new();
    };
    let values = context
        .proxies
        .iter()
        .filter_map(|proxy| proxy.at("winkernel.forwardHealthCheckVip"));
    values
        .filter(|value| value.boolean() == Some(true))
        .map(|value| {
            value
                .error(format!("`forwardHealthCheckVip` is true, but {host} runs Server 2019, where port 10256 conflicts with kube-proxy"))
                .help("set `forwardHealthCheckVip: false`")
                .replace("set to false", "false")
        })
        .collect()
}
