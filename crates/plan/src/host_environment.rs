//! The environment of a host's programs: firewall rules, Defender exclusions, proxy settings.

use std::collections::BTreeMap;
use std::net::IpAddr;

use casement_resource::wire::PullProxy;
use casement_resource::{
    DefenderExclusion, Exclusion, FirewallRule, Protocol, Secret, WebAddress, percent_encode,
};
use casement_spec::{Cluster, DefenderPolicy, Host, WindowsComponents};
use ipnet::IpNet;

use crate::accounts::PROXY_PASSWORD;
use crate::facts::Inputs;
use crate::modes;
use crate::node_paths::NodePaths;
use crate::release::{Release, Runtime};

/// Inbound rules.
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

/// Empty with `defender: keep`.
pub fn defender(
    cluster: &Cluster,
    host: &Host,
    release: Release,
    paths: &NodePaths,
) -> Vec<DefenderExclusion> {
    let policy = cluster.spec.windows.defender;
    if !host.os.is_windows() || policy == DefenderPolicy::Keep {
        return Vec::new();
    }
    let containerd = |name: &str| paths.below(&paths.containerd, &[name]);
    let mut folders = vec![paths.programs.clone(), paths.kubelet.to_owned()];
    let mut programs = vec![paths.program("kubelet")];
    if cluster.spec.windows.components == WindowsComponents::Services {
        programs.push(paths.program("kube-proxy"));
        programs.extend(daemon(cluster).map(|name| paths.program(name)));
    }
    if matches!(release.runtime(), Runtime::Containerd(_)) {
        folders.push(paths.containerd_data.to_owned());
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

/// The network daemon of a Windows host.
pub fn daemon(cluster: &Cluster) -> Option<&'static str> {
    modes::of(cluster).daemon()
}

/// Proxy variables of services, which read them at each start. Machine-wide variables would
/// need a reboot to reach services.
pub fn proxy(cluster: &Cluster) -> BTreeMap<String, String> {
    let proxy = &cluster.spec.proxy;
    let configured = [("HTTP_PROXY", &proxy.http), ("HTTPS_PROXY", &proxy.https)];
    let configured = configured.into_iter().filter_map(|(name, url)| {
        let url = url.as_ref()?.to_string();
        Some((name.to_owned(), url))
    });
    let mut variables: BTreeMap<String, String> = configured.collect();
    if variables.is_empty() {
        return variables;
    }
    if proxy.credentials.is_some() {
        // They contain the account, so they are in a file that only SYSTEM can read.
        variables.clear();
    }
    variables.insert("NO_PROXY".to_owned(), no_proxy(cluster).join(","));
    variables
}

/// `NO_PROXY`: the cluster's networks, its API server, its hosts, and the entries of the
/// spec.
fn no_proxy(cluster: &Cluster) -> Vec<String> {
    let spec = &cluster.spec;
    let kubernetes = &spec.kubernetes;
    let mut entries = vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
    entries.extend([".svc".to_owned(), format!(".{}", kubernetes.domain())]);
    entries.extend(kubernetes.pod_cidr.iter().map(|net| net.to_string()));
    entries.extend(kubernetes.service_cidr.iter().map(|net| net.to_string()));
    entries.extend(kubernetes.endpoint.iter().map(|end| end.host.to_string()));
    entries.extend(spec.hosts.iter().map(|host| host.address.to_string()));
    entries.extend(spec.proxy.no.iter().map(ToString::to_string));
    let mut seen = std::collections::BTreeSet::new();
    entries.retain(|entry| seen.insert(entry.clone()));
    entries
}

/// The proxy through which hosts pull from a URL.
pub fn pull_proxy(cluster: &Cluster, inputs: &Inputs, url: &str) -> PullProxy {
    let proxy = &cluster.spec.proxy;
    let address = url.parse::<WebAddress>().ok();
    let configured = proxy.http.is_some() || proxy.https.is_some();
    let Some(address) = address.filter(|_| configured) else {
        return PullProxy::HostDefault;
    };
    let url = match address.secure {
        true => &proxy.https,
        false => &proxy.http,
    };
    let exempt = no_proxy(cluster);
    let exempt = exempt.iter().any(|entry| covers(entry, &address.host));
    let Some(url) = url.as_ref().filter(|_| !exempt) else {
        return PullProxy::Direct;
    };
    let url = url.to_string();
    let mut secrets = inputs.secrets.iter();
    let password = secrets.find(|(name, _)| name.as_str() == PROXY_PASSWORD);
    let account = proxy.credentials.as_ref().zip(password);
    PullProxy::At(Secret::new(match (account, url.split_once("://")) {
        (Some((account, (_, password))), Some((scheme, rest))) => {
            let (user, password) = (
                percent_encode(&account.user),
                percent_encode(password.expose()),
            );
            format!("{scheme}://{user}:{password}@{rest}")
        }
        _ => url,
    }))
}

/// Whether a `NO_PROXY` entry (a name, domain, address or network) matches a host, with the
/// rules of Go's net/http.
fn covers(entry: &str, host: &str) -> bool {
    let host = host.trim_matches(['[', ']']).to_ascii_lowercase();
    let entry = entry.to_ascii_lowercase();
    if let Ok(address) = host.parse::<IpAddr>() {
        let network = entry.parse::<IpNet>();
        return entry.parse() == Ok(address) || network.is_ok_and(|it| it.contains(&address));
    }
    let domain = entry.trim_start_matches('.');
    let below = host.strip_suffix(domain);
    below.is_some_and(|rest| match rest {
        "" => domain == entry,
        rest => rest.ends_with('.'),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_proxy_entries_match_names_domains_and_networks() {
        for (entry, host, expected) in [
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
            assert_eq!(covers(entry, host), expected, "{entry} and {host}");
        }
    }

    #[test]
    fn hosts_pull_through_the_proxy_of_the_spec() {
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
            PullProxy::HostDefault
        );
        let with = read(
            "{http: 'http://p:3128', no: [.in.example], credentials: {user: anna, password: {env: P}}}",
        );
        inputs.add_secret(&with, PROXY_PASSWORD.parse().unwrap(), secret("p:w"));
        for (url, expected) in [
            (
                "http://m/x",
                PullProxy::At(secret("http://anna:p%3Aw@p:3128")),
            ),
            ("https://m/x", PullProxy::Direct),
            ("http://m.in.example/x", PullProxy::Direct),
            ("http://198.18.0.11/x", PullProxy::Direct),
        ] {
            assert_eq!(pull_proxy(&with, &inputs, url), expected, "{url}");
        }
    }
}
