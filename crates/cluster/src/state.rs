//! What the cluster's objects held before casement changed them: the ConfigMap
//! `kube-system/casement-state`, one entry for each field.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, DeleteParams, ObjectMeta, Patch, PatchParams, PostParams};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::Digest as _;

use crate::change::{ClusterChange, ObjectRef};
use crate::connect::Cluster;
use crate::error::ClusterError;
use crate::{FIELD_MANAGER, OWNED_LABEL};

const NAMESPACE: &str = "kube-system";
const NAME: &str = "casement-state";
/// There from before a change of flannel's configuration until its pods run with it:
/// a run that is cut off in between leaves word for the next.
const RESTART: &str = "restart.flannel";
/// Two runs at once may each have to look again.
const ATTEMPTS: u32 = 10;

/// One field that casement changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Remembered {
    pub(crate) object: ObjectRef,
    pub(crate) field: String,
    pub(crate) before: Option<Value>,
    pub(crate) after: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) outage: Option<String>,
}

type Entries = BTreeMap<String, String>;

/// The key of an entry; keys of a ConfigMap allow few characters.
fn key(object: &ObjectRef, field: &str) -> String {
    let text = format!("{} {} {field}", object.api_version, object);
    let digest = sha2::Sha256::digest(text.as_bytes());
    let digest: String = digest
        .iter()
        .take(8)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    format!("{}.{digest}", object.kind.to_lowercase())
}

impl Cluster {
    /// Notes the value that a change is about to replace.
    pub(crate) async fn remember(&self, change: &ClusterChange) -> Result<(), ClusterError> {
        self.edit_state(|entries| {
            let key = key(&change.object, &change.field);
            let held = entries.get(&key).and_then(|text| read(text));
            // What was there before casement's first change is what goes back,
            // unless somebody else has changed it since.
            let before = match held {
                Some(held) if held.after == change.before || held.before == change.before => {
                    held.before
                }
                _ => change.before.clone(),
            };
            let entry = Remembered {
                object: change.object.clone(),
                field: change.field.clone(),
                before,
                after: change.after.clone(),
                outage: change.outage.clone(),
            };
            if change.outage.is_some() {
                entries.insert(RESTART.to_owned(), "due".to_owned());
            }
            if let Ok(text) = serde_json::to_string(&entry) {
                entries.insert(key, text);
            }
        })
        .await
    }

    /// Notes that flannel's pods have to start anew, or that they have.
    pub(crate) async fn note_restart(&self, due: bool) -> Result<(), ClusterError> {
        if !due && !self.is_restart_pending().await? {
            return Ok(());
        }
        self.edit_state(|entries| match due {
            true => {
                entries.insert(RESTART.to_owned(), "due".to_owned());
            }
            false => {
                entries.remove(RESTART);
            }
        })
        .await
    }

    /// Whether they have to.
    pub(crate) async fn is_restart_pending(&self) -> Result<bool, ClusterError> {
        Ok(self.entries().await?.contains_key(RESTART))
    }

    /// Drops a note.
    pub(crate) async fn forget(&self, object: &ObjectRef, field: &str) -> Result<(), ClusterError> {
        let key = key(object, field);
        self.edit_state(|entries| {
            entries.remove(&key);
        })
        .await
    }

    /// All notes.
    pub(crate) async fn remembered(&self) -> Result<Vec<Remembered>, ClusterError> {
        let entries = self.entries().await?;
        Ok(entries.values().filter_map(|text| read(text)).collect())
    }

    async fn entries(&self) -> Result<Entries, ClusterError> {
        let state = self.state().get_opt(NAME).await;
        let state = state.map_err(self.failed("read ConfigMap kube-system/casement-state"))?;
        Ok(state.and_then(|state| state.data).unwrap_or_default())
    }

    /// Removes the ConfigMap once nothing is left in it.
    pub(crate) async fn drop_state(&self) -> Result<(), ClusterError> {
        if !self.entries().await?.is_empty() {
            return Ok(());
        }
        match self.state().delete(NAME, &DeleteParams::default()).await {
            Ok(_) => Ok(()),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
            Err(error) => Err(self.failed("delete ConfigMap kube-system/casement-state")(
                error,
            )),
        }
    }

    /// Reads, edits and applies, with the version that was read: a write in
    /// between is noticed, and the edit done again on top of it.
    async fn edit_state(&self, edit: impl Fn(&mut Entries)) -> Result<(), ClusterError> {
        let what = "change ConfigMap kube-system/casement-state";
        let mut last = None;
        for _ in 0..ATTEMPTS {
            let state = self.state_or_new().await?;
            let mut entries = state.data.unwrap_or_default();
            let held = entries.clone();
            edit(&mut entries);
            if entries == held {
                return Ok(());
            }
            let (label, value) = OWNED_LABEL;
            let manifest = json!({
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {
                    "name": NAME,
                    "labels": {label: value},
                    "resourceVersion": state.metadata.resource_version,
                },
                "data": entries,
            });
            let params = PatchParams::apply(FIELD_MANAGER).force();
            let patch = Patch::Apply(manifest);
            match self.state().patch(NAME, &params, &patch).await {
                Ok(_) => return Ok(()),
                Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => {
                    last = Some(kube::Error::Api(status));
                }
                Err(error) => return Err(self.failed(what)(error)),
            }
        }
        match last {
            Some(error) => Err(self.failed(what)(error)),
            None => Ok(()),
        }
    }

    async fn state_or_new(&self) -> Result<ConfigMap, ClusterError> {
        let what = "make ConfigMap kube-system/casement-state";
        let found = self.state().get_opt(NAME).await;
        if let Some(found) = found.map_err(self.failed(what))? {
            return Ok(found);
        }
        let (label, value) = OWNED_LABEL;
        let empty = ConfigMap {
            metadata: ObjectMeta {
                name: Some(NAME.to_owned()),
                labels: Some([(label.to_owned(), value.to_owned())].into()),
                ..ObjectMeta::default()
            },
            ..ConfigMap::default()
        };
        let params = PostParams {
            field_manager: Some(FIELD_MANAGER.to_owned()),
            ..PostParams::default()
        };
        match self.state().create(&params, &empty).await {
            Ok(made) => Ok(made),
            Err(kube::Error::Api(status)) if status.code == 409 => {
                let found = self.state().get(NAME).await;
                found.map_err(self.failed(what))
            }
            Err(error) => Err(self.failed(what)(error)),
        }
    }

    fn state(&self) -> Api<ConfigMap> {
        Api::namespaced(self.client.clone(), NAMESPACE)
    }
}

fn read(text: &str) -> Option<Remembered> {
    serde_json::from_str(text).ok()
}
