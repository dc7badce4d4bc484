//! Settings that must be the same in several files.

use casement_diag::{Diagnostic, Source};
use casement_source::foreign::Value;
use ipnet::IpNet;

use crate::context::{Context, networks, same_networks};
use crate::rule::{Rule, rule};
use crate::statement::{Statement, disagreements};

pub(crate) const RULES: &[Rule] = &[
    rule!("CAS-NET-010", Error, Files, "L001", overlap),
    rule!("CAS-NET-012", Error, Files, "L004", unaligned),
    rule!("CAS-NET-013", Error, FilesFirst, "L005", pods),
    rule!("CAS-NET-014", Error, FilesFirst, "L005, L027", services),
    rule!("CAS-NET-015", Error, FilesFirst, "L027", dns),
    rule!("CAS-NET-016", Error, FilesFirst, "L027", domain),
    rule!(
        "CAS-NET-024",
        Error,
        FilesFirst,
        "L014, K2, I8",
        hns_network
    ),
    rule!("CAS-NET-026", Error, Files, "K5", mac_prefix),
];

fn overlap(context: &Context<'_>) -> Vec<Diagnostic> {
    let mut findings = Vec::new();
    let in_files = |statement: &Statement| {
        context
            .spec
            .is_none_or(|spec| spec.map.name() != statement.file)
    };
    let pods: Vec<_> = context
        .pod_networks()
        .into_iter()
        .filter(in_files)
        .collect();
    let services: Vec<_> = context
        .service_networks()
        .into_iter()
        .filter(in_files)
        .collect();
    let mut seen = Vec::new();
    for pod in &pods {
        for service in &services {
            let pair = (pod.value.clone(), service.value.clone());
            if seen.contains(&pair) || !overlaps(&pod.value, &service.value) {
                continue;
            }
            seen.push(pair);
            let message = format!(
                "the pod and service networks overlap: {} is {}, {} is {}",
                pod.subject, pod.value, service.subject, service.value
            );
            findings.push(
                Diagnostic::error(pod.path.clone(), message)
                    .in_file(pod.file.as_str())
                    .label_in(
                        service.file.as_str(),
                        service.path.clone(),
                        "overlaps with this",
                    )
                    .note("packets to services would be routed to pods")
                    .help("use a separate network for services, such as 10.96.0.0/12"),
            );
        }
    }
    findings
}

fn overlaps(one: &str, other: &str) -> bool {
    let others = networks(other);
    let touch = |a: &IpNet, b: &IpNet| a.contains(&b.network()) || b.contains(&a.network());
    networks(one)
        .iter()
        .any(|a| others.iter().any(|b| touch(a, b)))
}

fn unaligned(context: &Context<'_>) -> Vec<Diagnostic> {
    let mut values: Vec<Value<'_>> = Vec::new();
    values.extend(
        context
            .net_confs
            .iter()
            .filter_map(|conf| conf.get_any_case("Network")),
    );
    values.extend(
        context
            .proxies
            .iter()
            .filter_map(|proxy| proxy.get("clusterCIDR")),
    );
    for document in context.kubeadm_kind("ClusterConfiguration") {
        values.extend(
            ["networking.podSubnet", "networking.serviceSubnet"]
                .iter()
                .filter_map(|path| document.at(path)),
        );
    }
    for cni in &context.cni {
        values.extend(
            cni.endpoint_plugins()
                .iter()
                .filter_map(|plugin| plugin.at("ipam.subnet")),
        );
    }
    let mut findings = Vec::new();
    for value in values {
        let Some(text) = value.text() else { continue };
        let Ok(network) = text.parse::<IpNet>() else {
            continue;
        };
        let better = network.trunc().to_string();
        if network.trunc() == network {
            continue;
        }
        findings.push(
            value
                .error(format!(
                    "`{text}` has host bits set, the network is {better}"
                ))
                .note("HNS rejects it as invalid, without further details")
                .help(format!("did you mean `{better}`?"))
                .replace(format!("use `{better}`"), format!("\"{better}\"")),
        );
    }
    findings
}

fn pods(context: &Context<'_>) -> Vec<Diagnostic> {
    let why =
        "packets to pods that are in only one of the networks are routed wrongly or translated";
    disagreements(&context.pod_networks(), "pod networks", why, same_networks)
}

fn services(context: &Context<'_>) -> Vec<Diagnostic> {
    let mut statements = context.service_networks();
    for policy in context
        .cni
        .iter()
        .filter(|cni| cni.is_windows())
        .flat_map(|cni| cni.policies())
    {
        let route = policy
            .is(&["SDNRoute", "ROUTE"])
            .then(|| policy.setting("DestinationPrefix"));
        let Some(prefix) = route.flatten() else {
            continue;
        };
        // A /32 route is for the node, not for services.
        if prefix.text().is_some_and(|text| !text.ends_with("/32")) {
            statements.extend(Statement::new("the CNI's route", &prefix));
        }
    }
    let why = "Windows pods reach services only through an encapsulated route to their network";
    disagreements(&statements, "service networks", why, same_networks)
}

