//! Deleting: preconditions, finalizers, the grace of running pods, and what goes
//! along.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::defaults::put;
use super::reactions;
use super::refusal::Refusal;
use super::time;
use super::write::{Place, Writer};

/// Kinds whose deletion answers with the object, not with a Status.
const ANSWERED_WITH_THE_OBJECT: &[&str] = &["Namespace", "Pod", "Service", "ServiceAccount"];

/// How something is deleted.
#[derive(Debug, Clone, Default)]
pub(super) struct Deletion {
    uid: Option<String>,
    version: Option<String>,
    grace: Option<i64>,
    orphan: bool,
}

impl Deletion {
    /// From the body, if there is one, and the query.
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
    /// Deletes an object, or marks it where somebody has to agree first.
    pub(super) fn delete(&mut self, place: &Place, how: &Deletion) -> Result<Value, Refusal> {
        let kind = place.kind;
        let live = self.state.store.get(&place.key).cloned();
        let live = live.ok_or_else(|| Refusal::not_found(kind, &place.key.name))?;
        self.demand_preconditions(place, &live, how)?;
        if self.dry_run {
            return Ok(answer(place, &live));
        }
        let finalizers = live["metadata"]["finalizers"].as_array();
        let held = finalizers.is_some_and(|list| !list.is_empty());
        let grace = grace(place, &live, how);
        if held || grace > 0 {
            return Ok(self.mark(place, &live, grace));
        }
        if kind.kind == "Namespace" {
            return Ok(self.empty_namespace(place, &live));
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
        reactions::remove(self.state, &place.key, !how.orphan);
        Ok(answer(place, &last))
    }

    fn demand_preconditions(
        &self,
        place: &Place,
        live: &Value,
        how: &Deletion,
    ) -> Result<(), Refusal> {
        let differs = |wanted: &Option<String>, key: &str| {
            let held = live["metadata"][key]
                .as_str()
                .unwrap_or_default()
                .to_owned();
            let wanted = wanted.clone().filter(|wanted| *wanted != held)?;
            Some((wanted, held))
        };
        if let Some((wanted, held)) = differs(&how.uid, "uid") {
            let why = format!(
                "the UID in the precondition ({wanted}) does not match the UID in record ({held}). \
                 The object might have been deleted and then recreated"
            );
            return Err(Refusal::precondition(place.kind, &place.key.name, &why));
        }
        if let Some((wanted, held)) = differs(&how.version, "resourceVersion") {
            let why = format!(
                "the ResourceVersion in the precondition ({wanted}) does not match the \
                 ResourceVersion in record ({held}). The object might have been modified"
            );
            return Err(Refusal::precondition(place.kind, &place.key.name, &why));
        }
        Ok(())
    }

    /// It goes once its finalizers are gone, or its kubelet says so.
    fn mark(&mut self, place: &Place, live: &Arc<Value>, grace: i64) -> Value {
        if live["metadata"].get("deletionTimestamp").is_some() {
            return Value::clone(live);
        }
        let end = Timestamp::now().saturating_add(SignedDuration::from_secs(grace));
        let end = end.map_or_else(|_| time::now(), time::written);
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
        Value::clone(&self.state.store.put(place.key.clone(), marked))
    }

    /// Everything in it goes with it, at once.
    fn empty_namespace(&mut self, place: &Place, live: &Value) -> Value {
        let mut marked = live.clone();
        put(
            &mut marked,
            &["metadata", "deletionTimestamp"],
            json!(time::now()),
        );
        put(&mut marked, &["status", "phase"], json!("Terminating"));
        let marked = self.state.store.put(place.key.clone(), marked);
        let inside: Vec<_> = self
            .state
            .store
            .everything()
            .filter(|(key, _)| key.namespace == place.key.name)
            .map(|(key, _)| key.clone())
            .collect();
        for key in inside {
            self.state.store.remove(&key);
        }
        self.state.store.remove(&place.key);
        Value::clone(&marked)
    }
}

/// A pod that runs somewhere is given time; its kubelet deletes it with none.
fn grace(place: &Place, live: &Value, how: &Deletion) -> i64 {
    let bound = live["spec"]["nodeName"]
        .as_str()
        .is_some_and(|node| !node.is_empty());
    let over = matches!(
        live["status"]["phase"].as_str(),
        Some("Succeeded" | "Failed")
    );
    if place.kind.kind != "Pod" || !bound || over {
        return 0;
    }
    let own = live["spec"]["terminationGracePeriodSeconds"].as_i64();
    how.grace.or(own).unwrap_or(30)
}

fn answer(place: &Place, last: &Value) -> Value {
    if ANSWERED_WITH_THE_OBJECT.contains(&place.kind.kind) {
        return last.clone();
    }
    let mut details = json!({
        "name": place.key.name, "kind": place.kind.plural, "uid": last["metadata"]["uid"],
    });
    if !place.kind.group.is_empty() {
        put(&mut details, &["group"], json!(place.kind.group));
    }
    json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success",
        "details": details,
    })
}
