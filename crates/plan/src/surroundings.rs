//! What a host's own programs and rules need around them: open ports, what
//! Defender leaves alone, and the way out.

use std::collections::BTreeMap;

use casement_resource::{DefenderExclusion, Exclusion, FirewallRule, Protocol};
use casement_spec::{Backend, Cluster, DefenderPolicy, Host, NetworkAgent, WindowsComponents};

use crate::places::Places;
use crate::release::{Release, Runtime};

/// What may come in.
pub fn firewall(cluster: &Cluster) -> Vec<FirewallRule> {
    let rule = |name: &str, protocol: Protocol, port: u16| FirewallRule {
        name: name.to_owned(),
        protocol,
        port,
    };
    let kubelet = rule("casement kubelet", Protocol::Tcp, 10250);
    let vxlan = cluster.spec.network.backend.vxlan();
    let vxlan = vxlan.map(|vxlan| rule("casement vxlan", Protocol::Udp, vxlan.port));
    std::iter::once(kubelet).chain(vxlan).collect()
}

/// What Defender leaves alone; empty where its settings are kept.
pub fn defender(
    cluster: &Cluster,
    host: &Host,
    release: Release,
    places: &Places,
) -> Vec<DefenderExclusion> {
    let policy = cluster.spec.windows.defender;
    if !host.os.is_windows() || policy == DefenderPolicy::Keep {
        return Vec::new();
    }
    let containerd = |name: &str| places.below(&places.containerd, &[name]);
    let mut folders = vec![places.programs.clone(), places.kubelet.to_owned()];
    let mut programs = vec![places.program("kubelet")];
    if cluster.spec.windows.components == WindowsComponents::Services {
        programs.push(places.program("kube-proxy"));
        programs.extend(daemon(cluster).map(|name| places.program(name)));
    }
    if matches!(release.runtime(), Runtime::Containerd(_)) {
        folders.push(places.containerd_data.to_owned());
        programs.push(containerd("containerd.exe"));
        programs.push(containerd("containerd-shim-runhcs-v1.exe"));
    }
    let folders = folders.into_iter().map(Exclusion::Path);
    let programs = programs.into_iter().map(Exclusion::Process);
    folders
        .chain(programs)
        .map(|exclusion| DefenderExclusion { exclusion })
        .collect()
}

/// The program that keeps flannel's contract on a Windows host.
pub fn daemon(cluster: &Cluster) -> Option<&'static str> {
    match cluster.spec.network.backend {
        Backend::FlannelOverlay { agent, .. } | Backend::FlannelHostGw { agent } => {
            Some(match agent {
                NetworkAgent::Flannel => "flanneld",
                NetworkAgent::Casement => "casement-overlay",
            })
        }
        Backend::L3Routes | Backend::CalicoVxlan { .. } => None,
    }
}

/// The variables of programs that reach the outside: services read them at each
/// start, while machine-wide ones need a reboot to reach a service.
pub fn proxy(cluster: &Cluster) -> BTreeMap<String, String> {
    let proxy = &cluster.spec.proxy;
    let given = [("HTTP_PROXY", &proxy.http), ("HTTPS_PROXY", &proxy.https)];
    let given = given.into_iter().filter_map(|(name, url)| {
        let url = url.as_ref()?.to_string();
        Some((name.to_owned(), url))
    });
    let mut variables: BTreeMap<String, String> = given.collect();
    if variables.is_empty() {
        return variables;
    }
    if proxy.credentials.is_some() {
        // They are in a file of their own, with the account in them.
        variables.clear();
    }
    variables.insert("NO_PROXY".to_owned(), without_proxy(cluster).join(","));
    variables
}

/// The cluster's own networks, its API server and its hosts, and what the spec
/// adds.
fn without_proxy(cluster: &Cluster) -> Vec<String> {
    let spec = &cluster.spec;
    let kubernetes = &spec.kubernetes;
    let mut places = vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
    places.extend([".svc".to_owned(), format!(".{}", kubernetes.domain())]);
    places.extend(kubernetes.pod_cidr.iter().map(|net| net.to_string()));
    places.extend(kubernetes.service_cidr.iter().map(|net| net.to_string()));
    places.extend(kubernetes.endpoint.iter().map(|end| end.host.to_string()));
    places.extend(spec.hosts.iter().map(|host| host.address.to_string()));
    places.extend(spec.proxy.no.iter().map(ToString::to_string));
    let mut seen = std::collections::BTreeSet::new();
    places.retain(|place| seen.insert(place.clone()));
    places
}
