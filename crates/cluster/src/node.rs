//! Changes of a Node that casement manages: labels, taints, cordon, deletion.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Node, Taint};
use kube::api::{Api, DeleteParams, Patch, PatchParams};
use serde_json::{Value, json};

use crate::FIELD_MANAGER;
use crate::client::ClusterClient;
use crate::error::ClusterError;
use crate::facts::ObservedNode;

/// Marks a node that casement cordoned and may uncordon.
const CORDONED: &str = "casement.dev/cordoned";

/// The kubelet updates its Node often, so conflicts are likely.
const ATTEMPTS: u32 = 10;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cordon {
    Changed,
    Already,
    /// Someone else cordoned it: it stays cordoned.
    ByOthers,
}

impl ClusterClient {
    /// Node names are compared in lower case.
    pub async fn node(&self, name: &str) -> Result<Option<ObservedNode>, ClusterError> {
        let found = self.find_node(name).await?;
        Ok(found.as_ref().map(ObservedNode::of))
    }

    /// Returns whether a label was missing or different.
    pub async fn label_node(
        &self,
        name: &str,
        labels: &BTreeMap<String, String>,
    ) -> Result<bool, ClusterError> {
        let node = self.find_node(name).await?;
        let current = node
            .and_then(|node| node.metadata.labels)
            .unwrap_or_default();
        if labels
            .iter()
            .all(|(key, value)| current.get(key) == Some(value))
        {
            return Ok(false);
        }
        self.patch_node(name, json!({"metadata": {"labels": labels}}))
            .await?;
        Ok(true)
    }

    /// Returns whether an annotation was missing or different.
    pub async fn annotate_node(
        &self,
        name: &str,
        annotations: &BTreeMap<String, String>,
    ) -> Result<bool, ClusterError> {
        let node = self.find_node(name).await?;
        let current = node.and_then(|node| node.metadata.annotations);
        let current = current.unwrap_or_default();
        let in_sync = annotations
            .iter()
            .all(|(key, value)| current.get(key) == Some(value));
        if in_sync {
            return Ok(false);
        }
        self.patch_node(name, json!({"metadata": {"annotations": annotations}}))
            .await?;
        Ok(true)
    }

    /// Adds missing taints and keeps all others; returns whether one was missing. A
    /// kubelet registers with its taints, but an existing Node does not get them.
    pub async fn taint_node(&self, name: &str, taints: &[Taint]) -> Result<bool, ClusterError> {
        let name = name.to_lowercase();
        for _ in 0..ATTEMPTS {
            let Some(node) = self.find_node(&name).await? else {
                return Ok(false);
            };
            let current = node.spec.and_then(|spec| spec.taints).unwrap_or_default();
            let lacks = |taint: &&Taint| {
                let same = |other: &Taint| {
                    (&other.key, &other.effect, &other.value)
                        == (&taint.key, &taint.effect, &taint.value)
                };
                !current.iter().any(same)
            };
            let missing: Vec<&Taint> = taints.iter().filter(lacks).collect();
            if missing.is_empty() {
                return Ok(false);
            }
            let all: Vec<&Taint> = current.iter().chain(missing).collect();
            // The list is replaced as a whole, so the resource version that was read
            // protects a taint that someone adds meanwhile.
            let patch = json!({
                "metadata": {"resourceVersion": node.metadata.resource_version},
                "spec": {"taints": all},
            });
            let params = PatchParams {
                field_manager: Some(FIELD_MANAGER.to_owned()),
                ..PatchParams::default()
            };
            let (api, patch) = (self.node_api(), Patch::Merge(patch));
            match api.patch(&name, &params, &patch).await {
                Ok(_) => return Ok(true),
                Err(kube::Error::Api(status)) if status.code == 409 => {}
                Err(error) => return Err(self.failed(format!("taint Node {name}"))(error)),
            }
        }
        Err(ClusterError::Unusable {
            what: format!("Node {name}"),
            reason: "it changed on every attempt to add a taint".to_owned(),
        })
    }

    pub async fn cordon(&self, name: &str) -> Result<Cordon, ClusterError> {
        let state = self.cordon_state(name).await?;
        match state {
            (true, true) => Ok(Cordon::Already),
            (true, false) => Ok(Cordon::ByOthers),
            (false, _) => {
                let patch = json!({
                    "metadata": {"annotations": {CORDONED: "true"}},
                    "spec": {"unschedulable": true},
                });
                self.patch_node(name, patch).await?;
                Ok(Cordon::Changed)
            }
        }
    }

    /// Does nothing if someone else cordoned the node.
    pub async fn uncordon(&self, name: &str) -> Result<Cordon, ClusterError> {
        let state = self.cordon_state(name).await?;
        match state {
            (false, false) => Ok(Cordon::Already),
            (true, false) => Ok(Cordon::ByOthers),
            (_, true) => {
                let patch = json!({
                    "metadata": {"annotations": {CORDONED: null}},
                    "spec": {"unschedulable": null},
                });
                self.patch_node(name, patch).await?;
                Ok(Cordon::Changed)
            }
        }
    }

    /// Returns whether the Node existed.
    pub async fn delete_node(&self, name: &str) -> Result<bool, ClusterError> {
        let name = name.to_lowercase();
        let deleted = self
            .node_api()
            .delete(&name, &DeleteParams::default())
            .await;
        match deleted {
            Ok(_) => Ok(true),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(false),
            Err(error) => Err(self.failed(format!("delete Node {name}"))(error)),
        }
    }

    /// Whether it is cordoned, and whether casement did it.
    async fn cordon_state(&self, name: &str) -> Result<(bool, bool), ClusterError> {
        let node = self.find_node(name).await?.unwrap_or_default();
        let cordoned = node.spec.and_then(|spec| spec.unschedulable);
        let annotations = node.metadata.annotations.unwrap_or_default();
        Ok((
            cordoned.unwrap_or(false),
            annotations.contains_key(CORDONED),
        ))
    }

    async fn find_node(&self, name: &str) -> Result<Option<Node>, ClusterError> {
        let name = name.to_lowercase();
        let found = self.node_api().get_opt(&name).await;
        found.map_err(self.failed(format!("read Node {name}")))
    }

    async fn patch_node(&self, name: &str, patch: Value) -> Result<(), ClusterError> {
        let name = name.to_lowercase();
        let params = PatchParams {
            field_manager: Some(FIELD_MANAGER.to_owned()),
            ..PatchParams::default()
        };
        let api = self.node_api();
        let patched = api.patch(&name, &params, &Patch::Merge(patch)).await;
        patched.map_err(self.failed(format!("change Node {name}")))?;
        Ok(())
    }

    pub(crate) fn node_api(&self) -> Api<Node> {
        Api::all(self.client.clone())
    }
}
