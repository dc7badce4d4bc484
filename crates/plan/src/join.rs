//! Stage join: turns a prepared host into a Node.

use casement_resource::{Join, NodeDocument, Patch, Resource, SecretName, Stage};
use casement_spec::{Cluster, Host, JoinMethod};

use crate::facts::ClusterFacts;
use crate::kubelet::Kubelet;
use crate::node_paths::NodePaths;
use crate::release::Release;
use crate::steps::{PlanError, Steps, path};

pub const BOOTSTRAP_TOKEN: &str = "bootstrap-token";

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

pub(crate) fn resource(
    cluster: &Cluster,
    host: &Host,
    facts: &ClusterFacts,
) -> Result<Join, PlanError> {
    let release = Release::of(cluster)?;
    release.check(host)?;
    let paths = NodePaths::of(cluster, host, release);
    let kubelet = Kubelet {
        cluster,
        host,
        release,
        paths: &paths,
    };
    let arguments = host.kubelet_args.iter();
    // The kubelet must register with the taints, or pods could be scheduled before them.
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
        cri_socket: paths.cri_socket.to_owned(),
        patches: patches.into_iter().collect(),
        taints: kubelet.taints(),
        kubelet_arguments: arguments
            .map(|(name, value)| (name.to_string(), value.to_string()))
            .collect(),
        kubeadm: path(&paths.program("kubeadm"))?,
        kubernetes_dir: path(paths.kubernetes)?,
        kubelet_dir: path(paths.kubelet)?,
        timeout_seconds: 300,
    })
}
