//! Creates, replaces, patches and applies objects.

use std::sync::Arc;

use serde_json::{Value, json};

use super::decode::{self, FieldValidation};
use super::defaults::{fill, put, set as set_defaults};
use super::hooks;
use super::kinds::Kind;
use super::managers::{self, Manager};
use super::patch::{self, PatchType};
use super::pki::Pki;
use super::rbac::{self, ResourceAttributes, User};
use super::state::State;
use super::status_error::StatusError;
use super::store::Key;
use super::{apply, time, validation};

pub(super) struct Writer<'a> {
    pub(super) state: &'a mut State,
    pub(super) pki: &'a Pki,
    pub(super) user: &'a User,
    /// The field manager.
    pub(super) manager: String,
    pub(super) dry_run: bool,
    pub(super) field_validation: FieldValidation,
    pub(super) warnings: Vec<String>,
}

/// An object or one of its subresources.
#[derive(Clone)]
pub(super) struct ObjectRef {
    pub(super) kind: &'static Kind,
    pub(super) key: Key,
    /// `status`, `approval`; empty for the object itself.
    pub(super) subresource: String,
}

pub(super) enum WriteOutcome {
    Created(Arc<Value>),
    Changed(Arc<Value>),
}

impl Writer<'_> {
    fn manager(&self, target: &ObjectRef) -> Manager {
        Manager {
            name: self.manager.clone(),
            subresource: target.subresource.clone(),
            api_version: target.kind.api_version(),
        }
    }

    /// Creates an object; the name comes from the body.
    pub(super) fn create(
        &mut self,
        target: &ObjectRef,
        body: Value,
    ) -> Result<Arc<Value>, StatusError> {
        let (mut object, warnings) = decode::object(target.kind, body, self.field_validation)?;
        self.warnings.extend(warnings);
        let namespace = object["metadata"]["namespace"].as_str().unwrap_or_default();
        if !namespace.is_empty() && namespace != target.key.namespace {
            return Err(StatusError::bad_request(
                "the namespace of the provided object does not match the namespace sent on the request",
            ));
        }
        if object["metadata"]
            .get("resourceVersion")
            .is_some_and(|version| version != "")
        {
            return Err(StatusError::bad_request(
                "resourceVersion should not be set on objects to be created",
            ));
        }
        if let (Value::Null, Some(prefix)) = (
            &object["metadata"]["name"],
            object["metadata"]["generateName"].as_str(),
        ) {
            let name = self.generate_name(target, prefix)?;
            put(&mut object, &["metadata", "name"], json!(name));
        }
        let manager = self.manager(target);
        self.insert(target, object, |object| {
            managers::record_update(None, object, &manager)
        })
    }

    /// An unused name, after a limited number of tries.
    fn generate_name(&self, target: &ObjectRef, prefix: &str) -> Result<String, StatusError> {
        const TRIES: usize = 8;
        let mut name = String::new();
        for _ in 0..TRIES {
            name = format!(
                "{prefix}{}",
                random_hex::<3>()?.get(..5).unwrap_or_default()
            );
            let key = Key {
                name: name.clone(),
                ..target.key.clone()
            };
            if self.state.store.get(&key).is_none() {
                break;
            }
        }
        Ok(name)
    }

    /// The common part of a create and an apply of a new object.
    fn insert(
        &mut self,
        target: &ObjectRef,
        mut object: Value,
        record: impl FnOnce(&mut Value),
    ) -> Result<Arc<Value>, StatusError> {
        let kind = target.kind;
        let key = Key {
            name: object["metadata"]["name"]
                .as_str()
                .unwrap_or_default()
                .to_owned(),
            ..target.key.clone()
        };
        self.check_namespace(&key)?;
        if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            for field in [
                "managedFields",
                "resourceVersion",
                "deletionTimestamp",
                "selfLink",
            ] {
                metadata.remove(field);
            }
        }
        if !key.namespace.is_empty() {
            put(
                &mut object,
                &["metadata", "namespace"],
                json!(key.namespace),
            );
        }
        // A kubelet registers its Node with a status; for other kinds it is ignored.
        if kind.status
            && kind.kind != "Node"
            && let Some(fields) = object.as_object_mut()
        {
            fields.remove("status");
        }
        set_defaults(kind, &mut object);
        hooks::before_create(self.user, kind, &mut object);
        validation::validate(kind, &object, None)?;
        rbac::check_escalation(&self.state.store, self.user, kind, &object)?;
        if self.state.store.get(&key).is_some() {
            return Err(StatusError::already_exists(kind, &key.name));
        }
        if kind.generation {
            put(&mut object, &["metadata", "generation"], json!(1));
        }
        record(&mut object);
        hooks::set_server_fields(self.state, kind, &mut object)?;
        put(&mut object, &["metadata", "uid"], json!(uid()?));
        put(
            &mut object,
            &["metadata", "creationTimestamp"],
            json!(time::now()),
        );
        if self.dry_run {
            return Ok(Arc::new(object));
        }
        let created = self.state.store.put(key.clone(), object);
        hooks::after_write(self.state, self.pki, kind, &key);
        Ok(created)
    }

    fn check_namespace(&self, key: &Key) -> Result<(), StatusError> {
        let kind = super::kinds::by_name("Namespace");
        let Some(kind) = kind.filter(|_| !key.namespace.is_empty()) else {
            return Ok(());
        };
        match self.state.get("Namespace", "", &key.namespace) {
            Some(_) => Ok(()),
            None => Err(StatusError::not_found(kind, &key.namespace)),
        }
    }

    fn live(&self, target: &ObjectRef) -> Result<Arc<Value>, StatusError> {
        let live = self.state.store.get(&target.key).cloned();
        live.ok_or_else(|| StatusError::not_found(target.kind, &target.key.name))
    }

    /// Replaces an object or a subresource.
    pub(super) fn replace(
        &mut self,
        target: &ObjectRef,
        body: Value,
    ) -> Result<Arc<Value>, StatusError> {
        let (object, warnings) = decode::object(target.kind, body, self.field_validation)?;
        self.warnings.extend(warnings);
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        if name != target.key.name {
            return Err(StatusError::bad_request(format!(
                "the name of the object ({name}) does not match the name on the URL ({})",
                target.key.name
            )));
        }
        let live = self.live(target)?;
        let manager = self.manager(target);
        self.commit(target, &live, object, |new| {
            managers::record_update(Some(&live), new, &manager)
        })
    }

    pub(super) fn patch(
        &mut self,
        target: &ObjectRef,
        patch_type: PatchType,
        patch: Value,
    ) -> Result<Arc<Value>, StatusError> {
        let live = self.live(target)?;
        let patched = patch::apply_patch(&live, patch_type, patch)?;
        let (object, warnings) = decode::object(target.kind, patched, self.field_validation)?;
        self.warnings.extend(warnings);
        let manager = self.manager(target);
        self.commit(target, &live, object, |new| {
            managers::record_update(Some(&live), new, &manager)
        })
    }

    /// Server-side apply; creates the object if it does not exist.
    pub(super) fn apply(
        &mut self,
        target: &ObjectRef,
        body: Value,
        force: bool,
    ) -> Result<WriteOutcome, StatusError> {
        let text = |key: &str| body[key].as_str().unwrap_or_default();
        if text("apiVersion").is_empty() || text("kind").is_empty() {
            let (group, version) = text("apiVersion")
                .split_once('/')
                .unwrap_or(("", text("apiVersion")));
            let message = format!(
                "invalid object type: {group}/{version}, Kind={}",
                text("kind")
            );
            return Err(StatusError::bad_request(message));
        }
        let mut desired = decode::applied(target.kind, body)?;
        put(&mut desired, &["metadata", "name"], json!(target.key.name));
        let manager = self.manager(target);
        let Some(live) = self.state.store.get(&target.key).cloned() else {
            return self.apply_new(target, &desired, &manager);
        };
        let version = desired["metadata"]["resourceVersion"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        if !version.is_empty() && live["metadata"]["resourceVersion"] != version {
            return Err(StatusError::conflict(target.kind, &target.key.name));
        }
        let result = apply::server_side_apply(&live, &desired, &manager, force)?;
        let entries = managers::entries(&result);
        let changed = self.commit(target, &live, result, |new| {
            managers::set_entries(new, entries)
        })?;
        Ok(WriteOutcome::Changed(changed))
    }

    fn apply_new(
        &mut self,
        target: &ObjectRef,
        desired: &Value,
        manager: &Manager,
    ) -> Result<WriteOutcome, StatusError> {
        if !target.subresource.is_empty() {
            return Err(StatusError::not_found(target.kind, &target.key.name));
        }
        let attributes = ResourceAttributes {
            verb: "create",
            group: target.kind.group,
            resource: target.kind.plural,
            namespace: &target.key.namespace,
            name: &target.key.name,
        };
        rbac::authorize(&self.state.store, self.user, &attributes)?;
        let empty = json!({
            "apiVersion": target.kind.api_version(), "kind": target.kind.kind,
            "metadata": {"name": target.key.name},
        });
        let result = apply::server_side_apply(&empty, desired, manager, false)?;
        let entries = managers::entries(&result);
        let (object, _) = decode::object(target.kind, result, FieldValidation::Ignore)?;
        let created = self.insert(target, object, |object| {
            managers::set_entries(object, entries)
        })?;
        Ok(WriteOutcome::Created(created))
    }

    /// Stores a changed object; server-managed metadata is kept.
    fn commit(
        &mut self,
        target: &ObjectRef,
        live: &Value,
        desired: Value,
        record: impl FnOnce(&mut Value),
    ) -> Result<Arc<Value>, StatusError> {
        let kind = target.kind;
        let version = desired["metadata"]["resourceVersion"]
            .as_str()
            .unwrap_or_default();
        if !version.is_empty() && live["metadata"]["resourceVersion"] != version {
            return Err(StatusError::conflict(kind, &target.key.name));
        }
        let mut new = merge_subresource(target, live, desired);
        for field in [
            "name",
            "namespace",
            "uid",
            "creationTimestamp",
            "deletionTimestamp",
            "deletionGracePeriodSeconds",
            "generation",
            "resourceVersion",
        ] {
            match live["metadata"].get(field) {
                Some(value) => put(&mut new, &["metadata", field], value.clone()),
                None => {
                    if let Some(metadata) = new.get_mut("metadata").and_then(Value::as_object_mut) {
                        metadata.remove(field);
                    }
                }
            }
        }
        set_defaults(kind, &mut new);
        validation::validate(kind, &new, Some(live))?;
        if kind.group == "rbac.authorization.k8s.io" && new["rules"] != live["rules"] {
            rbac::check_escalation(&self.state.store, self.user, kind, &new)?;
        }
        record(&mut new);
        hooks::update_generation(kind, &mut new, live);
        if new == *live {
            return self.live(target);
        }
        if self.dry_run {
            return Ok(Arc::new(new));
        }
        let written = self.state.store.put(target.key.clone(), new);
        hooks::after_write(self.state, self.pki, kind, &target.key);
        let finalizers = written["metadata"]["finalizers"].as_array();
        let done = finalizers.is_none_or(Vec::is_empty);
        if written["metadata"].get("deletionTimestamp").is_some() && done && kind.kind != "Pod" {
            hooks::remove(self.state, &target.key, true);
        }
        Ok(self
            .state
            .store
            .get(&target.key)
            .cloned()
            .unwrap_or(written))
    }
}

