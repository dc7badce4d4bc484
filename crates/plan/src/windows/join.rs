//! Stage B: from a prepared host to a Node.

use std::collections::BTreeMap;

use casement_resource::{Effect, Join, NodeDocument, Patch, Resource, SecretName, Stage, Taint};
use casement_spec::{Cluster, Host};
use serde_json::json;

use super::{base, places};
use crate::facts::ClusterFacts;
use crate::steps::{PlanError, Steps, path};

/// The name under which the controller sends the token.
pub const BOOTSTRAP_TOKEN: &str = "bootstrap-token";

/// The document of stage B.
pub fn join(
    cluster: &Cluster,
    host: &Host,
    facts: &ClusterFacts,
) -> Result<NodeDocument, PlanError> {
    let taints: Vec<Taint> = host.taints.iter().map(taint).collect();
    let join = Join {
        node_name: host.name.as_str().to_owned(),
        node_ip: host.address.into(),
        api_server: facts.api_server.clone(),
        ca_hashes: facts.ca_hashes.clone(),
        token: BOOTSTRAP_TOKEN.parse::<SecretName>()?,
        cri_socket: places::CRI_SOCKET.to_owned(),
        patches: vec![patch(&taints)],
        taints,
        kubelet_arguments: BTreeMap::new(),
        kubeadm: path(&format!(r"{}\kubeadm.exe", base(cluster)))?,
        kubernetes_dir: path(places::KUBERNETES)?,
        kubelet_dir: path(places::KUBELET)?,
        timeout_seconds: 300,
    };
    let mut steps = Steps::default();
    steps.add("join", &[], Resource::Join(join))?;
    steps.finish(host.name.as_str(), Stage::Join)
}

/// Taints hold from the first second only if the kubelet registers with them;
/// control groups and their kin are nothing that Windows has.
fn patch(taints: &[Taint]) -> Patch {
    let content = json!({
        "registerWithTaints": taints,
        "containerRuntimeEndpoint": places::CRI_SOCKET,
        "cgroupsPerQOS": false,
        "enforceNodeAllocatable": [],
    });
    Patch {
        file_name: "kubeletconfiguration0+merge.json".to_owned(),
        content: format!("{content:#}\n"),
    }
}

fn taint(taint: &casement_spec::Taint) -> Taint {
    Taint {
        key: taint.key.to_string(),
        value: taint.value.to_string(),
        effect: match taint.effect {
            casement_spec::TaintEffect::NoSchedule => Effect::NoSchedule,
            casement_spec::TaintEffect::PreferNoSchedule => Effect::PreferNoSchedule,
            casement_spec::TaintEffect::NoExecute => Effect::NoExecute,
        },
    }
}
