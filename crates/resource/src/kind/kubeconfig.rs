//! `kubeconfig`: for programs on a node that use the kubelet's client certificate.

use serde::{Deserialize, Serialize};

use crate::{Access, File, HostPath};

/// Contains no secret: it refers to the certificate that the kubelet rotates.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Kubeconfig {
    pub path: HostPath,
    /// The API server (`https://host:port`).
    pub server: String,
    /// The cluster's CA certificates, PEM.
    pub ca: String,
    /// The kubelet's `kubelet-client-current.pem`: certificate and key.
    pub client_certificate: HostPath,
}

impl Kubeconfig {
    /// Written as JSON, which is valid YAML and needs no extra quoting rules.
    #[must_use]
    pub fn file(&self) -> File {
        use base64::Engine as _;
        let ca = base64::engine::general_purpose::STANDARD.encode(&self.ca);
        let document = serde_json::json!({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{
                "name": "cluster",
                "cluster": {"server": self.server, "certificate-authority-data": ca},
            }],
            "users": [{
                "name": "node",
                "user": {
                    "client-certificate": self.client_certificate,
                    "client-key": self.client_certificate,
                },
            }],
            "contexts": [{
                "name": "node",
                "context": {"cluster": "cluster", "user": "node"},
            }],
            "current-context": "node",
        });
        File {
            path: self.path.clone(),
            content: format!("{document:#}\n").into(),
            access: Access::AdministratorsOnly,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_points_at_the_kubelets_certificate() {
        let kubeconfig = Kubeconfig {
            path: r"C:\etc\kubernetes\kube-proxy.conf".parse().unwrap(),
            server: "https://198.18.0.10:6443".to_owned(),
            ca: "PEM".to_owned(),
            client_certificate: r"C:\var\lib\kubelet\pki\kubelet-client-current.pem"
                .parse()
                .unwrap(),
        };
        let file = kubeconfig.file();
        let document: serde_json::Value = serde_json::from_slice(file.content.bytes()).unwrap();
        let user = &document["users"][0]["user"];
        assert_eq!(user["client-key"], kubeconfig.client_certificate.as_str());
        assert_eq!(
            document["clusters"][0]["cluster"]["certificate-authority-data"],
            "UEVN"
        );
    }
}
