//! flannel's objects in the cluster, as the patches that Windows nodes need.
//!
//! The objects themselves belong to whoever installed flannel: only the fields
//! that matter are named.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{CniConf, NetConf};
use crate::text;

/// The namespace that flannel's manifest makes.
pub const NAMESPACE: &str = "kube-flannel";
/// The ConfigMap with flannel's two documents.
pub const CONFIG_MAP: &str = "kube-flannel-cfg";
/// The DaemonSet that runs flannel on Linux.
pub const DAEMON_SET: &str = "kube-flannel-ds";

/// What an object is called.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Metadata {
    /// Its name.
    pub name: &'static str,
    /// Its namespace.
    pub namespace: &'static str,
}

/// The ConfigMap's data, as a merge patch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ConfigMapPatch {
    api_version: &'static str,
    kind: &'static str,
    metadata: Metadata,
    data: BTreeMap<&'static str, String>,
}

impl ConfigMapPatch {
    /// Both documents, as the text that flannel and its installer read.
    pub fn new(net_conf: &NetConf, cni_conf: &CniConf) -> Self {
        Self {
            api_version: "v1",
            kind: "ConfigMap",
            metadata: Metadata {
                name: CONFIG_MAP,
                namespace: NAMESPACE,
            },
            data: BTreeMap::from([
                ("cni-conf.json", text(cni_conf)),
                ("net-conf.json", text(net_conf)),
            ]),
        }
    }
}

/// The DaemonSet's node selector, as a strategic merge patch: without it, the
/// Linux image is tried on Windows nodes too.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DaemonSetPatch {
    api_version: &'static str,
    kind: &'static str,
    metadata: Metadata,
    spec: DaemonSetSpec,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct DaemonSetSpec {
    template: Template,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Template {
    spec: PodSpec,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
struct PodSpec {
    node_selector: BTreeMap<&'static str, &'static str>,
}

impl DaemonSetPatch {
    /// flannel's pods on Linux nodes only.
    pub fn linux_only() -> Self {
        let node_selector = BTreeMap::from([("kubernetes.io/os", "linux")]);
        Self {
            api_version: "apps/v1",
            kind: "DaemonSet",
            metadata: Metadata {
                name: DAEMON_SET,
                namespace: NAMESPACE,
            },
            spec: DaemonSetSpec {
                template: Template {
                    spec: PodSpec { node_selector },
                },
            },
        }
    }
}
