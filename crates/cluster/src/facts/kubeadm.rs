//! Parses the ConfigMaps that kubeadm writes.

use kube::config::Kubeconfig;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::error::ClusterError;

pub(super) struct Configuration {
    pub(super) endpoint: String,
    pub(super) pod_cidrs: Vec<String>,
    pub(super) service_cidrs: Vec<String>,
    pub(super) dns_domain: String,
}

pub(super) struct ClusterInfo {
    pub(super) endpoint: String,
    pub(super) ca_pem: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ClusterConfiguration {
    #[serde(default)]
    control_plane_endpoint: String,
    #[serde(default)]
    networking: Networking,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Networking {
    pod_subnet: String,
    service_subnet: String,
    dns_domain: String,
}

#[derive(Deserialize)]
struct KubeletConfiguration {
    #[serde(rename = "clusterDNS", default)]
    cluster_dns: Vec<String>,
}

pub(super) fn configuration(text: &str) -> Result<Configuration, ClusterError> {
    let read: ClusterConfiguration = yaml("ConfigMap kube-system/kubeadm-config", text)?;
    Ok(Configuration {
        endpoint: read.control_plane_endpoint,
        pod_cidrs: list(&read.networking.pod_subnet),
        service_cidrs: list(&read.networking.service_subnet),
        dns_domain: read.networking.dns_domain,
    })
}

/// The cluster DNS addresses.
pub(super) fn kubelet(text: &str) -> Result<Vec<String>, ClusterError> {
    let read: KubeletConfiguration = yaml("ConfigMap kube-system/kubelet-config", text)?;
    Ok(read.cluster_dns)
}

pub(super) fn cluster_info(text: &str) -> Result<ClusterInfo, ClusterError> {
    let what = "ConfigMap kube-public/cluster-info";
    let unusable = |reason: String| ClusterError::Unusable {
        what: what.to_owned(),
        reason,
    };
    let read: Kubeconfig = yaml(what, text)?;
    let cluster = read.clusters.into_iter().find_map(|named| named.cluster);
    let cluster = cluster.ok_or_else(|| unusable("it contains no cluster".to_owned()))?;
    let server = cluster.server.unwrap_or_default();
    let ca = cluster
        .certificate_authority_data
        .ok_or_else(|| unusable("it contains no CA".to_owned()))?;
    let ca = decode(&ca).ok_or_else(|| unusable("its CA is not valid base64".to_owned()))?;
    Ok(ClusterInfo {
        endpoint: server.trim_start_matches("https://").to_owned(),
        ca_pem: ca,
    })
}

fn decode(text: &str) -> Option<String> {
    let quoted = serde_json::Value::from(text.trim());
    let bytes: k8s_openapi::ByteString = serde_json::from_value(quoted).ok()?;
    String::from_utf8(bytes.0).ok()
}

fn list(text: &str) -> Vec<String> {
    let parts = text.split(',').map(str::trim);
    parts
        .filter(|part| !part.is_empty())
        .map(str::to_owned)
        .collect()
}

fn yaml<T: DeserializeOwned>(what: &str, text: &str) -> Result<T, ClusterError> {
    serde_saphyr::from_str(text).map_err(|error| ClusterError::Unusable {
        what: what.to_owned(),
        reason: error.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dual_stack_networks_are_split() {
        let read = configuration(
            "apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\nnetworking:\n  \
             podSubnet: 10.244.0.0/16,fd00::/48\n  serviceSubnet: 10.96.0.0/12\n  \
             dnsDomain: cluster.local\n",
        )
        .unwrap();
        assert_eq!(read.pod_cidrs, ["10.244.0.0/16", "fd00::/48"]);
        assert_eq!(read.service_cidrs, ["10.96.0.0/12"]);
        assert_eq!(read.endpoint, "");
    }

    #[test]
    fn invalid_yaml_is_reported_with_its_config_map() {
        let Err(error) = configuration("networking: [") else {
            panic!("invalid YAML was accepted");
        };
        assert_eq!(error.code(), "CAS-API-009");
        assert!(error.to_string().contains("kubeadm-config"), "{error}");
    }
}
