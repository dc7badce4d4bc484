//! A change of the cluster as a value: shown by `plan`, applied later.

use std::fmt;

use kube::api::{
    Api, ApiResource, DeleteParams, DynamicObject, Patch, PatchParams, Preconditions,
    ValidationDirective,
};
use kube::core::GroupVersionKind;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::FIELD_MANAGER;
use crate::client::ClusterClient;
use crate::error::ClusterError;
use crate::owned::is_owned;
use crate::patch;

#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ObjectRef {
    /// `apps/v1`.
    pub api_version: String,
    /// `DaemonSet`.
    pub kind: String,
    /// None for cluster-scoped objects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    pub name: String,
}

impl ObjectRef {
    pub fn new(api_version: &str, kind: &str, namespace: Option<&str>, name: &str) -> Self {
        Self {
            api_version: api_version.to_owned(),
            kind: kind.to_owned(),
            namespace: namespace.map(str::to_owned),
            name: name.to_owned(),
        }
    }
}

impl fmt::Display for ObjectRef {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} ", self.kind)?;
        if let Some(namespace) = &self.namespace {
            write!(formatter, "{namespace}/")?;
        }
        formatter.write_str(&self.name)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ChangeMethod {
    /// Sets one field of an object that casement does not own. The prior value is
    /// tested, and saved for `reset --cluster`.
    Patch,
    /// Server-side apply of a whole object that casement owns.
    Apply,
    /// Deletes an object that casement owns.
    Delete,
    /// Restarts all flannel pods on Linux at once, with this VNI.
    Restart { vni: u32 },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ClusterChange {
    pub object: ObjectRef,
    /// The field as a JSON pointer; empty for the object as a whole.
    pub field: String,
    pub before: Option<Value>,
    pub after: Option<Value>,
    #[serde(rename = "way")]
    pub method: ChangeMethod,
    /// What stops working meanwhile; such a change needs the user's explicit consent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outage: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApplyOutcome {
    Changed,
    Already,
}

impl ClusterClient {
    /// Applies a change. If the prior value is no longer the planned one, the live
    /// value is kept and the result is [`ClusterError::Conflict`].
    pub async fn apply(&self, change: &ClusterChange) -> Result<ApplyOutcome, ClusterError> {
        self.apply_with_progress(change, &|_| {}).await
    }

    /// Like [`Self::apply`]; `on_progress` receives what is being waited for.
    pub async fn apply_with_progress(
        &self,
        change: &ClusterChange,
        on_progress: &(dyn Fn(String) + Sync),
    ) -> Result<ApplyOutcome, ClusterError> {
        match change.method {
            ChangeMethod::Patch => self.patch_field(change).await,
            ChangeMethod::Apply => self.apply_owned(change).await,
            ChangeMethod::Delete => self.delete_owned(&change.object).await,
            ChangeMethod::Restart { vni } => {
                self.restart_flannel(&change.object, vni, on_progress)
                    .await?;
                Ok(ApplyOutcome::Changed)
            }
        }
    }

    async fn patch_field(&self, change: &ClusterChange) -> Result<ApplyOutcome, ClusterError> {
        let conflict = |found| ClusterError::Conflict {
            object: Box::new(change.object.clone()),
            field: change.field.clone(),
            planned: change.before.clone(),
            found,
        };
        let Some(live) = self.get(&change.object).await? else {
            return Err(conflict(None));
        };
        let found = live.pointer(&change.field).cloned();
        if found == change.after {
            return Ok(ApplyOutcome::Already);
        }
        if found != change.before {
            return Err(conflict(found));
        }
        let was_pending = change.outage.is_some() && self.is_restart_pending().await?;
        self.save_prior(change).await?;
        if self.send_patch(change, &live).await? {
            return Ok(ApplyOutcome::Changed);
        }
        let live = self.get(&change.object).await?;
        self.forget_prior(&change.object, &change.field).await?;
        if change.outage.is_some() && !was_pending {
            self.set_restart_pending(false).await?;
        }
        Err(conflict(
            live.and_then(|live| live.pointer(&change.field).cloned()),
        ))
    }

    /// False if the patch's test failed.
    pub(crate) async fn send_patch(
        &self,
        change: &ClusterChange,
        live: &Value,
    ) -> Result<bool, ClusterError> {
        let operations = patch::operations(live, change);
        let patch = Patch::Json::<()>(operations);
        let params = PatchParams {
            field_manager: Some(FIELD_MANAGER.to_owned()),
            ..PatchParams::default()
        };
        let api = self.api(&change.object);
        match api.patch(&change.object.name, &params, &patch).await {
            Ok(_) => Ok(true),
            // Both a failed test and an invalid object are "unprocessable": reading
            // the object again distinguishes them.
            Err(kube::Error::Api(status)) if status.code == 422 => {
                match self.get(&change.object).await? {
                    Some(now) if now.pointer(&change.field) == live.pointer(&change.field) => {
                        let error = kube::Error::Api(status);
                        Err(self.failed(format!("change {}", change.object))(error))
                    }
                    _ => Ok(false),
                }
            }
            Err(error) => Err(self.failed(format!("change {}", change.object))(error)),
        }
    }

    async fn apply_owned(&self, change: &ClusterChange) -> Result<ApplyOutcome, ClusterError> {
        let Some(manifest) = &change.after else {
            return self.delete_owned(&change.object).await;
        };
        // Planned again, so that a foreign object of that name is not taken over.
        if self.plan_owned(manifest).await?.is_none() {
            return Ok(ApplyOutcome::Already);
        }
        let params = PatchParams {
            field_validation: Some(ValidationDirective::Strict),
            ..PatchParams::apply(FIELD_MANAGER).force()
        };
        let api = self.api(&change.object);
        let patch = Patch::Apply(manifest);
        let applied = api.patch(&change.object.name, &params, &patch).await;
        applied.map_err(self.failed(format!("apply {}", change.object)))?;
        Ok(ApplyOutcome::Changed)
    }

    async fn delete_owned(&self, object: &ObjectRef) -> Result<ApplyOutcome, ClusterError> {
        let Some(live) = self.get(object).await?.filter(is_owned) else {
            return Ok(ApplyOutcome::Already);
        };
        let uid = live.pointer("/metadata/uid").and_then(Value::as_str);
        let params = DeleteParams {
            preconditions: uid.map(|uid| Preconditions {
                uid: Some(uid.to_owned()),
                resource_version: None,
            }),
            ..DeleteParams::default()
        };
        match self.api(object).delete(&object.name, &params).await {
            Ok(_) => Ok(ApplyOutcome::Changed),
            Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => {
                Ok(ApplyOutcome::Already)
            }
            Err(error) => Err(self.failed(format!("delete {object}"))(error)),
        }
    }

    pub(crate) async fn get(&self, object: &ObjectRef) -> Result<Option<Value>, ClusterError> {
        let found = self.api(object).get_opt(&object.name).await;
        let found = found.map_err(self.failed(format!("read {object}")))?;
        let value = found.map(serde_json::to_value).transpose();
        value.map_err(|error| ClusterError::Unusable {
            what: object.to_string(),
            reason: error.to_string(),
        })
    }

    pub(crate) fn api(&self, object: &ObjectRef) -> Api<DynamicObject> {
        let (group, version) = object
            .api_version
            .split_once('/')
            .unwrap_or(("", &object.api_version));
        let kind = GroupVersionKind::gvk(group, version, &object.kind);
        let resource = ApiResource::from_gvk(&kind);
        match &object.namespace {
            Some(namespace) => Api::namespaced_with(self.client.clone(), namespace, &resource),
            None => Api::all_with(self.client.clone(), &resource),
        }
    }
}
