//! Kubernetes itself, the runtime, the proxy.

use casement_spec::{Cidr, DomainName, Endpoint, KubernetesVersion, ProgramVersion, Url};

use super::known::{Known, Said};
use crate::import::ansible::Value;
use crate::import::draft::{Notes, VERSION};
use crate::import::sheet::Sheet;

/// A value that its field takes; what it does not take is listed.
pub(super) fn fitting<T: std::str::FromStr>(
    said: Option<Said>,
    known: &mut Known<'_>,
) -> Option<Said>
where
    T::Err: std::fmt::Display,
{
    let said = said?;
    match said.value.parse::<T>() {
        Ok(_) => Some(said),
        Err(error) => {
            known.unusable(said.name, &said.place, &error.to_string());
            None
        }
    }
}

pub(super) fn kubernetes(sheet: &mut Sheet, known: &mut Known<'_>, notes: &mut Notes) {
    sheet.open("kubernetes", "");
    let version = known.cluster(&["kube_version"], notes);
    match fitting::<KubernetesVersion>(version, known) {
        Some(said) => {
            let version = said.value.trim_start_matches('v').to_owned();
            sheet.text("version", &version, &said.origin());
        }
        None => {
            notes.assumed(format!(
                "the inventory names no version of Kubernetes: {VERSION} is written"
            ));
            sheet.text(
                "version",
                VERSION,
                "not in the inventory; no newer than the cluster",
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
        let said = known.cluster(&names, notes);
        match fitting::<Cidr>(said, known) {
            Some(said) => sheet.text(field, &said.value, &said.origin()),
            None => notes.assumed(format!(
                "the inventory names no `{field}`: casement's default stands"
            )),
        }
    }
    let domain = known.cluster(
        &["kubernetes_cluster_domain", "dns_domain", "cluster_name"],
        notes,
    );
    if let Some(said) = fitting::<DomainName>(domain, known) {
        sheet.text("clusterDomain", &said.value, &said.origin());
    }
    let dns = known.cluster(&["kubernetes_cluster_dns", "skydns_server"], notes);
    if let Some(said) = fitting::<std::net::IpAddr>(dns, known) {
        sheet.text("dnsIp", &said.value, &said.origin());
    }
    endpoint(sheet, known, notes);
    sheet.close();
}

/// A load balancer before the API servers.
fn endpoint(sheet: &mut Sheet, known: &mut Known<'_>, notes: &mut Notes) {
    let Some(host) = known.inventory.hosts().first() else {
        return;
    };
    let Some(variable) = known.variable(host, "loadbalancer_apiserver") else {
        return;
    };
    let place = variable.place.clone();
    let field = |name: &str| match &variable.value {
        Value::Map(pairs) => pairs
            .iter()
            .find(|(key, _)| key == name)
            .and_then(|(_, value)| value.word()),
        _ => None,
    };
    let port = field("port").unwrap_or_else(|| "6443".to_owned());
    let endpoint = field("address").map(|address| format!("{address}:{port}"));
    match endpoint.filter(|endpoint| endpoint.parse::<Endpoint>().is_ok()) {
        Some(endpoint) => sheet.text(
            "endpoint",
            &endpoint,
            &format!("loadbalancer_apiserver at {place}"),
        ),
        None => notes.not_carried(
            Some(&place),
            "`loadbalancer_apiserver`: it names no address",
        ),
    }
}

pub(super) fn runtime(sheet: &mut Sheet, known: &mut Known<'_>, notes: &mut Notes) {
    let manager = known.cluster(&["container_manager"], notes);
    let docker = known.cluster(&["win_docker_version", "docker_version"], notes);
    let containerd = known.cluster(&["containerd_version"], notes);
    let (kind, origin, version) = match manager {
        Some(said) if said.value == "docker" => ("docker", said.origin(), docker),
        Some(said) if said.value == "containerd" => ("containerd", said.origin(), containerd),
        Some(said) => {
            let text = format!(
                "`container_manager`: Windows nodes run containerd or Docker, not `{}`",
                said.value
            );
            notes.not_carried(Some(&said.place), text);
            return;
        }
        None => match (docker, containerd) {
            (Some(docker), _) => ("docker", docker.origin(), Some(docker)),
            (None, Some(containerd)) => ("containerd", containerd.origin(), Some(containerd)),
            (None, None) => return,
        },
    };
    sheet.blank();
    sheet.open("runtime", "");
    sheet.text("kind", kind, &origin);
    if let Some(said) = fitting::<ProgramVersion>(version, known) {
        sheet.text("version", &said.value, &said.origin());
    }
    sheet.close();
}

pub(super) fn proxy(sheet: &mut Sheet, known: &mut Known<'_>, notes: &mut Notes) {
    let mut fields = Vec::new();
    for (field, names) in [("http", ["http_proxy"]), ("https", ["https_proxy"])] {
        let said = known.cluster(&names, notes);
        if said.as_ref().is_some_and(|said| said.value.contains('@')) {
            if let Some(said) = said {
                known.unusable(
                    said.name,
                    &said.place,
                    "there is a password in it; `proxy.credentials` says where that is",
                );
            }
            continue;
        }
        if let Some(said) = fitting::<Url>(said, known) {
            fields.push((field, said));
        }
    }
    let no = known.cluster(&["no_proxy"], notes);
    if fields.is_empty() && no.is_none() {
        return;
    }
    sheet.blank();
    sheet.open("proxy", "");
    for (field, said) in fields {
        sheet.text(field, &said.value, &said.origin());
    }
    if let Some(said) = no {
        let items = said.value.split(',').map(|item| item.trim().to_owned());
        let items: Vec<_> = items.filter(|item| !item.is_empty()).collect();
        sheet.list("no", &items, &said.origin());
    }
    sheet.close();
}
