//! Accounts at the registry and at the proxy.
//!
//! Documents never hold passwords: files with secrets refer to them by name, and the
//! controller sends them to agents on request.
//!
//! containerd has no separate file for accounts, only `registry.configs.*.auth` in its
//! configuration: deprecated, but supported in every release from 1.6 to 2.6. It covers pods
//! without a pull secret and the pause image, which containerd pulls by itself. Docker gets
//! accounts from the kubelet, which has a file for them.

use std::collections::BTreeMap;

use casement_resource::{Resource, SecretFile, SecretName, TextPart, percent_encode};
use casement_spec::{Account, Cluster, Registry, Url};

use crate::containerd::Containerd;
use crate::facts::Inputs;
use crate::kubelet::Kubelet;
use crate::steps::{PlanError, Steps, path};

pub const REGISTRY_PASSWORD: &str = "registry-password";
pub const PROXY_PASSWORD: &str = "proxy-password";

pub(crate) fn registry(cluster: &Cluster) -> Option<(&Registry, &Account)> {
    let images = &cluster.spec.images;
    Some((images.registry.as_ref()?, images.credentials.as_ref()?))
}

pub(crate) fn containerd_text(
    containerd: &Containerd<'_>,
    (registry, account): (&Registry, &Account),
) -> Result<Vec<TextPart>, PlanError> {
    // Docker Hub serves its API under another name.
    let host = match registry.host() {
        "docker.io" => "registry-1.docker.io",
        host => host,
    };
    let plugin = containerd.image_plugin();
    let (host, user) = (quoted(host), quoted(&account.user));
    let mut text = containerd.configuration();
    text.push_str(&format!(
        "\n[plugins.\"{plugin}\".registry.configs.{host}.auth]\nusername = {user}\npassword = "
    ));
    Ok(vec![
        TextPart::Plain(text),
        TextPart::Quoted(REGISTRY_PASSWORD.parse()?),
        TextPart::Plain("\n".to_owned()),
    ])
}

/// The kubelet's account file, which it passes to Docker.
pub(crate) fn docker_accounts(
    steps: &mut Steps,
    kubelet: &Kubelet<'_>,
    inputs: &Inputs,
) -> Result<(), PlanError> {
    let Some((registry, account)) = registry(kubelet.cluster) else {
        return Ok(());
    };
    let (host, user) = (quoted(registry.host()), quoted(&account.user));
    let text = vec![
        TextPart::Plain(format!(
            "{{\"auths\": {{{host}: {{\"username\": {user}, \"password\": "
        )),
        TextPart::Quoted(REGISTRY_PASSWORD.parse()?),
        TextPart::Plain("}}}\n".to_owned()),
    ];
    let file_path = kubelet.paths.in_kubelet(&["config.json"]);
    let id = "registry-account";
    secret_file(steps, id, &["dir-kubelet"], &file_path, text, inputs)
}

/// The environment file of containerd's service, for a proxy with an account.
pub(crate) fn proxy_text(cluster: &Cluster) -> Result<Option<Vec<TextPart>>, PlanError> {
    let proxy = &cluster.spec.proxy;
    let Some(account) = &proxy.credentials else {
        return Ok(None);
    };
    let mut text = Vec::new();
    for (name, url) in [("HTTP_PROXY", &proxy.http), ("HTTPS_PROXY", &proxy.https)] {
        if let Some(url) = url {
            text.extend(with_account(name, url, account)?);
        }
    }
    Ok(Some(text).filter(|text| !text.is_empty()))
}

fn with_account(name: &str, url: &Url, account: &Account) -> Result<[TextPart; 3], PlanError> {
    // URLs of the spec always have a scheme.
    let url = url.to_string();
    let (scheme, rest) = url.split_once("://").unwrap_or(("http", &url));
    let user = percent_encode(&account.user);
    Ok([
        TextPart::Plain(format!("{name}={scheme}://{user}:")),
        TextPart::InUrl(PROXY_PASSWORD.parse()?),
        TextPart::Plain(format!("@{rest}\n")),
    ])
}

pub(crate) fn secret_file(
    steps: &mut Steps,
    id: &str,
    after: &[&str],
    file_path: &str,
    text: Vec<TextPart>,
    inputs: &Inputs,
) -> Result<(), PlanError> {
    let mut file = SecretFile {
        path: path(file_path)?,
        text,
        fingerprints: BTreeMap::new(),
    };
    let known = |name: SecretName| {
        let fingerprint = inputs.fingerprints.get(&name)?.clone();
        Some((name, fingerprint))
    };
    file.fingerprints = file.secrets().into_iter().filter_map(known).collect();
    steps.add(id, after, Resource::SecretFile(file))
}

/// A string in JSON and TOML.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use casement_catalog::CONTAINERD_SERIES;
    use casement_resource::Secret;
    use casement_spec::SecretRef;
    use toml::Table;

    use super::*;

    fn account() -> Account {
        Account {
            user: "a \"b".to_owned(),
            password: SecretRef::Prompt,
        }
    }

    fn rendered(text: Vec<TextPart>, name: &str, value: &str) -> Secret {
        let file = SecretFile {
            path: "/x".parse().unwrap(),
            text,
            fingerprints: BTreeMap::new(),
        };
        let value = Secret::new(value.to_owned());
        let secrets = BTreeMap::from([(name.parse().unwrap(), value)]);
        file.render(&secrets).unwrap()
    }

    #[test]
    fn every_containerd_series_finds_the_account() {
        let registry: Registry = "198.18.0.10:5000/mirror".parse().unwrap();
        for series in CONTAINERD_SERIES {
            let containerd = Containerd {
                series,
                folder: r"C:\k\containerd",
                separator: '\\',
                pause: "pause:3.10".to_owned(),
                cni_programs: r"C:\opt\cni\bin",
                cni_configuration: r"C:\etc\cni\net.d",
                systemd_cgroups: false,
                data: None,
            };
            let text = containerd_text(&containerd, (&registry, &account())).unwrap();
            let text = rendered(text, REGISTRY_PASSWORD, "p\"\\\u{e4}");
            let read: Table = text.expose().parse().unwrap();
            let plugin = if series.config_version < 3 {
                "io.containerd.grpc.v1.cri"
            } else {
                "io.containerd.cri.v1.images"
            };
            let registry = &read["plugins"][plugin]["registry"];
            assert!(registry["config_path"].is_str());
            let auth = &registry["configs"]["198.18.0.10:5000"]["auth"];
            assert_eq!(auth["username"].as_str(), Some("a \"b"));
            assert_eq!(auth["password"].as_str(), Some("p\"\\\u{e4}"));
        }
    }

    #[test]
    fn the_proxy_url_contains_the_account() {
        let url = "http://10.3.0.9:3128".parse().unwrap();
        let text = with_account("HTTP_PROXY", &url, &account()).unwrap();
        let text = rendered(text.to_vec(), PROXY_PASSWORD, "p@ss:/w");
        assert_eq!(
            text.expose(),
            "HTTP_PROXY=http://a%20%22b:p%40ss%3A%2Fw@10.3.0.9:3128\n"
        );
    }
}
