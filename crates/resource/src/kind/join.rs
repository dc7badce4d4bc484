//! `join`: membership in a Kubernetes cluster, through kubeadm.

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::host_paths::KUBEADM_FLAGS;
use crate::{Change, Diff, HostPath, PathError, Secret, SecretName};

/// What a taint does to pods that do not tolerate it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Effect {
    /// Pods are not scheduled there.
    NoSchedule,
    /// Pods are scheduled there only if no other node fits.
    PreferNoSchedule,
    /// Running pods are evicted.
    NoExecute,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Taint {
    pub key: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub value: String,
    pub effect: Effect,
}

impl fmt::Display for Taint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}={}:{:?}", self.key, self.value, self.effect)
    }
}

/// A file in kubeadm's patches folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Patch {
    /// The file's name (`kubeletconfiguration0+merge.json`).
    pub file_name: String,
    pub content: String,
}

/// The version of kubeadm's configuration, oldest first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum KubeadmApi {
    /// Up to 1.26: arguments are a map, and there are no patches.
    V1Beta2,
    /// 1.22 to 1.36: arguments are a map.
    V1Beta3,
    /// Since 1.31: arguments are a list.
    #[default]
    V1Beta4,
}

impl KubeadmApi {
    fn is_newest(&self) -> bool {
        *self == Self::default()
    }

    fn version(self) -> &'static str {
        match self {
            Self::V1Beta2 => "kubeadm.k8s.io/v1beta2",
            Self::V1Beta3 => "kubeadm.k8s.io/v1beta3",
            Self::V1Beta4 => "kubeadm.k8s.io/v1beta4",
        }
    }
}

/// The host should be a node of the cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Join {
    /// The version of kubeadm's configuration.
    #[serde(default, skip_serializing_if = "KubeadmApi::is_newest")]
    pub api: KubeadmApi,
    pub node_name: String,
    pub node_ip: IpAddr,
    /// The API server, `host:port`.
    pub api_server: String,
    /// Pins of the cluster's CA, `sha256:…`; never empty.
    pub ca_hashes: Vec<String>,
    /// The bootstrap token, by name.
    pub token: SecretName,
    /// The container runtime's socket, in kubeadm's format.
    pub cri_socket: String,
    /// Taints that the kubelet registers with.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub taints: Vec<Taint>,
    /// More kubelet arguments, without dashes.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub kubelet_arguments: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub patches: Vec<Patch>,
    /// The path of kubeadm.
    pub kubeadm: HostPath,
    /// Where kubeadm keeps `kubelet.conf` (`C:\etc\kubernetes`).
    pub kubernetes_dir: HostPath,
    /// Where the kubelet keeps its files (`C:\var\lib\kubelet`).
    pub kubelet_dir: HostPath,
    pub timeout_seconds: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct JoinFacts {
    /// The server in `kubelet.conf`; none if there is no such file.
    pub server: Option<String>,
    /// Whether the kubelet has its client certificate.
    pub certificate: bool,
    /// Existing files that contain the token.
    pub leftovers: Vec<HostPath>,
}

impl Join {
    #[must_use]
    pub fn diff(&self, facts: &JoinFacts) -> Diff {
        let server = format!("https://{}", self.api_server);
        let mut changes = Vec::new();
        match &facts.server {
            None => changes.push(Change::missing("member of", &server)),
            Some(found) if *found == server => {}
            Some(found) => changes.push(Change::field("member of", found, &server)),
        }
        if !facts.certificate {
            changes.push(Change::missing("certificate", "kubelet client certificate"));
        }
        for path in &facts.leftovers {
            changes.push(Change {
                field: path.to_string(),
                before: Some("contains a bootstrap token".to_owned()),
                after: None,
            });
        }
        if !changes.is_empty() {
            return Diff::Changes(changes);
        }
        let fields = ["nodeIp", "taints", "kubeletArguments", "patches"];
        Diff::InSync {
            reason: format!("joined to {server}, with a client certificate"),
            unobserved: fields.map(str::to_owned).to_vec(),
        }
    }

    /// kubeadm's kubeconfig of the node.
    pub fn kubelet_conf(&self) -> Result<HostPath, PathError> {
        self.kubernetes_dir.join("kubelet.conf")
    }

    /// The kubelet's client certificate and key.
    pub fn client_certificate(&self) -> Result<HostPath, PathError> {
        self.kubelet_dir.join("pki/kubelet-client-current.pem")
    }

    /// The two files that hold the token while kubeadm runs.
    pub fn token_files(&self) -> Result<[HostPath; 2], PathError> {
        Ok([
            self.kubernetes_dir.join("casement-join.json")?,
            self.kubernetes_dir.join("bootstrap-kubelet.conf")?,
        ])
    }