/// The live object with only the targeted subresource changed.
fn merge_subresource(target: &ObjectRef, live: &Value, desired: Value) -> Value {
    let copy_field = |from: &Value, into: &mut Value, key: &str| {
        if let Some(fields) = into.as_object_mut() {
            match from.get(key) {
                Some(value) => fields.insert(key.to_owned(), value.clone()),
                None => fields.remove(key),
            };
        }
    };
    match target.subresource.as_str() {
        "" => {
            let mut new = desired;
            if target.kind.status {
                copy_field(live, &mut new, "status");
            }
            new
        }
        "approval" => {
            let mut new = live.clone();
            let conditions = desired["status"]["conditions"].clone();
            fill(&mut new, &["status"], json!({}));
            put(&mut new, &["status", "conditions"], conditions);
            new
        }
        _ => {
            let mut new = live.clone();
            copy_field(&desired, &mut new, "status");
            // Kubelets set annotations of their Node together with its status.
            for key in ["labels", "annotations", "managedFields"] {
                if let (Some(from), Some(into)) = (desired.get("metadata"), new.get_mut("metadata"))
                {
                    copy_field(from, into, key);
                }
            }
            new
        }
    }
}

pub(super) fn random_hex<const N: usize>() -> Result<String, StatusError> {
    crate::random::hex::<N>().map_err(|error| StatusError::internal(error.to_string()))
}

