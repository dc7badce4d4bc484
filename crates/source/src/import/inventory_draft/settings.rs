//! Writes the settings of Kubernetes, the runtime and the proxy.

use casement_spec::{Cidr, DomainName, Endpoint, KubernetesVersion, ProgramVersion, Url};

use super::variables::{SourcedValue, Variables};
use crate::import::ansible::Value;
use crate::import::draft::{DEFAULT_VERSION, Notes};
use crate::import::yaml_writer::YamlWriter;

/// The setting if it is a valid `T`; otherwise it is reported.
pub(super) fn parsed_as<T: std::str::FromStr>(
    setting: Option<SourcedValue>,
    variables: &mut Variables<'_>,
) -> Option<SourcedValue>
where
    T::Err: std::fmt::Display,
{
    let setting = setting?;
    match setting.value.parse::<T>() {
        Ok(_) => Some(setting),
        Err(error) => {
            variables.unusable(setting.name, &setting.location, &error.to_string());
            None
        }
    }
}

pub(super) fn kubernetes(yaml: &mut YamlWriter, variables: &mut Variables<'_>, notes: &mut Notes) {
    yaml.open("kubernetes", "");
    let version = variables.cluster(&["kube_version"], notes);
    match parsed_as::<KubernetesVersion>(version, variables) {
        Some(setting) => {
            let version = setting.value.trim_start_matches('v').to_owned();
            yaml.text("version", &version, &setting.origin());
        }
        None => {
            notes.assumed(format!(
                "the inventory has no Kubernetes version: set to {DEFAULT_VERSION}"
            ));
            yaml.text(
                "version",
                DEFAULT_VERSION,
                "not in the inventory; must not be newer than the cluster",
            );
        }
    }
    let networks = [
        (
            "podCidr",
            ["kubernetes_pod_network_cidr", "kube_pods_subnet"],
        ),
        (
            "serviceCidr",
            ["kubernetes_service_cidr", "kube_service_addresses"],
        ),
    ];
    for (field, names) in networks {
        let setting = variables.cluster(&names, notes);
        match parsed_as::<Cidr>(setting, variables) {
            Some(setting) => yaml.text(field, &setting.value, &setting.origin()),
            None => notes.assumed(format!(
                "the inventory has no `{field}`: the default of casement applies"
            )),
        }
    }
    let domain = variables.cluster(
        &["kubernetes_cluster_domain", "dns_domain", "cluster_name"],
        notes,
    );
    if let Some(setting) = parsed_as::<DomainName>(domain, variables) {
        yaml.text("clusterDomain", &setting.value, &setting.origin());
    }
    let dns = variables.cluster(&["kubernetes_cluster_dns", "skydns_server"], notes);
    if let Some(setting) = parsed_as::<std::net::IpAddr>(dns, variables) {
        yaml.text("dnsIp", &setting.value, &setting.origin());
    }
    endpoint(yaml, variables, notes);
    yaml.close();
}

/// The load balancer of the API servers.
fn endpoint(yaml: &mut YamlWriter, variables: &mut Variables<'_>, notes: &mut Notes) {
    let Some(host) = variables.inventory.hosts().first() else {
        return;
    };
    let Some(variable) = variables.variable(host, "loadbalancer_apiserver") else {
        return;
    };
    let location = variable.location.clone();
    let field = |name: &str| match &variable.value {
        Value::Map(pairs) => pairs
            .iter()
            .find(|(key, _)| key == name)
            .and_then(|(_, value)| value.scalar()),
        _ => None,
    };
    let port = field("port").unwrap_or_else(|| "6443".to_owned());
    let endpoint = field("address").map(|address| format!("{address}:{port}"));
    match endpoint.filter(|endpoint| endpoint.parse::<Endpoint>().is_ok()) {
        Some(endpoint) => yaml.text(
            "endpoint",
            &endpoint,
            &format!("loadbalancer_apiserver at {location}"),
        ),
        None => notes.not_imported(
            Some(&location),
            "`loadbalancer_apiserver`: it has no valid address",
        ),
    }
}

pub(super) fn runtime(yaml: &mut YamlWriter, variables: &mut Variables<'_>, notes: &mut Notes) {
    let manager = variables.cluster(&["container_manager"], notes);
    let docker = variables.cluster(&["win_docker_version", "docker_version"], notes);
    let containerd = variables.cluster(&["containerd_version"], notes);
    let (kind, origin, version) = match manager {
        Some(setting) if setting.value == "docker" => ("docker", setting.origin(), docker),
        Some(setting) if setting.value == "containerd" => {
            ("containerd", setting.origin(), containerd)
        }
        Some(setting) => {
            let text = format!(
                "`container_manager`: `{}` does not support Windows nodes; use containerd or Docker",
                setting.value
            );
            notes.not_imported(Some(&setting.location), text);
            return;
        }
        None => match (docker, containerd) {
            (Some(docker), _) => ("docker", docker.origin(), Some(docker)),
            (None, Some(containerd)) => ("containerd", containerd.origin(), Some(containerd)),
            (None, None) => return,
        },
    };
    yaml.blank();
    yaml.open("runtime", "");
    yaml.text("kind", kind, &origin);
    if let Some(setting) = parsed_as::<ProgramVersion>(version, variables) {
        yaml.text("version", &setting.value, &setting.origin());
    }
    yaml.close();
}

pub(super) fn proxy(yaml: &mut YamlWriter, variables: &mut Variables<'_>, notes: &mut Notes) {
    let mut fields = Vec::new();
    for (field, names) in [("http", ["http_proxy"]), ("https", ["https_proxy"])] {
        let setting = variables.cluster(&names, notes);
        if setting
            .as_ref()
            .is_some_and(|setting| setting.value.contains('@'))
        {
            if let Some(setting) = setting {
                variables.unusable(
                    setting.name,
                    &setting.location,
                    "it contains a password; set `proxy.credentials` instead",
                );
            }
            continue;
        }
        if let Some(setting) = parsed_as::<Url>(setting, variables) {
            fields.push((field, setting));
        }
    }
    let no = variables.cluster(&["no_proxy"], notes);
    if fields.is_empty() && no.is_none() {
        return;
    }
    yaml.blank();
    yaml.open("proxy", "");
    for (field, setting) in fields {
        yaml.text(field, &setting.value, &setting.origin());
    }
    if let Some(setting) = no {
        let items = setting.value.split(',').map(|item| item.trim().to_owned());
        let items: Vec<_> = items.filter(|item| !item.is_empty()).collect();
        yaml.list("no", &items, &setting.origin());
    }
    yaml.close();
}
