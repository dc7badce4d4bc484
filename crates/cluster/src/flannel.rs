//! Observes flannel and plans the changes that Windows nodes need.
//!
//! Only `net-conf.json` is ever changed; `cni-conf.json` is used by Linux pods only.

mod lease;
mod net_conf;
mod restart;

use casement_net::flannel::{Backend, NetConf};
use k8s_openapi::api::apps::v1::DaemonSet;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, ListParams};
use serde_json::{Value, json};

use crate::change::{ChangeMethod, ClusterChange, ObjectRef};
use crate::client::ClusterClient;
use crate::error::ClusterError;
use crate::facts::{ObservedCluster, ObservedNode};

pub use lease::FlannelLease;
pub use net_conf::ObservedNetConf;

/// The same name in all of flannel's manifests, in any namespace.
pub const CONFIG_MAP: &str = "kube-flannel-cfg";
const NET_CONF: &str = "net-conf.json";
const FIELD: &str = "/data/net-conf.json";
/// Shown before the user consents.
const OUTAGE: &str = "all pods lose the network for about a minute";

#[derive(Debug, Clone, PartialEq)]
pub struct FlannelFacts {
    pub config_map: ObjectRef,
    /// The first, if there is one per architecture.
    pub daemon_set: ObjectRef,
    /// `net-conf.json`, verbatim.
    pub text: String,
    pub net_conf: ObservedNetConf,
    /// Whether an interrupted run changed the configuration without restarting the pods.
    pub restart_pending: bool,
}

impl FlannelFacts {
    /// What Windows nodes need: the configuration, then a restart of all Linux pods;
    /// empty if in sync.
    ///
    /// Another backend is never changed: see [`FlannelFacts::net_conf`].
    pub fn changes(&self, wanted: &NetConf, nodes: &[ObservedNode]) -> Vec<ClusterChange> {
        let Backend::Vxlan { vni, port, .. } = wanted.backend else {
            return Vec::new();
        };
        if !self.net_conf.is_vxlan() {
            return Vec::new();
        }
        let text = net_conf::with_overlay(&self.text, vni, port);
        let change = text.map(|text| ClusterChange {
            object: self.config_map.clone(),
            field: FIELD.to_owned(),
            before: Some(Value::from(self.text.clone())),
            after: Some(Value::from(text)),
            method: ChangeMethod::Patch,
            outage: Some(OUTAGE.to_owned()),
        });
        let restart = self.restart(vni, change.is_some(), nodes);
        change.into_iter().chain(restart).collect()
    }

    /// A restart is needed if the configuration changes, if a run was interrupted
    /// after that, or if a daemon still uses another VNI.
    fn restart(&self, vni: u32, changes: bool, nodes: &[ObservedNode]) -> Option<ClusterChange> {
        let before: Vec<(&str, u32)> = nodes
            .iter()
            .filter(|node| node.os != "windows")
            .filter_map(|node| Some((node.name.as_str(), node.flannel.as_ref()?.vni?)))
            .collect();
        let behind = before.iter().any(|(_, found)| *found != vni);
        let needed = changes || self.restart_pending || behind;
        needed.then(|| {
            let shown = |vni: Option<u32>| -> Value {
                let nodes = before.iter();
                let nodes = nodes.map(|(name, old)| ((*name).to_owned(), vni.unwrap_or(*old)));
                json!({"vni": nodes.collect::<std::collections::BTreeMap<_, _>>()})
            };
            ClusterChange {
                object: self.daemon_set.clone(),
                field: String::new(),
                before: Some(shown(None)),
                after: Some(shown(Some(vni))),
                method: ChangeMethod::Restart { vni },
                outage: Some(OUTAGE.to_owned()),
            }
        })
    }

    /// The restart that restoring the prior configuration needs.
    pub fn restart_with_current_config(&self, nodes: &[ObservedNode]) -> Option<ClusterChange> {
        self.restart(self.net_conf.vni, false, nodes)
    }
}

impl ClusterClient {
    /// None if the cluster has another pod network.
    pub async fn flannel(
        &self,
        facts: &ObservedCluster,
    ) -> Result<Option<FlannelFacts>, ClusterError> {
        let Some(cni) = facts.cni.as_ref().filter(|cni| cni.name == "flannel") else {
            return Ok(None);
        };
        let namespace = cni.daemon_set.namespace.clone().unwrap_or_default();
        let config_map = ObjectRef::new("v1", "ConfigMap", Some(&namespace), CONFIG_MAP);
        let maps: Api<ConfigMap> = Api::namespaced(self.client.clone(), &namespace);
        let map = maps.get_opt(CONFIG_MAP).await;
        let map = map.map_err(self.failed(format!("read {config_map}")))?;
        let text = map.and_then(|map| map.data?.remove(NET_CONF));
        let unusable = |reason: String| ClusterError::Unusable {
            what: format!("{NET_CONF} in {config_map}"),
            reason,
        };
        let text = text.ok_or_else(|| unusable("not found".to_owned()))?;
        let net_conf = ObservedNetConf::read(&text).map_err(unusable)?;
        Ok(Some(FlannelFacts {
            restart_pending: self.is_restart_pending().await?,
            daemon_set: cni.daemon_set.clone(),
            config_map,
            text,
            net_conf,
        }))
    }

    /// The label selectors of flannel's Linux pods, one per DaemonSet.
    async fn flannel_selectors(&self, namespace: &str) -> Result<Vec<String>, ClusterError> {
        let sets: Api<DaemonSet> = Api::namespaced(self.client.clone(), namespace);
        let sets = sets.list(&ListParams::default()).await;
        let sets = sets.map_err(self.failed("list DaemonSets"))?;
        let of_flannel = sets.iter().filter(|set| {
            let facts = crate::DaemonSetFacts::of(set);
            facts.name.contains("flannel") && !facts.for_windows
        });
        let selectors = of_flannel.filter_map(|set| {
            let labels = set.spec.as_ref()?.selector.match_labels.as_ref()?;
            let pairs = labels.iter().map(|(key, value)| format!("{key}={value}"));
            Some(pairs.collect::<Vec<_>>().join(","))
        });
        Ok(selectors.filter(|selector| !selector.is_empty()).collect())
    }
}

#[cfg(test)]
mod tests;
