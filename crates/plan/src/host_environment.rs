//! What a host's own programs and rules need around them: open ports, what
//! Defender leaves alone, and the way out.

use std::collections::BTreeMap;
use std::net::IpAddr;

use casement_resource::wire::PullProxy;
use casement_resource::{
    DefenderExclusion, Exclusion, FirewallRule, Protocol, Secret, WebAddress, in_url,
};
use casement_spec::{Backend, Cluster, DefenderPolicy, Host, NetworkAgent, WindowsComponents};
use ipnet::IpNet;

use crate::accounts::PROXY_PASSWORD;
use crate::facts::Inputs;
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

/// Through which proxy hosts fetch what is at an address: the spec's, where it has
/// any, and what it excepts not at all.
pub fn pull_proxy(cluster: &Cluster, inputs: &Inputs, url: &str) -> PullProxy {
    let proxy = &cluster.spec.proxy;
    let address = url.parse::<WebAddress>().ok();
    let given = proxy.http.is_some() || proxy.https.is_some();
    let Some(address) = address.filter(|_| given) else {
        return PullProxy::HostsOwn;
    };
    let given = match address.secure {
        true => &proxy.https,
        false => &proxy.http,
    };
    let excepted = without_proxy(cluster);
    let excepted = excepted.iter().any(|place| covers(place, &address.host));
    let Some(given) = given.as_ref().filter(|_| !excepted) else {
        return PullProxy::Direct;
    };
    let given = given.to_string();
    let mut secrets = inputs.secrets.iter();
    let password = secrets.find(|(name, _)| name.as_str() == PROXY_PASSWORD);
    let account = proxy.credentials.as_ref().zip(password);
    PullProxy::At(Secret::new(match (account, given.split_once("://")) {
        (Some((account, (_, password))), Some((scheme, rest))) => {
            let (user, password) = (in_url(&account.user), in_url(password.expose()));
            format!("{scheme}://{user}:{password}@{rest}")
        }
        _ => given,
    }))
}

/// Whether an exception from a proxy (a name, a domain, an address or a network) is
/// one for this host, as programs of Kubernetes read it.
fn covers(place: &str, host: &str) -> bool {
    let host = host.trim_matches(['[', ']']).to_ascii_lowercase();
    let place = place.to_ascii_lowercase();
    if let Ok(address) = host.parse::<IpAddr>() {
        let network = place.parse::<IpNet>();
        return place.parse() == Ok(address) || network.is_ok_and(|it| it.contains(&address));
    }
    let domain = place.trim_start_matches('.');
    let below = host.strip_suffix(domain);
    below.is_some_and(|rest| match rest {
        "" => domain == place,
        rest => rest.ends_with('.'),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exception_covers_names_domains_and_networks() {
        for (place, host, wanted) in [
            ("mirror.example", "Mirror.Example", true),
            (".shop.example", "mirror.shop.example", true),
            (".shop.example", "shop.example", false),
            ("shop.example", "mirror.shop.example", true),
            ("shop.example", "workshop.example", false),
            ("10.3.0.0/16", "10.3.0.9", true),
            ("10.3.0.0/16", "10.4.0.9", false),
            ("10.3.0.9", "10.3.0.9", true),
            ("fd00::/8", "[fd00::9]", true),
            ("10.3.0.0/16", "mirror", false),
        ] {
            assert_eq!(covers(place, host), wanted, "{place} and {host}");
        }
    }

    #[test]
    fn hosts_fetch_through_the_spec_s_proxy_where_there_is_one() {
        let read = |proxy: &str| {
            let spec = format!(
                "apiVersion: casement.dev/v1alpha1
kind: Cluster
metadata: {{name: shop}}
spec:
  kubernetes: {{version: 1.36.3, podCidr: 10.244.0.0/16, serviceCidr: 10.96.0.0/16}}
  existing: {{kubeconfig: ./admin.conf}}
  network: {{mode: l3-routes}}
  proxy: {proxy}
  hosts:
    - {{name: win1, address: 198.18.0.11, os: windows-2022, roles: [worker]}}
  access:
    ssh: {{user: Administrator, key: ./id_ed25519, knownHosts: ./known_hosts}}
"
            );
            casement_source::load("cluster.yaml", &spec)
                .cluster
                .unwrap()
        };
        let secret = |text: &str| Secret::new(text.to_owned());
        let mut inputs = Inputs::default();
        let none = read("{}");
        assert_eq!(
            pull_proxy(&none, &inputs, "http://m/x"),
            PullProxy::HostsOwn
        );
        let with = read(
            "{http: 'http://p:3128', no: [.in.example], credentials: {user: anna, password: {env: P}}}",
        );
        inputs.give(&with, PROXY_PASSWORD.parse().unwrap(), secret("p:w"));
        for (url, wanted) in [
            (
                "http://m/x",
                PullProxy::At(secret("http://anna:p%3Aw@p:3128")),
            ),
            ("https://m/x", PullProxy::Direct),
            ("http://m.in.example/x", PullProxy::Direct),
            ("http://198.18.0.11/x", PullProxy::Direct),
        ] {
            assert_eq!(pull_proxy(&with, &inputs, url), wanted, "{url}");
        }
    }
}
