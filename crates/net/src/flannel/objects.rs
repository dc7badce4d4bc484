//! Patches of the flannel objects in the cluster that Windows nodes need.
//!
//! casement does not own these objects: the patches contain only the needed fields.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{CniConf, NetConf};
use crate::text;

/// Created by the flannel manifest.
pub const NAMESPACE: &str = "kube-flannel";
pub const CONFIG_MAP: &str = "kube-flannel-cfg";
pub const DAEMON_SET: &str = "kube-flannel-ds";

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Metadata {
    pub name: &'static str,
    pub namespace: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ConfigMapPatch {
    api_version: &'static str,
    kind: &'static str,
    metadata: Metadata,
    data: BTreeMap<&'static str, String>,
}

impl ConfigMapPatch {
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

/// A strategic merge patch with a node selector: without it, Windows nodes try to run
/// the Linux image.
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
