//! Detects the pod network by its DaemonSets.

use k8s_openapi::api::apps::v1::DaemonSet;
use serde::{Deserialize, Serialize};

use crate::change::ObjectRef;

/// Part of a DaemonSet's name, and the pod network it belongs to. The first match
/// wins: several match where one network replaced another.
const KNOWN: &[(&str, &str)] = &[
    ("cilium", "Cilium"),
    ("calico-node", "Calico"),
    ("canal", "Canal"),
    ("flannel", "flannel"),
    ("antrea-agent", "Antrea"),
    ("ovnkube-node", "OVN-Kubernetes"),
    ("kube-ovn-cni", "Kube-OVN"),
    ("kube-router", "kube-router"),
    ("weave-net", "Weave Net"),
    ("aws-node", "Amazon VPC CNI"),
    ("azure-cns", "Azure CNI"),
    ("kindnet", "kindnet"),
];

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Cni {
    pub name: String,
    /// The DaemonSet that identifies it.
    pub daemon_set: ObjectRef,
}

pub(crate) fn found(sets: &[DaemonSet]) -> Option<Cni> {
    KNOWN.iter().find_map(|(part, name)| {
        let set = sets.iter().find(|set| mentions(set, part))?;
        let namespace = set.metadata.namespace.as_deref();
        let set_name = set.metadata.name.as_deref()?;
        Some(Cni {
            name: (*name).to_owned(),
            daemon_set: ObjectRef::new("apps/v1", "DaemonSet", namespace, set_name),
        })
    })
}

fn mentions(set: &DaemonSet, part: &str) -> bool {
    set.metadata
        .name
        .as_deref()
        .is_some_and(|name| name.contains(part))
}
