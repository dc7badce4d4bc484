//! Configurations of kube-proxy for Windows.

use std::net::{IpAddr, Ipv4Addr};

use casement_diag::Diagnostic;
use casement_source::foreign::Value;

use crate::context::{Context, networks};
use crate::rule::{Rule, rule};

pub(crate) const RULES: &[Rule] = &[
    rule!(
        "CAS-PRX-010",
        Error,
        FilesFirst,
        "L018, I10",
        "kube-proxy's source VIP is wrong",
        source_vip
    ),
    rule!(
        "CAS-PRX-011",
        Warning,
        Files,
        "L025",
        "DSR is set on one side only",
        dsr
    ),
    rule!(
        "CAS-PRX-013",
        Warning,
        Files,
        "L053",
        "NodePorts lie among the ports that Windows gives out",
        node_ports
    ),
    rule!(
        "CAS-PRX-014",
        Error,
        Files,
        "L062",
        "kube-proxy's mode is not one of Windows",
        mode
    ),
];

/// Configurations that are for Windows nodes.
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
            let Some(place) = proxy
                .at("winkernel.networkName")
                .or_else(|| proxy.get("mode"))
            else {
                continue;
            };
            findings.push(
                place
                    .error("`winkernel.sourceVip` is left out, and an overlay needs it")
                    .note("kube-proxy ends with: source-vip flag not set")
                    .help("reserve an address of the node's own pod network and write it as `sourceVip`"),
            );
            continue;
        };
        let text = vip.text().unwrap_or_default();
        let Ok(address) = text.parse::<Ipv4Addr>() else {
            findings.push(
                vip.error(format!("the source VIP `{text}` is no IPv4 address"))
                    .help("an example is `10.244.3.2`"),
            );
            continue;
        };
        if matches!(address.octets()[3], 0 | 1 | 255) {
            findings.push(
                vip.error(format!(
                    "the source VIP {address} is reserved in its node's network"
                ))
                .note("HNS keeps the network's own address, its gateway and its broadcast address")
                .help(
                    "take another address of the node's pod network, and reserve it in host-local",
                ),
            );
            continue;
        }
        let outside = context.pod_networks().into_iter().next().filter(|said| {
            let nets = networks(&said.value);
            !nets.is_empty() && !nets.iter().any(|net| net.contains(&IpAddr::V4(address)))
        });
        if let Some(said) = outside {
            findings.push(
                vip.error(format!(
                    "the source VIP {address} is not in the pod network {}",
                    said.value
                ))
                .label_in(said.file.as_str(), said.path.clone(), "the pod network")
                .note("HNS refuses the endpoint: the address is part of no configured subnet")
                .help("take an address of the node's own pod network"),
            );
        }
    }
    findings
}

fn dsr(context: &Context<'_>) -> Vec<Diagnostic> {
    let makers: Vec<_> = context
        .cni
        .iter()
        .filter(|cni| cni.is_windows())
        .flat_map(|cni| cni.makers())
        .collect();
    let mut findings = Vec::new();
    for proxy in windows(context) {
        let enabled = proxy.at("winkernel.enableDSR");
        for maker in &makers {
            let loopback = maker
                .get_any_case("loopbackDSR")
                .or_else(|| maker.get("windows_loopback_DSR"))
                .or_else(|| maker.at("optionalFlags.loopbackDSR"));
            let on = |value: &Option<Value<'_>>| {
                value.as_ref().and_then(Value::boolean).unwrap_or(false)
            };
            if on(&enabled) == on(&loopback) {
                continue;
            }
            let said = |value: &Option<Value<'_>>| match value.as_ref().and_then(Value::text) {
                Some(text) => text.to_owned(),
                None => "left out".to_owned(),
            };
            let (Some(here), Some(there)) = (
                enabled
                    .clone()
                    .or_else(|| proxy.get("winkernel"))
                    .or_else(|| proxy.get("mode")),
                loopback.clone().or_else(|| maker.get("type")),
            ) else {
                continue;
            };
            findings.push(
                here.warning(format!("kube-proxy's `enableDSR` is {}, the CNI's `loopbackDSR` is {}", said(&enabled), said(&loopback)))
                    .label_in(there.file(), there.path().clone(), "the CNI")
                    .note("with DSR on one side only, a pod does not reach itself through its own service")
                    .help("set both, or none"),
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
                    .warning(format!("the NodePorts {text} reach into 49152-65535, which Windows gives to outgoing connections"))
                    .note("a NodePort that a connection holds already cannot be opened on that node")
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
                "the mode is `{text}`, Windows has `kernelspace` only"
            ))
            .help("write `mode: kernelspace`")
            .replace("write `kernelspace`", "kernelspace"),
        );
    }
    findings
}
