//! kube-proxy configurations for Windows.

use std::net::{IpAddr, Ipv4Addr};

use casement_diag::Diagnostic;
use casement_source::foreign::Value;

use crate::context::{Context, networks};
use crate::rule::{Rule, rule};

pub(crate) const RULES: &[Rule] = &[
    rule!("CAS-PRX-010", Error, FilesFirst, "L018, I10", source_vip),
    rule!("CAS-PRX-011", Warning, Files, "L025", dsr),
    rule!("CAS-PRX-013", Warning, Files, "L053", node_ports),
    rule!("CAS-PRX-014", Error, Files, "L062", mode),
];

/// Configurations for Windows nodes.
fn windows<'c, 'a>(context: &'c Context<'a>) -> impl Iterator<Item = &'c Value<'a>> {
    context.proxies.iter().filter(|proxy| {
        let kernel = proxy
            .get("mode")
            .is_some_and(|mode| mode.text() == Some("kernelspace"));
        let fields = ["networkName", "sourceVip"];
        let filled = fields.into_iter().any(|name| {
            let value = proxy.get("winkernel").and_then(|kernel| kernel.get(name));
            value.is_some_and(|value| value.text().is_some_and(|text| !text.is_empty()))
        });
        kernel || filled
    })
}

fn source_vip(context: &Context<'_>) -> Vec<Diagnostic> {
    let overlay = context
        .cni
        .iter()
        .any(|cni| cni.is_windows() && cni.is_overlay())
        || context.net_confs.iter().any(|conf| {
            let kind = conf
                .get_any_case("Backend")
                .and_then(|backend| backend.get_any_case("Type"));
            kind.is_some_and(|kind| kind.text() == Some("vxlan"))
        })
        || context.is_overlay();
    let mut findings = Vec::new();
    for proxy in windows(context).filter(|_| overlay) {
        let value = proxy.at("winkernel.sourceVip");
        let Some(vip) = value.filter(|value| value.text().is_some_and(|text| !text.is_empty()))
        else {
            let Some(location) = proxy
                .at("winkernel.networkName")
                .or_else(|| proxy.get("mode"))
            else {
                continue;
            };
            findings.push(
                location
                    .error("`winkernel.sourceVip` is not set, but an overlay needs it")
                    .note("kube-proxy exits with `source-vip flag not set`")
                    .help("reserve an address of the node's pod network and set it as `sourceVip`"),
            );
            continue;
        };
        let text = vip.text().unwrap_or_default();
        let Ok(address) = text.parse::<Ipv4Addr>() else {
            findings.push(
                vip.error(format!(
                    "the source VIP `{text}` is not a valid IPv4 address"
                ))
                .help("use an address such as `10.244.3.2`"),
            );
            continue;
        };
        if matches!(address.octets()[3], 0 | 1 | 255) {
            findings.push(
                vip.error(format!(
                    "the source VIP {address} is reserved in the network of its node"
                ))
                .note("HNS reserves the network, gateway and broadcast addresses")
                .help(
                    "use another address of the node's pod network, and reserve it in host-local",
                ),
            );
            continue;
        }
        let outside = context
            .pod_networks()
            .into_iter()
            .next()
            .filter(|statement| {
                let nets = networks(&statement.value);
                !nets.is_empty() && !nets.iter().any(|net| net.contains(&IpAddr::V4(address)))
            });
        if let Some(statement) = outside {
            findings.push(
                vip.error(format!(
                    "the source VIP {address} is not in the pod network {}",
                    statement.value
                ))
                .label_in(
                    statement.file.as_str(),
                    statement.path.clone(),
                    "the pod network",
                )
                .note("HNS rejects the endpoint, because the address is not in a configured subnet")
                .help("use an address of the node's pod network"),
            );
        }
    }
    findings
}

fn dsr(context: &Context<'_>) -> Vec<Diagnostic> {
    let endpoint_plugins: Vec<_> = context
        .cni
        .iter()
        .filter(|cni| cni.is_windows())
        .flat_map(|cni| cni.endpoint_plugins())
        .collect();
    let mut findings = Vec::new();
    for proxy in windows(context) {
        let enabled = proxy.at("winkernel.enableDSR");
        for plugin in &endpoint_plugins {
            let loopback = plugin
                .get_any_case("loopbackDSR")
                .or_else(|| plugin.get("windows_loopback_DSR"))
                .or_else(|| plugin.at("optionalFlags.loopbackDSR"));
            let on = |value: &Option<Value<'_>>| {
                value.as_ref().and_then(Value::boolean).unwrap_or(false)
            };
            if on(&enabled) == on(&loopback) {
                continue;
            }
            let shown = |value: &Option<Value<'_>>| match value.as_ref().and_then(Value::text) {
                Some(text) => text.to_owned(),
                None => "not set".to_owned(),
            };
            let (Some(here), Some(there)) = (
                enabled
                    .clone()
                    .or_else(|| proxy.get("winkernel"))
                    .or_else(|| proxy.get("mode")),
                loopback.clone().or_else(|| plugin.get("type")),
            ) else {
                continue;
            };
            findings.push(
                here.warning(format!(
                    "kube-proxy's `enableDSR` is {}, but the CNI's `loopbackDSR` is {}",
                    shown(&enabled),
                    shown(&loopback)
                ))
                .label_in(there.file(), there.path().clone(), "the CNI")
                .note(
                    "with DSR on one side only, a pod cannot reach itself through its own service",
                )
                .help("set both to the same value"),
            );
        }
    }
    findings
}

fn node_ports(context: &Context<'_>) -> Vec<Diagnostic> {
    let mut findings = Vec::new();
    for document in context.kubeadm_kind("ClusterConfiguration") {
        let args = document
            .at("apiServer.extraArgs")
            .map(|args| super::kubelet::arguments(&args));
        let range = args
            .unwrap_or_default()
            .into_iter()
            .find(|(name, _)| *name == "service-node-port-range");
        let Some((_, value)) = range.filter(|_| context.has_windows()) else {
            continue;
        };
        let text = value.text().unwrap_or_default();
        let last = text
            .split('-')
            .next_back()
            .and_then(|last| last.parse::<u32>().ok());
        if last.is_some_and(|last| last >= 49152) {
            findings.push(
                value
                    .warning(format!("the NodePort range {text} overlaps with 49152-65535, which Windows uses for outgoing connections"))
                    .note("a NodePort that is already in use by a connection does not work on that node")
                    .help("end the range below 49152; the default is 30000-32767"),
            );
        }
    }
    findings
}

fn mode(context: &Context<'_>) -> Vec<Diagnostic> {
    let mut findings = Vec::new();
    for proxy in windows(context) {
        let Some(mode) = proxy
            .get("mode")
            .filter(|mode| !matches!(mode.text(), Some("kernelspace" | "") | None))
        else {
            continue;
        };
        let text = mode.text().unwrap_or_default();
        findings.push(
            mode.error(format!(
                "the mode is `{text}`, but Windows supports only `kernelspace`"
            ))
            .help("set `mode: kernelspace`")
            .replace("use `kernelspace`", "kernelspace"),
        );
    }
    findings
}
