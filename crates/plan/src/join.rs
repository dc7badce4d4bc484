//! Stage B: from a prepared host to a Node, on either system.

use casement_resource::{Join, NodeDocument, Patch, Resource, SecretName, Stage};
use casement_spec::{Cluster, Host, JoinMethod};

use crate::facts::ClusterFacts;
use crate::kubelet::Kubelet;
use crate::places::Places;
use crate::release::Release;
use crate::steps::{PlanError, Steps, path};

/// The name under which the controller sends the token.
pub const BOOTSTRAP_TOKEN: &str = "bootstrap-token";

/// The document of stage B.
pub fn join(
    cluster: &Cluster,
    host: &Host,
    facts: &ClusterFacts,
) -> Result<NodeDocument, PlanError> {
    if cluster.spec.join.method == JoinMethod::Bootstrap {
        return Err(PlanError::Bootstrap(host.name.to_string()));
    }
    let join = resource(cluster, host, facts)?;
    let mut steps = Steps::default();
    steps.add("join", &[], Resource::Join(join))?;
    steps.finish(host.name.as_str(), Stage::Join)
}

/// The join itself.
pub(crate) fn resource(
    cluster: &Cluster,
    host: &Host,
    facts: &ClusterFacts,
) -> Result<Join, PlanError> {
    let release = Release::of(cluster)?;
    release.check(host)?;
    let places = Places::of(cluster, host, release);
    let kubelet = Kubelet {
        cluster,
        host,
        release,
        places: &places,
    };
    let arguments = host.kubelet_args.iter();
    // Taints hold from the first second only if the kubelet registers with them.
    let patches = kubelet.patch().map(|content| Patch {
        file_name: "kubeletconfiguration0+merge.json".to_owned(),
        content,
    });
    Ok(Join {
        api: release.kubeadm_api(),
        node_name: host.name.as_str().to_owned(),
        node_ip: host.address.into(),
        api_server: facts.api_server.clone(),
        ca_hashes: facts.ca_hashes.clone(),
        token: BOOTSTRAP_TOKEN.parse::<SecretName>()?,
        cri_socket: places.cri_socket.to_owned(),
        patches: patches.into_iter().collect(),
        taints: kubelet.taints(),
        kubelet_arguments: arguments
            .map(|(name, value)| (name.to_string(), value.to_string()))
            .collect(),
        kubeadm: path(&places.program("kubeadm"))?,
        kubernetes_dir: path(places.kubernetes)?,
        kubelet_dir: path(places.kubelet)?,
        timeout_seconds: 300,
    })
}
