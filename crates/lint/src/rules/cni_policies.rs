//! Endpoint policies in Windows CNI configurations.

use std::net::IpAddr;

use casement_diag::{Diagnostic, Part};
use casement_source::foreign::Value;
use ipnet::IpNet;

use crate::cni::{Cni, Policy};
use crate::context::Context;
use crate::rule::{Rule, rule};
use crate::statement::Statement;

pub(crate) const RULES: &[Rule] = &[
    rule!("CAS-CNI-007", Error, Files, "C2", schema),
    rule!(
        "CAS-CNI-010",
        Error,
        FilesFirst,
        "L017",
        too_many_exceptions
    ),
    rule!(
        "CAS-CNI-011",
        Error,
        FilesFirst,
        "L017, I9",
        missing_exceptions
    ),
    rule!("CAS-CNI-012", Warning, Together, "L017, I9", nodes),
    rule!("CAS-CNI-013", Error, Files, "I9", service_route),
    rule!("CAS-CNI-014", Error, Files, "L027", ignored),
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

fn text<'a>(value: &Value<'a>, name: &str) -> Option<&'a str> {
    value.get(name).and_then(|value| value.text())
}

fn schema(context: &Context<'_>) -> Vec<Diagnostic> {
    let mut findings = Vec::new();
    for policy in policies(context) {
        let Some(value) = &policy.value else { continue };
        let kind = text(&policy.plugin, "type").unwrap_or_default();
        let version_2 = match kind {
            "win-overlay" | "win-bridge" => text(&policy.plugin, "apiVersion") == Some("2"),
            "sdnoverlay" | "sdnbridge" => true,
            _ => continue,
        };
        let settings = value.get_any_case("Settings");
        let wrong_key = settings
            .as_ref()
            .and_then(|s| s.get_any_case("ExceptionList"));
        if let Some(list) = wrong_key {
            findings.push(
                list.error(
                    "`Settings` contains `ExceptionList`, in this schema its name is `Exceptions`",
                )
                .at(Part::Key)
                .note("HNS ignores unknown fields: all traffic would be translated")
                .help("use `\"Exceptions\": [ … ]`")
                .replace("rename it to `Exceptions`", "\"Exceptions\""),
            );
            continue;
        }
        let Some(name) = value.get_any_case("Type") else {
            continue;
        };
        let policy_type = name.text().unwrap_or_default();
        let old_name = matches!(policy_type, "ROUTE" | "PA");
        if version_2 && (settings.is_none() || old_name) {
            findings.push(
                name.error(format!("the policy `{policy_type}` uses HNS schema version 1, but `{kind}` uses version 2 here"))
                    .note("containerd needs version 2: `\"apiVersion\": 2`, and values under `Settings`")
                    .help("use `{\"Type\": \"OutBoundNAT\", \"Settings\": {\"Exceptions\": […]}}`, `SDNRoute` for `ROUTE`, `ProviderAddress` for `PA`"),
            );
        } else if !version_2 && settings.is_some() {
            findings.push(
                name.error(format!("the policy `{policy_type}` uses HNS schema version 2, but `{kind}` uses version 1 here"))
                    .note("without `\"apiVersion\": 2` the plugin uses version 1, which works only with Docker")
                    .help("add `\"apiVersion\": 2` to the plugin that has the policies"),
            );
        }
    }
    findings
}

/// The outbound NAT exceptions of a configuration: the list and its items.
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

fn too_many_exceptions(context: &Context<'_>) -> Vec<Diagnostic> {
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
                    item.error(format!("`{text}` is excluded from outbound NAT: nothing outside the cluster can answer Windows pods"))
                        .note("without translation packets keep the address of the pod, and there is no route back to it")
                        .help("list only the pod and service networks"),
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
            let is_cluster = cluster.into_iter().any(|statement| statement.value == text);
            let inside = context
                .hosts()
                .into_iter()
                .find(|(_, address)| net.contains(address));
            if let Some((host, address)) = inside.filter(|_| !is_cluster) {
                findings.push(
                    context
                        .host_label(item.error(format!("Windows pods cannot reach hosts in {text}, such as {host} ({address})")), address)
                        .note("in an overlay, untranslated packets keep the address of the pod, and replies have no route back")
                        .help("list only the pod and service networks"),
                );
            }
        }
    }
    findings
}

