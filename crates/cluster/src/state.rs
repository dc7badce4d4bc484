//! The prior values of fields that casement changed: the ConfigMap
//! `kube-system/casement-state`, one entry per field.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, DeleteParams, ObjectMeta, Patch, PatchParams, PostParams};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::Digest as _;

use crate::change::{ClusterChange, ObjectRef};
use crate::client::ClusterClient;
use crate::error::ClusterError;
use crate::{FIELD_MANAGER, OWNED_LABEL};

const NAMESPACE: &str = "kube-system";
const NAME: &str = "casement-state";
/// Set before flannel's configuration changes and removed when its pods run with it,
/// so that the next run can finish an interrupted one.
const RESTART: &str = "restart.flannel";
/// Concurrent runs retry on conflict.
const ATTEMPTS: u32 = 10;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SavedField {
    pub(crate) object: ObjectRef,
    pub(crate) field: String,
    pub(crate) before: Option<Value>,
    pub(crate) after: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) outage: Option<String>,
}

type Entries = BTreeMap<String, String>;

/// A digest, because ConfigMap keys allow few characters.
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

impl ClusterClient {
    /// Saves the value that a change is about to replace.
    pub(crate) async fn save_prior(&self, change: &ClusterChange) -> Result<(), ClusterError> {
        self.edit_state(|entries| {
            let key = key(&change.object, &change.field);
            let saved = entries.get(&key).and_then(|text| read(text));
            // The value before casement's first change is restored, unless someone
            // else has changed it since.
            let before = match saved {
                Some(saved) if saved.after == change.before || saved.before == change.before => {
                    saved.before
                }
                _ => change.before.clone(),
            };
            let entry = SavedField {
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

    /// Records whether flannel's pods still have to be restarted.
    pub(crate) async fn set_restart_pending(&self, pending: bool) -> Result<(), ClusterError> {
        if !pending && !self.is_restart_pending().await? {
            return Ok(());
        }
        self.edit_state(|entries| match pending {
            true => {
                entries.insert(RESTART.to_owned(), "due".to_owned());
            }
            false => {
                entries.remove(RESTART);
            }
        })
        .await
    }

    /// Whether flannel still has to be restarted with its current configuration.
    pub async fn is_restart_pending(&self) -> Result<bool, ClusterError> {
        Ok(self.entries().await?.contains_key(RESTART))
    }

    pub(crate) async fn forget_prior(
        &self,
        object: &ObjectRef,
        field: &str,
    ) -> Result<(), ClusterError> {
        let key = key(object, field);
        self.edit_state(|entries| {
            entries.remove(&key);
        })
        .await
    }

    pub(crate) async fn saved_fields(&self) -> Result<Vec<SavedField>, ClusterError> {
        let entries = self.entries().await?;
        Ok(entries.values().filter_map(|text| read(text)).collect())
    }

    async fn entries(&self) -> Result<Entries, ClusterError> {
        let state = self.state().get_opt(NAME).await;
        let state = state.map_err(self.failed("read ConfigMap kube-system/casement-state"))?;
        Ok(state.and_then(|state| state.data).unwrap_or_default())
    }

    pub(crate) async fn delete_empty_state(&self) -> Result<(), ClusterError> {
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

    /// Read-modify-write with the resource version that was read; retried on conflict.
    async fn edit_state(&self, edit: impl Fn(&mut Entries)) -> Result<(), ClusterError> {
        let what = "change ConfigMap kube-system/casement-state";
        let mut last = None;
        for _ in 0..ATTEMPTS {
            let state = self.state_or_new().await?;
            let mut entries = state.data.unwrap_or_default();
            let original = entries.clone();
            edit(&mut entries);
            if entries == original {
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
        let what = "create ConfigMap kube-system/casement-state";
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
            Ok(created) => Ok(created),
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

fn read(text: &str) -> Option<SavedField> {
    serde_json::from_str(text).ok()
}
