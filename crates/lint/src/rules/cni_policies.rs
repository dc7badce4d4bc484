//! The endpoint policies of Windows CNI configurations.

use std::net::IpAddr;

use casement_diag::{Diagnostic, Part};
use casement_source::foreign::Value;
use ipnet::IpNet;

use crate::cni::{Cni, Policy};
use crate::context::Context;
use crate::rule::{Rule, rule};
use crate::said::Said;

pub(crate) const RULES: &[Rule] = &[
    rule!(
        "CAS-CNI-007",
        Error,
        Files,
        "C2",
        "a policy is written in the other dialect",
        dialect
    ),
    rule!(
        "CAS-CNI-010",
        Error,
        FilesFirst,
        "L017",
        "too much is left untranslated",
        too_much
    ),
    rule!(
        "CAS-CNI-011",
        Error,
        FilesFirst,
        "L017, I9",
        "cluster networks are translated",
        too_little
    ),
    rule!(
        "CAS-CNI-012",
        Warning,
        Together,
        "L017, I9",
        "other nodes are translated in a bridged network",
        nodes
    ),
    rule!(
        "CAS-CNI-013",
        Error,
        Files,
        "I9",
        "there is no encapsulated route to services",
        service_route
    ),
    rule!(
        "CAS-CNI-014",
        Error,
        Files,
        "L027",
        "a policy is ignored in silence",
        ignored
    ),
];

const TYPES: [&str; 13] = [
    "OutBoundNAT",
    "SDNRoute",
    "ROUTE",
    "ProviderAddress",
    "PA",
    "PortMapping",
    "NAT",
    "ACL",
    "QOS",
    "L4Proxy",
    "L4WFPPROXY",
    "L2Driver",
    "VLAN",
];

fn windows<'c, 'a>(context: &'c Context<'a>) -> impl Iterator<Item = &'c Cni<'a>> {
    context.cni.iter().filter(|cni| cni.is_windows())
}

fn policies<'a>(context: &Context<'a>) -> Vec<Policy<'a>> {
    windows(context).flat_map(|cni| cni.policies()).collect()
}

fn said<'a>(value: &Value<'a>, name: &str) -> Option<&'a str> {
    value.get(name).and_then(|value| value.text())
}

fn dialect(context: &Context<'_>) -> Vec<Diagnostic> {
    let mut findings = Vec::new();
    for policy in policies(context) {
        let Some(value) = &policy.value else { continue };
        let kind = said(&policy.maker, "type").unwrap_or_default();
        let second = match kind {
            "win-overlay" | "win-bridge" => said(&policy.maker, "apiVersion") == Some("2"),
            "sdnoverlay" | "sdnbridge" => true,
            _ => continue,
        };
        let settings = value.get_any_case("Settings");
        let wrong_key = settings
            .as_ref()
            .and_then(|s| s.get_any_case("ExceptionList"));
        if let Some(list) = wrong_key {
            findings.push(
                list.error("`Settings` has `ExceptionList`, its name there is `Exceptions`")
                    .at(Part::Key)
                    .note("HNS ignores what it does not know: everything would be translated")
                    .help("write `\"Exceptions\": [ … ]`")
                    .replace("rename it to `Exceptions`", "\"Exceptions\""),
            );
            continue;
        }
        let Some(name) = value.get_any_case("Type") else {
            continue;
        };
        let text = name.text().unwrap_or_default();
        let old_name = matches!(text, "ROUTE" | "PA");
        if second && (settings.is_none() || old_name) {
            findings.push(
                name.error(format!("the policy `{text}` is written for HNS's first dialect, `{kind}` speaks the second here"))
                    .note("containerd needs the second dialect: `\"apiVersion\": 2`, values under `Settings`")
                    .help("write `{\"Type\": \"OutBoundNAT\", \"Settings\": {\"Exceptions\": […]}}`, `SDNRoute` for `ROUTE`, `ProviderAddress` for `PA`"),
            );
        } else if !second && settings.is_some() {
            findings.push(
                name.error(format!("the policy `{text}` is written for HNS's second dialect, `{kind}` speaks the first here"))
                    .note("without `\"apiVersion\": 2` the plugin speaks the first, which only Docker can use")
                    .help("add `\"apiVersion\": 2` to the plugin that has the policies"),
            );
        }
    }
    findings
}

/// The exceptions of a configuration, with the list they stand in.
fn exceptions<'a>(cni: &Cni<'a>) -> Option<(Value<'a>, Vec<Value<'a>>)> {
    let policies = cni.policies();
    let nat = policies
        .iter()
        .find(|policy| policy.is(&["OutBoundNAT"]) && policy.exceptions().is_some());
    let list = nat?.exceptions()?;
    let items = list.items();
    Some((list, items))
}

fn network(value: &Value<'_>) -> Option<IpNet> {
    value.text()?.parse().ok()
}

fn too_much(context: &Context<'_>) -> Vec<Diagnostic> {
    let mut findings = Vec::new();
    for cni in windows(context) {
        let Some((_, items)) = exceptions(cni) else {
            continue;
        };
        for item in items {
            let Some(net) = network(&item) else { continue };
            let text = item.text().unwrap_or_default();
            if net.prefix_len() == 0 {
                findings.push(
                    item.error(format!("`{text}` is an exception of outbound NAT: nothing outside of the cluster answers Windows pods"))
                        .note("what is not translated keeps the pod's address, and the world has no route back to it")
                        .help("list the pod and service networks only"),
                );
                continue;
            }
            if !cni.is_overlay() {
                continue;
            }
            let cluster = context
                .pod_networks()
                .into_iter()
                .chain(context.service_networks());
            let is_cluster = cluster.into_iter().any(|said| said.value == text);
            let inside = context
                .hosts()
                .into_iter()
                .find(|(_, address)| net.contains(address));
            if let Some((host, address)) = inside.filter(|_| !is_cluster) {
                findings.push(
                    context
                        .host_label(item.error(format!("hosts in {text} are unreachable from Windows pods: {host} is {address}")), address)
                        .note("in an overlay, packets to what is not translated leave with the pod's address, and replies have no route back")
                        .help("list the pod and service networks only"),
                );
            }
        }
    }
    findings
}