fn dns(context: &Context<'_>) -> Vec<Diagnostic> {
    let mut statements = Vec::new();
    statements.extend(context.spec_dns());
    for kubelet in &context.kubelets {
        let first = kubelet
            .get("clusterDNS")
            .and_then(|list| list.items().into_iter().next());
        statements
            .extend(first.and_then(|value| Statement::new("the kubelet's `clusterDNS`", &value)));
    }
    for plugin in context
        .cni
        .iter()
        .filter(|cni| cni.is_windows())
        .flat_map(|cni| cni.endpoint_plugins())
    {
        let servers = plugin
            .get_any_case("dns")
            .and_then(|dns| dns.get_any_case("nameservers"));
        let first = servers.and_then(|list| list.items().into_iter().next());
        statements
            .extend(first.and_then(|value| Statement::new("the CNI's `nameservers`", &value)));
    }
    let why = "Windows pods use the DNS server in the CNI configuration, other pods the one in the kubelet configuration";
    disagreements(&statements, "DNS servers", why, |one, other| one == other)
}

fn domain(context: &Context<'_>) -> Vec<Diagnostic> {
    let mut statements = Vec::new();
    statements.extend(context.spec_domain());
    for document in context.kubeadm_kind("ClusterConfiguration") {
        let value = document.at("networking.dnsDomain");
        statements.extend(value.and_then(|value| Statement::new("kubeadm's `dnsDomain`", &value)));
    }
    for kubelet in &context.kubelets {
        let value = kubelet.get("clusterDomain");
        statements.extend(
            value.and_then(|value| Statement::new("the kubelet's `clusterDomain`", &value)),
        );
    }
    for plugin in context
        .cni
        .iter()
        .filter(|cni| cni.is_windows())
        .flat_map(|cni| cni.endpoint_plugins())
    {
        let search = plugin
            .get_any_case("dns")
            .and_then(|dns| dns.get_any_case("search"));
        for value in search.map(|list| list.items()).unwrap_or_default() {
            let Some(domain) = value.text().and_then(|text| text.strip_prefix("svc.")) else {
                continue;
            };
            statements.push(Statement::derived("the CNI's `search`", &value, domain));
        }
    }
    let why = "service names are looked up in the wrong domain";
    disagreements(&statements, "cluster domains", why, |one, other| {
        one == other
    })
}

fn hns_network(context: &Context<'_>) -> Vec<Diagnostic> {
    let mut statements = Vec::new();
    statements.extend(context.spec_hns_network());
    for conf in context.net_confs.iter().filter(|_| context.has_windows()) {
        statements.extend(flannel_network(conf));
    }
    let lists = context.cni.iter().filter(|cni| cni.is_windows());
    for cni in lists.filter(|cni| !cni.is_nat()) {
        let name = cni.document.get("name");
        statements.extend(name.and_then(|name| Statement::new("the CNI's `name`", &name)));
    }
    for proxy in &context.proxies {
        let name = proxy.at("winkernel.networkName");
        statements
            .extend(name.and_then(|name| Statement::new("kube-proxy's `networkName`", &name)));
    }
    let why = "flannel creates the HNS network; the CNI plugin and kube-proxy look it up by name";
    disagreements(&statements, "HNS networks", why, |one, other| one == other)
}

/// The name of flannel's HNS network on Windows.
fn flannel_network(conf: &Value<'_>) -> Option<Statement> {
    let backend = conf.get_any_case("Backend")?;
    if let Some(name) = backend.get_any_case("Name") {
        return Statement::new("flannel's `Name`", &name);
    }
    let kind = backend.get_any_case("Type")?;
    match kind.text()?.to_ascii_lowercase().as_str() {
        "host-gw" => Some(Statement::derived("flannel's network", &kind, "cbr0")),
        "vxlan" => {
            let vni = backend.get_any_case("VNI");
            let number = vni.as_ref().and_then(Value::text).unwrap_or("4096");
            let location = vni.as_ref().unwrap_or(&kind);
            Some(Statement::derived(
                "flannel's network",
                location,
                &format!("flannel.{number}"),
            ))
        }
        _ => None,
    }
}

fn mac_prefix(context: &Context<'_>) -> Vec<Diagnostic> {
    let mut values: Vec<Value<'_>> = Vec::new();
    let backends = context
        .net_confs
        .iter()
        .filter_map(|conf| conf.get_any_case("Backend"));
    values.extend(backends.filter_map(|backend| backend.get_any_case("MacPrefix")));
    for plugin in context.cni.iter().flat_map(|cni| cni.endpoint_plugins()) {
        let names = ["endpointMacPrefix", "vxlan_mac_prefix"].into_iter();
        values.extend(names.filter_map(|name| plugin.get(name)));
    }
    let mut findings = Vec::new();
    let mut statements = Vec::new();
    for value in values {
        let text = value.text().unwrap_or_default();
        let bytes: Vec<_> = text.split('-').collect();
        let is_byte = |byte: &&str| byte.len() == 2 && byte.chars().all(|c| c.is_ascii_hexdigit());
        if bytes.len() == 2 && bytes.iter().all(is_byte) {
            statements.extend(Statement::new("a MAC prefix", &value));
            continue;
        }
        findings.push(
            value
                .error(format!(
                    "the MAC prefix `{text}` is not valid, it must be two bytes such as `0E-2A`"
                ))
                .help("use `0E-2A`, or remove it: this is the default")
                .replace("use `0E-2A`", "\"0E-2A\""),
        );
    }
    let why = "the MAC address of a pod consists of the prefix and its IP address, and all components must derive the same one";
    findings.extend(disagreements(
        &statements,
        "MAC prefixes",
        why,
        |one, other| one.eq_ignore_ascii_case(other),
    ));
    findings
}