    /// Files that kubeadm and the kubelet create during the join.
    pub fn created_files(&self) -> Result<Vec<HostPath>, PathError> {
        let mut files = self.token_files()?.to_vec();
        files.push(self.kubelet_conf()?);
        files.push(self.kubernetes_dir.join("pki/ca.crt")?);
        for name in ["config.yaml", "instance-config.yaml", KUBEADM_FLAGS] {
            files.push(self.kubelet_dir.join(name)?);
        }
        files.push(self.client_certificate()?);
        Ok(files)
    }

    /// The join configuration for kubeadm, with the token in it.
    #[must_use]
    pub fn configuration(&self, token: &Secret, patches: Option<&HostPath>) -> String {
        let arguments = self.arguments();
        let mut document = serde_json::json!({
            "apiVersion": self.api.version(),
            "kind": "JoinConfiguration",
            "discovery": {"bootstrapToken": {
                "apiServerEndpoint": self.api_server,
                "token": token.expose(),
                "caCertHashes": self.ca_hashes,
            }},
            "nodeRegistration": {
                "name": self.node_name,
                "criSocket": self.cri_socket,
                "taints": self.taints,
                "kubeletExtraArgs": arguments,
            },
        });
        let patches = patches.filter(|_| self.api > KubeadmApi::V1Beta2);
        if let (Some(patches), Some(fields)) = (patches, document.as_object_mut()) {
            fields.insert(
                "patches".to_owned(),
                serde_json::json!({"directory": patches}),
            );
        }
        format!("{document:#}\n")
    }

    fn arguments(&self) -> serde_json::Value {
        let node_ip = ("node-ip".to_owned(), self.node_ip.to_string());
        let further = self.kubelet_arguments.clone().into_iter();
        let arguments = std::iter::once(node_ip).chain(further);
        if self.api < KubeadmApi::V1Beta4 {
            let map = arguments.map(|(name, value)| (name, value.into()));
            return serde_json::Value::Object(map.collect());
        }
        arguments
            .map(|(name, value)| serde_json::json!({"name": name, "value": value}))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn join() -> Join {
        Join {
            api: KubeadmApi::default(),
            node_name: "win1".to_owned(),
            node_ip: "198.18.0.11".parse().unwrap(),
            api_server: "198.18.0.10:6443".to_owned(),
            ca_hashes: vec!["sha256:00".to_owned()],
            token: "token".parse().unwrap(),
            cri_socket: "npipe:////./pipe/containerd-containerd".to_owned(),
            taints: vec![Taint {
                key: "os".to_owned(),
                value: "windows".to_owned(),
                effect: Effect::NoSchedule,
            }],
            kubelet_arguments: BTreeMap::new(),
            patches: Vec::new(),
            kubeadm: r"C:\k\kubeadm.exe".parse().unwrap(),
            kubernetes_dir: r"C:\etc\kubernetes".parse().unwrap(),
            kubelet_dir: r"C:\var\lib\kubelet".parse().unwrap(),
            timeout_seconds: 300,
        }
    }

    #[test]
    fn a_leftover_token_is_a_change_even_after_the_join() {
        let mut facts = JoinFacts {
            server: Some("https://198.18.0.10:6443".to_owned()),
            certificate: true,
            leftovers: Vec::new(),
        };
        assert!(join().diff(&facts).in_sync());
        facts.leftovers = join().token_files().unwrap().to_vec();
        assert!(!join().diff(&facts).in_sync());
    }

    #[test]
    fn arguments_and_patches_follow_the_version() {
        let folder: HostPath = r"C:\patches".parse().unwrap();
        let written = |api: KubeadmApi| {
            let join = Join { api, ..join() };
            let text = join.configuration(&Secret::new("a.b".to_owned()), Some(&folder));
            serde_json::from_str::<serde_json::Value>(&text).unwrap()
        };
        let arguments = |api| written(api)["nodeRegistration"]["kubeletExtraArgs"].clone();
        assert_eq!(arguments(KubeadmApi::V1Beta3)["node-ip"], "198.18.0.11");
        assert_eq!(arguments(KubeadmApi::V1Beta4)[0]["name"], "node-ip");
        assert_eq!(written(KubeadmApi::V1Beta2).get("patches"), None);
        assert_eq!(
            written(KubeadmApi::V1Beta3)["patches"]["directory"],
            r"C:\patches"
        );
    }

    #[test]
    fn the_configuration_has_kubeadms_format() {
        let text = join().configuration(&Secret::new("a.b".to_owned()), None);
        let document: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(document["discovery"]["bootstrapToken"]["token"], "a.b");
        let taint = &document["nodeRegistration"]["taints"][0];
        assert_eq!(taint["effect"], "NoSchedule");
        assert_eq!(join().taints[0].to_string(), "os=windows:NoSchedule");
    }
}
