//! Deletion: preconditions, finalizers, grace periods of running pods, dependents.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::defaults::put;
use super::hooks;
use super::status_error::StatusError;
use super::time;
use super::write::{ObjectRef, Writer};

/// Kinds whose deletion returns the object instead of a Status.
const RETURNED_ON_DELETE: &[&str] = &["Namespace", "Pod", "Service", "ServiceAccount"];

#[derive(Debug, Clone, Default)]
pub(super) struct DeleteOptions {
    uid: Option<String>,
    version: Option<String>,
    grace: Option<i64>,
    orphan: bool,
}

impl DeleteOptions {
    pub(super) fn read(body: &Value, grace: &str, propagation: &str) -> Self {
        let text = |pointer: &str| body.pointer(pointer).and_then(Value::as_str);
        let policy = text("/propagationPolicy").unwrap_or(propagation);
        Self {
            uid: text("/preconditions/uid").map(str::to_owned),
            version: text("/preconditions/resourceVersion").map(str::to_owned),
            grace: body["gracePeriodSeconds"]
                .as_i64()
                .or_else(|| grace.parse().ok()),
            orphan: policy == "Orphan" || body["orphanDependents"] == true,
        }
    }
}

impl Writer<'_> {
    /// Deletes an object, or marks it if finalizers or a grace period delay the deletion.
    pub(super) fn delete(
        &mut self,
        target: &ObjectRef,
        options: &DeleteOptions,
    ) -> Result<Value, StatusError> {
        let kind = target.kind;
        let live = self.state.store.get(&target.key).cloned();
        let live = live.ok_or_else(|| StatusError::not_found(kind, &target.key.name))?;
        self.check_preconditions(target, &live, options)?;
        if self.dry_run {
            return Ok(response(target, &live));
        }
        let finalizers = live["metadata"]["finalizers"].as_array();
        let blocked = finalizers.is_some_and(|list| !list.is_empty());
        let grace = grace(target, &live, options);
        if blocked || grace > 0 {
            return Ok(self.mark_deleted(target, &live, grace));
        }
        if kind.kind == "Namespace" {
            return Ok(self.delete_namespace(target, &live));
        }
        let mut last = Value::clone(&live);
        if kind.kind == "Pod" {
            put(
                &mut last,
                &["metadata", "deletionTimestamp"],
                json!(time::now()),
            );
            put(
                &mut last,
                &["metadata", "deletionGracePeriodSeconds"],
                json!(0),
            );
        }
        hooks::remove(self.state, &target.key, !options.orphan);
        Ok(response(target, &last))
    }

    fn check_preconditions(
        &self,
        target: &ObjectRef,
        live: &Value,
        options: &DeleteOptions,
    ) -> Result<(), StatusError> {
        let differs = |expected: &Option<String>, key: &str| {
            let actual = live["metadata"][key]
                .as_str()
                .unwrap_or_default()
                .to_owned();
            let expected = expected.clone().filter(|expected| *expected != actual)?;
            Some((expected, actual))
        };
        if let Some((expected, actual)) = differs(&options.uid, "uid") {
            let message = format!(
                "the UID in the precondition ({expected}) does not match the UID in record \
                 ({actual}). The object might have been deleted and then recreated"
            );
            return Err(StatusError::precondition_failed(
                target.kind,
                &target.key.name,
                &message,
            ));
        }
        if let Some((expected, actual)) = differs(&options.version, "resourceVersion") {
            let message = format!(
                "the ResourceVersion in the precondition ({expected}) does not match the \
                 ResourceVersion in record ({actual}). The object might have been modified"
            );
            return Err(StatusError::precondition_failed(
                target.kind,
                &target.key.name,
                &message,
            ));
        }
        Ok(())
    }

    /// It is removed once its finalizers are gone or its kubelet confirms.
    fn mark_deleted(&mut self, target: &ObjectRef, live: &Arc<Value>, grace: i64) -> Value {
        if live["metadata"].get("deletionTimestamp").is_some() {
            return Value::clone(live);
        }
        let end = Timestamp::now().saturating_add(SignedDuration::from_secs(grace));
        let end = end.map_or_else(|_| time::now(), time::format_seconds);
        let mut marked = Value::clone(live);
        put(&mut marked, &["metadata", "deletionTimestamp"], json!(end));
        put(
            &mut marked,
            &["metadata", "deletionGracePeriodSeconds"],
            json!(grace),
        );
        if let Some(generation) = live["metadata"]["generation"].as_i64() {
            put(
                &mut marked,
                &["metadata", "generation"],
                json!(generation + 1),
            );
        }
        Value::clone(&self.state.store.put(target.key.clone(), marked))
    }

    /// Removes the namespace and everything in it at once.
    fn delete_namespace(&mut self, target: &ObjectRef, live: &Value) -> Value {
        let mut marked = live.clone();
        put(
            &mut marked,
            &["metadata", "deletionTimestamp"],
            json!(time::now()),
        );
        put(&mut marked, &["status", "phase"], json!("Terminating"));
        let marked = self.state.store.put(target.key.clone(), marked);
        let contents: Vec<_> = self
            .state
            .store
            .everything()
            .filter(|(key, _)| key.namespace == target.key.name)
            .map(|(key, _)| key.clone())
            .collect();
        for key in contents {
            self.state.store.remove(&key);
        }
        self.state.store.remove(&target.key);
        Value::clone(&marked)
    }
}

/// A scheduled pod has a grace period; its kubelet then deletes it with 0.
fn grace(target: &ObjectRef, live: &Value, options: &DeleteOptions) -> i64 {
    let bound = live["spec"]["nodeName"]
        .as_str()
        .is_some_and(|node| !node.is_empty());
    let finished = matches!(
        live["status"]["phase"].as_str(),
        Some("Succeeded" | "Failed")
    );
    if target.kind.kind != "Pod" || !bound || finished {
        return 0;
    }
    let own = live["spec"]["terminationGracePeriodSeconds"].as_i64();
    options.grace.or(own).unwrap_or(30)
}

fn response(target: &ObjectRef, last: &Value) -> Value {
    if RETURNED_ON_DELETE.contains(&target.kind.kind) {
        return last.clone();
    }
    let mut details = json!({
        "name": target.key.name, "kind": target.kind.plural, "uid": last["metadata"]["uid"],
    });
    if !target.kind.group.is_empty() {
        put(&mut details, &["group"], json!(target.kind.group));
    }
    json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success",
        "details": details,
    })
}