fn too_little(context: &Context<'_>) -> Vec<Diagnostic> {
    let mut findings = Vec::new();
    for cni in windows(context) {
        let Some((list, items)) = exceptions(cni) else {
            continue;
        };
        // Calico adds the pods' pools by itself.
        let calico = cni
            .makers()
            .iter()
            .any(|maker| said(maker, "type") == Some("calico"));
        let pods = context
            .pod_networks()
            .into_iter()
            .next()
            .filter(|_| !calico);
        let services = context.service_networks().into_iter().next();
        for (what, said) in [("pod", pods), ("service", services)] {
            let Some(said) = said else { continue };
            if covered(&said, &items) {
                continue;
            }
            findings.push(
                list.error(format!(
                    "the {what} network {} is no exception of outbound NAT",
                    said.value
                ))
                .label_in(
                    said.file.as_str(),
                    said.path.clone(),
                    format!("the {what} network"),
                )
                .note("Windows pods would reach it with their node's address, or not at all")
                .help(format!("add `\"{}\"` to the exceptions", said.value)),
            );
        }
    }
    findings
}

fn covered(said: &Said, items: &[Value<'_>]) -> bool {
    let Ok(wanted) = said.value.parse::<IpNet>() else {
        return true;
    };
    items
        .iter()
        .filter_map(network)
        .any(|net| net.contains(&wanted))
}

fn nodes(context: &Context<'_>) -> Vec<Diagnostic> {
    let mut findings = Vec::new();
    for cni in windows(context).filter(|cni| cni.is_bridge()) {
        let Some((list, items)) = exceptions(cni) else {
            continue;
        };
        let listed = |address: &IpAddr| {
            items
                .iter()
                .filter_map(network)
                .any(|net| net.contains(address))
        };
        let hosts = context.hosts();
        if let Some((host, address)) = hosts.into_iter().find(|(_, address)| !listed(address)) {
            findings.push(
                context
                    .host_label(list.warning(format!("packets from Windows pods to the node {host} ({address}) are translated")), address)
                    .note("in a bridged network nodes have routes to pods, and see the pods' own addresses when their network is an exception")
                    .help("add the nodes' network to the exceptions"),
            );
        }
    }
    findings
}

fn service_route(context: &Context<'_>) -> Vec<Diagnostic> {
    let mut findings = Vec::new();
    for cni in windows(context) {
        let Some(maker) = cni.makers().into_iter().find(|maker| {
            maker.get_any_case("policies").is_some() || maker.get("AdditionalArgs").is_some()
        }) else {
            continue;
        };
        let policies = cni.policies();
        let routes: Vec<_> = policies
            .iter()
            .filter(|policy| policy.is(&["SDNRoute", "ROUTE"]))
            .collect();
        if routes.is_empty() {
            let Some(kind) = maker.get("type") else {
                continue;
            };
            findings.push(
                kind.error("no policy routes the services' network")
                    .note("without an encapsulated route to the services' network, pods look for services on the wire")
                    .help("add `{\"Type\": \"SDNRoute\", \"Settings\": {\"DestinationPrefix\": \"10.96.0.0/12\", \"NeedEncap\": true}}` with your service network"),
            );
        }
        for route in routes {
            let Some(encap) = route
                .setting("NeedEncap")
                .filter(|v| v.boolean() == Some(false))
            else {
                continue;
            };
            findings.push(
                encap
                    .error("the route to services is not encapsulated: `NeedEncap` is false")
                    .help("write `\"NeedEncap\": true`")
                    .replace("write true", "true"),
            );
        }
    }
    findings
}

fn ignored(context: &Context<'_>) -> Vec<Diagnostic> {
    let mut findings = Vec::new();
    for policy in policies(context) {
        let name = policy.entry.get_any_case("name");
        if let Some(name) = name.filter(|name| {
            !name
                .text()
                .is_some_and(|n| n.eq_ignore_ascii_case("EndpointPolicy"))
        }) {
            findings.push(
                name.error(format!(
                    "the policy is named `{}`, only `EndpointPolicy` is read",
                    name.text().unwrap_or_default()
                ))
                .help("write `\"name\": \"EndpointPolicy\"`")
                .replace("write `EndpointPolicy`", "\"EndpointPolicy\""),
            );
            continue;
        }
        let kind = policy.kind();
        if kind.is_some_and(|kind| TYPES.iter().any(|known| known.eq_ignore_ascii_case(kind))) {
            continue;
        }
        let place = policy
            .value
            .as_ref()
            .and_then(|value| value.get_any_case("Type"));
        let place = place.as_ref().unwrap_or(&policy.entry);
        let message = match kind {
            Some(kind) => format!("no policy has the type `{kind}`"),
            None => "a policy has no `Type`".to_owned(),
        };
        let finding = place
            .error(message)
            .note("the plugin leaves out what it cannot read, and says nothing");
        let close = kind.and_then(|kind| casement_source::closest(kind, TYPES.into_iter()));
        findings.push(match close {
            Some(better) => finding
                .help(format!("did you mean `{better}`?"))
                .replace(format!("write `{better}`"), format!("\"{better}\"")),
            None => finding.help(format!("types are {}", TYPES.join(", "))),
        });
    }
    findings
}