pub(super) fn uid() -> Result<String, StatusError> {
    let digits = random_hex::<16>()?;
    let part = |from: usize, to: usize| digits.get(from..to).unwrap_or_default();
    Ok(format!(
        "{}-{}-4{}-a{}-{}",
        part(0, 8),
        part(8, 12),
        part(13, 16),
        part(17, 20),
        part(20, 32)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api_server::kinds;
    use crate::api_server::seed::{self, Seed};

    #[test]
    fn generated_names_are_unique() {
        let seed = Seed::default();
        let pki = Pki::new().unwrap();
        let server = seed::server(&seed, seed.listen, pki).unwrap();
        let user = User::new("test-user", &["system:masters"]);
        let mut state = server.state();
        let mut writer = Writer {
            state: &mut state,
            pki: &server.pki,
            user: &user,
            manager: "test".to_owned(),
            dry_run: false,
            field_validation: FieldValidation::Strict,
            warnings: Vec::new(),
        };
        let kind = kinds::by_name("ConfigMap").unwrap();
        let target = ObjectRef {
            kind,
            key: Key::new(kind, "default", ""),
            subresource: String::new(),
        };
        let map = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "map-"},
        });
        // Enough for collisions of random names.
        for _ in 0..4000 {
            writer.create(&target, map.clone()).unwrap();
        }
    }
}