fn missing_exceptions(context: &Context<'_>) -> Vec<Diagnostic> {
    let mut findings = Vec::new();
    for cni in windows(context) {
        let Some((list, items)) = exceptions(cni) else {
            continue;
        };
        // Calico adds its IP pools itself.
        let calico = cni
            .endpoint_plugins()
            .iter()
            .any(|plugin| text(plugin, "type") == Some("calico"));
        let pods = context
            .pod_networks()
            .into_iter()
            .next()
            .filter(|_| !calico);
        let services = context.service_networks().into_iter().next();
        for (what, statement) in [("pod", pods), ("service", services)] {
            let Some(statement) = statement else { continue };
            if covered(&statement, &items) {
                continue;
            }
            findings.push(
                list.error(format!(
                    "the {what} network {} is not excluded from outbound NAT",
                    statement.value
                ))
                .label_in(
                    statement.file.as_str(),
                    statement.path.clone(),
                    format!("the {what} network"),
                )
                .note("Windows pods would reach it with the address of their node, or not at all")
                .help(format!("add `\"{}\"` to the exceptions", statement.value)),
            );
        }
    }
    findings
}

fn covered(statement: &Statement, items: &[Value<'_>]) -> bool {
    let Ok(required) = statement.value.parse::<IpNet>() else {
        return true;
    };
    items
        .iter()
        .filter_map(network)
        .any(|net| net.contains(&required))
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
                    .note("in a bridged network nodes have routes to pods, and no translation is needed")
                    .help("add the network of the nodes to the exceptions"),
            );
        }
    }
    findings
}

fn service_route(context: &Context<'_>) -> Vec<Diagnostic> {
    let mut findings = Vec::new();
    for cni in windows(context) {
        let Some(plugin) = cni.endpoint_plugins().into_iter().find(|plugin| {
            plugin.get_any_case("policies").is_some() || plugin.get("AdditionalArgs").is_some()
        }) else {
            continue;
        };
        let policies = cni.policies();
        let routes: Vec<_> = policies
            .iter()
            .filter(|policy| policy.is(&["SDNRoute", "ROUTE"]))
            .collect();
        if routes.is_empty() {
            let Some(kind) = plugin.get("type") else {
                continue;
            };
            findings.push(
                kind.error("no policy routes the service network")
                    .note("without an encapsulated route, packets to services leave on the physical network")
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
                    .help("set `\"NeedEncap\": true`")
                    .replace("set to true", "true"),
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
                    "the policy is named `{}`, but only `EndpointPolicy` is supported",
                    name.text().unwrap_or_default()
                ))
                .help("set `\"name\": \"EndpointPolicy\"`")
                .replace("use `EndpointPolicy`", "\"EndpointPolicy\""),
            );
            continue;
        }
        let kind = policy.kind();
        if kind.is_some_and(|kind| TYPES.iter().any(|known| known.eq_ignore_ascii_case(kind))) {
            continue;
        }
        let location = policy
            .value
            .as_ref()
            .and_then(|value| value.get_any_case("Type"));
        let location = location.as_ref().unwrap_or(&policy.entry);
        let message = match kind {
            Some(kind) => format!("unknown policy type `{kind}`"),
            None => "the policy has no `Type`".to_owned(),
        };
        let finding = location
            .error(message)
            .note("the plugin silently skips policies that it cannot parse");
        let close = kind.and_then(|kind| casement_source::closest(kind, TYPES.into_iter()));
        findings.push(match close {
            Some(better) => finding
                .help(format!("did you mean `{better}`?"))
                .replace(format!("use `{better}`"), format!("\"{better}\"")),
            None => finding.help(format!("policy types are {}", TYPES.join(", "))),
        });
    }
    findings
}
