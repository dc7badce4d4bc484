//! The observed state of a Node.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Node, NodeCondition};
use serde::{Deserialize, Serialize};

use crate::flannel::FlannelLease;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ObservedNode {
    /// Lower case, as in the API.
    pub name: String,
    /// `linux` or `windows`; empty until the kubelet has reported it.
    pub os: String,
    /// With the leading `v`.
    pub kubelet_version: String,
    pub ready: bool,
    pub pod_cidrs: Vec<String>,
    /// Internal addresses.
    pub addresses: Vec<String>,
    /// `os=windows:NoSchedule`.
    pub taints: Vec<String>,
    pub unschedulable: bool,
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// From the annotations of flannel's daemon, if it runs there.
    #[serde(default)]
    pub flannel: Option<FlannelLease>,
}

impl ObservedNode {
    pub(crate) fn of(node: &Node) -> Self {
        let status = node.status.as_ref();
        let info = status.and_then(|status| status.node_info.as_ref());
        let label = node
            .metadata
            .labels
            .as_ref()
            .and_then(|labels| labels.get("kubernetes.io/os"));
        let addresses = status.and_then(|status| status.addresses.as_ref());
        let addresses = addresses.into_iter().flatten();
        let spec = node.spec.as_ref();
        Self {
            name: node.metadata.name.clone().unwrap_or_default(),
            os: info
                .map(|info| info.operating_system.clone())
                .filter(|os| !os.is_empty())
                .or_else(|| label.cloned())
                .unwrap_or_default(),
            kubelet_version: info
                .map(|info| info.kubelet_version.clone())
                .unwrap_or_default(),
            ready: ready(node).is_some_and(|condition| condition.status == "True"),
            pod_cidrs: pod_cidrs(node),
            addresses: addresses
                .filter(|address| address.type_ == "InternalIP")
                .map(|address| address.address.clone())
                .collect(),
            taints: taints(node),
            unschedulable: spec.and_then(|spec| spec.unschedulable).unwrap_or(false),
            labels: node.metadata.labels.clone().unwrap_or_default(),
            flannel: FlannelLease::of(node.metadata.annotations.as_ref()),
        }
    }

    /// The Windows build, from the label that the kubelet sets.
    pub fn windows_build(&self) -> Option<u32> {
        let label = self.labels.get("node.kubernetes.io/windows-build")?;
        label.rsplit('.').next()?.parse().ok()
    }
}

/// The Ready condition.
pub(crate) fn ready(node: &Node) -> Option<&NodeCondition> {
    let conditions = node.status.as_ref()?.conditions.as_ref()?;
    conditions
        .iter()
        .find(|condition| condition.type_ == "Ready")
}

pub(crate) fn pod_cidrs(node: &Node) -> Vec<String> {
    let Some(spec) = &node.spec else {
        return Vec::new();
    };
    match &spec.pod_cidrs {
        Some(networks) if !networks.is_empty() => networks.clone(),
        _ => spec.pod_cidr.iter().cloned().collect(),
    }
}

/// `key=value:Effect`, as kubectl writes them.
pub(crate) fn taints(node: &Node) -> Vec<String> {
    let taints = node.spec.as_ref().and_then(|spec| spec.taints.as_ref());
    let taints = taints.into_iter().flatten();
    taints
        .map(|taint| match &taint.value {
            Some(value) => format!("{}={value}:{}", taint.key, taint.effect),
            None => format!("{}:{}", taint.key, taint.effect),
        })
        .collect()
}
