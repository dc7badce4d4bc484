//! flannel in a cluster: what it is set to, what its daemons say of themselves, and
//! what has to change so that Windows nodes can take part.
//!
//! Only `net-conf.json` is ever changed; `cni-conf.json` names the network of Linux
//! pods, and stays.

mod lease;
mod net_conf;
mod restart;

use casement_net::flannel::{Backend, NetConf};
use k8s_openapi::api::apps::v1::DaemonSet;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, ListParams};
use serde_json::{Value, json};

use crate::change::{ClusterChange, ObjectRef, Way};
use crate::connect::Cluster;
use crate::error::ClusterError;
use crate::facts::{ClusterFacts, NodeFacts};

pub use lease::FlannelLease;
pub use net_conf::NetConfSeen;

/// The ConfigMap that flannel's manifests have, wherever they put it.
pub const CONFIG_MAP: &str = "kube-flannel-cfg";
/// Its key.
const NET_CONF: &str = "net-conf.json";
const FIELD: &str = "/data/net-conf.json";
/// What a person should know before agreeing.
const OUTAGE: &str = "all pods lose the network for about a minute";

/// flannel as it was found.
#[derive(Debug, Clone, PartialEq)]
pub struct FlannelFacts {
    /// Its configuration.
    pub config_map: ObjectRef,
    /// Its DaemonSet; where there is one for each architecture, the first.
    pub daemon_set: ObjectRef,
    /// Label selectors of its pods on Linux, one for each DaemonSet.
    pub selectors: Vec<String>,
    /// `net-conf.json`, to the letter.
    pub text: String,
    /// The same, read.
    pub net_conf: NetConfSeen,
    /// Whether an earlier run changed it and did not live to restart its pods.
    pub restart_pending: bool,
}

impl FlannelFacts {
    /// What has to change so that Windows nodes can take part: the configuration,
    /// and then a restart of all pods on Linux; nothing if all is right.
    ///
    /// Another kind of backend is nothing that a change of numbers mends: see
    /// [`FlannelFacts::net_conf`].
    pub fn changes(&self, wanted: &NetConf, nodes: &[NodeFacts]) -> Vec<ClusterChange> {
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
            way: Way::Patch,
            outage: Some(OUTAGE.to_owned()),
        });
        let restart = self.restart(vni, change.is_some(), nodes);
        change.into_iter().chain(restart).collect()
    }

    /// The restart that is due: because the configuration changes, because a run
    /// was cut off after that, or because a daemon still uses another number.
    fn restart(&self, vni: u32, changes: bool, nodes: &[NodeFacts]) -> Option<ClusterChange> {
        let before: Vec<(&str, u32)> = nodes
            .iter()
            .filter(|node| node.os != "windows")
            .filter_map(|node| Some((node.name.as_str(), node.flannel.as_ref()?.vni?)))
            .collect();
        let behind = before.iter().any(|(_, found)| *found != vni);
        let due = changes || self.restart_pending || behind;
        due.then(|| {
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
                way: Way::Restart { vni },
                outage: Some(OUTAGE.to_owned()),
            }
        })
    }

    /// The restart that giving the old configuration back takes.
    pub fn restart_as_it_is(&self, nodes: &[NodeFacts]) -> Option<ClusterChange> {
        self.restart(self.net_conf.vni, false, nodes)
    }
}

impl Cluster {
    /// Looks at flannel; none where the cluster has another pod network.
    pub async fn flannel(
        &self,
        facts: &ClusterFacts,
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
        let not_understood = |reason: String| ClusterError::NotUnderstood {
            what: format!("{NET_CONF} in {config_map}"),
            reason,
        };
        let text = text.ok_or_else(|| not_understood("it is not there".to_owned()))?;
        let net_conf = NetConfSeen::read(&text).map_err(not_understood)?;
        Ok(Some(FlannelFacts {
            selectors: self.flannel_selectors(&namespace).await?,
            restart_pending: self.is_restart_pending().await?,
            daemon_set: cni.daemon_set.clone(),
            config_map,
            text,
            net_conf,
        }))
    }

    /// Whether flannel's pods are known by all these labels, for each DaemonSet of
    /// flannel's own on Linux.
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
