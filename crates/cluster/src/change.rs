//! A change of the cluster as a value: shown by `plan`, carried out later.

use std::fmt;

use kube::api::{
    Api, ApiResource, DeleteParams, DynamicObject, Patch, PatchParams, Preconditions,
    ValidationDirective,
};
use kube::core::GroupVersionKind;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::FIELD_MANAGER;
use crate::connect::Cluster;
use crate::error::ClusterError;
use crate::owned::is_ours;
use crate::patch;

/// Which object.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ObjectRef {
    /// `apps/v1`.
    pub api_version: String,
    /// `DaemonSet`.
    pub kind: String,
    /// None for objects of the whole cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Its name.
    pub name: String,
}

impl ObjectRef {
    /// An object, with or without a namespace.
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

/// How a change is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Way {
    /// An object of somebody else's: one field, tested against its old value,
    /// which is kept for `reset --cluster`.
    Patch,
    /// An object of casement's own: applied on the server's side as a whole.
    Apply,
    /// An object of casement's own goes.
    Delete,
    /// flannel's pods on Linux start anew, all at once, with this overlay.
    Restart {
        /// Its number.
        vni: u32,
    },
}

/// One change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ClusterChange {
    /// The object.
    pub object: ObjectRef,
    /// The field as a JSON pointer; empty for the object as a whole.
    pub field: String,
    /// What is there; none if nothing is.
    pub before: Option<Value>,
    /// What will be there.
    pub after: Option<Value>,
    /// How it is made.
    pub way: Way,
    /// What stands still meanwhile, if anything does: such a change is made only
    /// with somebody's word for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outage: Option<String>,
}

/// What carrying a change out came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CarriedOut {
    /// It was made.
    Changed,
    /// It was so already.
    Already,
}

impl Cluster {
    /// Makes a change. What was planned on must still be there: otherwise the
    /// other's value stays, and it is a [`ClusterError::Conflict`].
    pub async fn carry_out(&self, change: &ClusterChange) -> Result<CarriedOut, ClusterError> {
        self.carry_out_telling(change, &|_| {}).await
    }

    /// The same; `tell` hears what is waited for.
    pub async fn carry_out_telling(
        &self,
        change: &ClusterChange,
        tell: &(dyn Fn(String) + Sync),
    ) -> Result<CarriedOut, ClusterError> {
        match change.way {
            Way::Patch => self.patch_field(change).await,
            Way::Apply => self.apply_owned(change).await,
            Way::Delete => self.delete_owned(&change.object).await,
            Way::Restart { vni } => {
                self.restart_flannel(vni, tell).await?;
                Ok(CarriedOut::Changed)
            }
        }
    }

    async fn patch_field(&self, change: &ClusterChange) -> Result<CarriedOut, ClusterError> {
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
            return Ok(CarriedOut::Already);
        }
        if found != change.before {
            return Err(conflict(found));
        }
        let was_due = change.outage.is_some() && self.is_restart_pending().await?;
        self.remember(change).await?;
        if self.send_patch(change, &live).await? {
            return Ok(CarriedOut::Changed);
        }
        let live = self.get(&change.object).await?;
        self.forget(&change.object, &change.field).await?;
        if change.outage.is_some() && !was_due {
            self.note_restart(false).await?;
        }
        Err(conflict(
            live.and_then(|live| live.pointer(&change.field).cloned()),
        ))
    }

    /// Whether the patch was taken: false if its test failed.
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
            // A failed test is "unprocessable"; so is an invalid object, which
            // the caller tells apart by looking again.
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

    async fn apply_owned(&self, change: &ClusterChange) -> Result<CarriedOut, ClusterError> {
        let Some(manifest) = &change.after else {
            return self.delete_owned(&change.object).await;
        };
        // Planned anew, so that nobody else's object of that name is taken over.
        if self.plan_owned(manifest).await?.is_none() {
            return Ok(CarriedOut::Already);
        }
        let params = PatchParams {
            field_validation: Some(ValidationDirective::Strict),
            ..PatchParams::apply(FIELD_MANAGER).force()
        };
        let api = self.api(&change.object);
        let patch = Patch::Apply(manifest);
        let applied = api.patch(&change.object.name, &params, &patch).await;
        applied.map_err(self.failed(format!("apply {}", change.object)))?;
        Ok(CarriedOut::Changed)
    }

    async fn delete_owned(&self, object: &ObjectRef) -> Result<CarriedOut, ClusterError> {
        let Some(live) = self.get(object).await?.filter(is_ours) else {
            return Ok(CarriedOut::Already);
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
            Ok(_) => Ok(CarriedOut::Changed),
            Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => {
                Ok(CarriedOut::Already)
            }
            Err(error) => Err(self.failed(format!("delete {object}"))(error)),
        }
    }

    /// The object as it is, if it is.
    pub(crate) async fn get(&self, object: &ObjectRef) -> Result<Option<Value>, ClusterError> {
        let found = self.api(object).get_opt(&object.name).await;
        let found = found.map_err(self.failed(format!("read {object}")))?;
        let value = found.map(serde_json::to_value).transpose();
        value.map_err(|error| ClusterError::NotUnderstood {
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
