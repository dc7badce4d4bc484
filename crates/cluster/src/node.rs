//! What casement does to a Node of its own: labels, cordon, deletion.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Node, Taint};
use kube::api::{Api, DeleteParams, Patch, PatchParams};
use serde_json::{Value, json};

use crate::FIELD_MANAGER;
use crate::connect::Cluster;
use crate::error::ClusterError;
use crate::facts::NodeFacts;

/// Says that casement cordoned the node, and may take that back.
const CORDONED: &str = "casement.dev/cordoned";

/// A kubelet writes its Node often.
const ATTEMPTS: u32 = 10;

/// What cordoning or uncordoning came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cordon {
    /// It was changed.
    Changed,
    /// It was so already.
    Already,
    /// Somebody else cordoned it: it stays cordoned.
    ByOthers,
}

impl Cluster {
    /// A Node, if it is there; names are compared in lower case.
    pub async fn node(&self, name: &str) -> Result<Option<NodeFacts>, ClusterError> {
        let found = self.find_node(name).await?;
        Ok(found.as_ref().map(NodeFacts::of))
    }

    /// Sets labels; says whether one was missing or different.
    pub async fn label_node(
        &self,
        name: &str,
        labels: &BTreeMap<String, String>,
    ) -> Result<bool, ClusterError> {
        let node = self.find_node(name).await?;
        let held = node
            .and_then(|node| node.metadata.labels)
            .unwrap_or_default();
        if labels
            .iter()
            .all(|(key, value)| held.get(key) == Some(value))
        {
            return Ok(false);
        }
        self.patch_node(name, json!({"metadata": {"labels": labels}}))
            .await?;
        Ok(true)
    }

    /// Sets annotations; says whether one was missing or different.
    pub async fn annotate_node(
        &self,
        name: &str,
        annotations: &BTreeMap<String, String>,
    ) -> Result<bool, ClusterError> {
        let node = self.find_node(name).await?;
        let held = node.and_then(|node| node.metadata.annotations);
        let held = held.unwrap_or_default();
        let right = annotations
            .iter()
            .all(|(key, value)| held.get(key) == Some(value));
        if right {
            return Ok(false);
        }
        self.patch_node(name, json!({"metadata": {"annotations": annotations}}))
            .await?;
        Ok(true)
    }

    /// Adds taints that the Node lacks, and keeps all others; says whether one was
    /// missing. The kubelet registers with them; a Node that was there before did
    /// not.
    pub async fn taint_node(&self, name: &str, taints: &[Taint]) -> Result<bool, ClusterError> {
        let name = name.to_lowercase();
        for _ in 0..ATTEMPTS {
            let Some(node) = self.find_node(&name).await? else {
                return Ok(false);
            };
            let held = node.spec.and_then(|spec| spec.taints).unwrap_or_default();
            let lacks = |taint: &&Taint| {
                let same = |other: &Taint| {
                    (&other.key, &other.effect, &other.value)
                        == (&taint.key, &taint.effect, &taint.value)
                };
                !held.iter().any(same)
            };
            let missing: Vec<&Taint> = taints.iter().filter(lacks).collect();
            if missing.is_empty() {
                return Ok(false);
            }
            let all: Vec<&Taint> = held.iter().chain(missing).collect();
            // The list is one value: a taint that somebody adds meanwhile must not
            // be lost, so the version that was read has to be there still.
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
        Err(ClusterError::NotUnderstood {
            what: format!("Node {name}"),
            reason: "it changes faster than a taint can be added".to_owned(),
        })
    }

    /// Keeps new pods away until [`Cluster::uncordon`].
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

    /// Lets pods come, unless somebody else cordoned the node.
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

    /// Deletes the Node; says whether it was there.
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

    /// Whether it is cordoned, and whether casement says that it did that.
    async fn cordon_state(&self, name: &str) -> Result<(bool, bool), ClusterError> {
        let node = self.find_node(name).await?.unwrap_or_default();
        let cordoned = node.spec.and_then(|spec| spec.unschedulable);
        let notes = node.metadata.annotations.unwrap_or_default();
        Ok((cordoned.unwrap_or(false), notes.contains_key(CORDONED)))
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
