//! Creating, changing and deleting objects, one request at a time.

use std::sync::Arc;

use serde_json::{Value, json};

use super::decode::{self, Unknown};
use super::defaults::{fill, put, set as set_defaults};
use super::kinds::Kind;
use super::managers::{self, Manager};
use super::patch::{self, Form};
use super::pki::Pki;
use super::reactions;
use super::refusal::Refusal;
use super::rights::{self, Act, User};
use super::state::State;
use super::store::Key;
use super::{apply, time, valid};

/// Someone who writes.
pub(super) struct Writer<'a> {
    pub(super) state: &'a mut State,
    pub(super) pki: &'a Pki,
    pub(super) user: &'a User,
    /// The name that fields are owned under.
    pub(super) manager: String,
    pub(super) dry_run: bool,
    pub(super) unknown: Unknown,
    /// What the answer warns of.
    pub(super) warnings: Vec<String>,
}

/// An object of a kind, and the part of it that is meant.
#[derive(Clone)]
pub(super) struct Place {
    pub(super) kind: &'static Kind,
    pub(super) key: Key,
    /// `status`, `approval`; empty for the object itself.
    pub(super) subresource: String,
}

/// Whether an object is new.
pub(super) enum Written {
    Created(Arc<Value>),
    Changed(Arc<Value>),
}

impl Writer<'_> {
    fn manager(&self, place: &Place) -> Manager {
        Manager {
            name: self.manager.clone(),
            subresource: place.subresource.clone(),
            api_version: place.kind.api_version(),
        }
    }

    /// Makes an object; its key has no name yet.
    pub(super) fn create(&mut self, place: &Place, body: Value) -> Result<Arc<Value>, Refusal> {
        let (mut object, warnings) = decode::object(place.kind, body, self.unknown)?;
        self.warnings.extend(warnings);
        let given = object["metadata"]["namespace"].as_str().unwrap_or_default();
        if !given.is_empty() && given != place.key.namespace {
            return Err(Refusal::bad_request(
                "the namespace of the provided object does not match the namespace sent on the request",
            ));
        }
        if object["metadata"]
            .get("resourceVersion")
            .is_some_and(|held| held != "")
        {
            return Err(Refusal::bad_request(
                "resourceVersion should not be set on objects to be created",
            ));
        }
        if let (Value::Null, Some(start)) = (
            &object["metadata"]["name"],
            object["metadata"]["generateName"].as_str(),
        ) {
            let name = self.made_up(place, start)?;
            put(&mut object, &["metadata", "name"], json!(name));
        }
        let manager = self.manager(place);
        self.insert(place, object, |object| {
            managers::note_update(None, object, &manager)
        })
    }

    /// A name that nobody has, as far as a few tries find one.
    fn made_up(&self, place: &Place, start: &str) -> Result<String, Refusal> {
        const TRIES: usize = 8;
        let mut name = String::new();
        for _ in 0..TRIES {
            name = format!("{start}{}", chance::<3>()?.get(..5).unwrap_or_default());
            let key = Key {
                name: name.clone(),
                ..place.key.clone()
            };
            if self.state.store.get(&key).is_none() {
                break;
            }
        }
        Ok(name)
    }

    /// Everything that is common to a creation and the apply of what is not there.
    fn insert(
        &mut self,
        place: &Place,
        mut object: Value,
        note: impl FnOnce(&mut Value),
    ) -> Result<Arc<Value>, Refusal> {
        let kind = place.kind;
        let key = Key {
            name: object["metadata"]["name"]
                .as_str()
                .unwrap_or_default()
                .to_owned(),
            ..place.key.clone()
        };
        self.demand_namespace(&key)?;
        if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            for own in [
                "managedFields",
                "resourceVersion",
                "deletionTimestamp",
                "selfLink",
            ] {
                metadata.remove(own);
            }
        }
        if !key.namespace.is_empty() {
            put(
                &mut object,
                &["metadata", "namespace"],
                json!(key.namespace),
            );
        }
        // A kubelet registers its Node with a status; nobody else's is taken.
        if kind.status
            && kind.kind != "Node"
            && let Some(fields) = object.as_object_mut()
        {
            fields.remove("status");
        }
        set_defaults(kind, &mut object);
        reactions::before_create(self.user, kind, &mut object);
        valid::check(kind, &object, None)?;
        rights::demand_no_escalation(&self.state.store, self.user, kind, &object)?;
        if self.state.store.get(&key).is_some() {
            return Err(Refusal::already_exists(kind, &key.name));
        }
        if kind.generation {
            put(&mut object, &["metadata", "generation"], json!(1));
        }
        note(&mut object);
        reactions::furnish(self.state, kind, &mut object)?;
        put(&mut object, &["metadata", "uid"], json!(uid()?));
        put(
            &mut object,
            &["metadata", "creationTimestamp"],
            json!(time::now()),
        );
        if self.dry_run {
            return Ok(Arc::new(object));
        }
        let made = self.state.store.put(key.clone(), object);
        reactions::after_write(self.state, self.pki, kind, &key);
        Ok(made)
    }

    fn demand_namespace(&self, key: &Key) -> Result<(), Refusal> {
        let kind = super::kinds::named("Namespace");
        let Some(kind) = kind.filter(|_| !key.namespace.is_empty()) else {
            return Ok(());
        };
        match self.state.get("Namespace", "", &key.namespace) {
            Some(_) => Ok(()),
            None => Err(Refusal::not_found(kind, &key.namespace)),
        }
    }

    fn live(&self, place: &Place) -> Result<Arc<Value>, Refusal> {
        let live = self.state.store.get(&place.key).cloned();
        live.ok_or_else(|| Refusal::not_found(place.kind, &place.key.name))
    }

    /// Replaces an object, or the part of it that is meant.
    pub(super) fn replace(&mut self, place: &Place, body: Value) -> Result<Arc<Value>, Refusal> {
        let (object, warnings) = decode::object(place.kind, body, self.unknown)?;
        self.warnings.extend(warnings);
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        if name != place.key.name {
            return Err(Refusal::bad_request(format!(
                "the name of the object ({name}) does not match the name on the URL ({})",
                place.key.name
            )));
        }
        let live = self.live(place)?;
        let manager = self.manager(place);
        self.commit(place, &live, object, |new| {
            managers::note_update(Some(&live), new, &manager)
        })
    }

    /// Patches an object that is there.
    pub(super) fn patch(
        &mut self,
        place: &Place,
        form: Form,
        patch: Value,
    ) -> Result<Arc<Value>, Refusal> {
        let live = self.live(place)?;
        let patched = patch::patched(&live, form, patch)?;
        let (object, warnings) = decode::object(place.kind, patched, self.unknown)?;
        self.warnings.extend(warnings);
        let manager = self.manager(place);
        self.commit(place, &live, object, |new| {
            managers::note_update(Some(&live), new, &manager)
        })
    }

    /// Applies an object, which need not be there.
    pub(super) fn apply(
        &mut self,
        place: &Place,
        body: Value,
        force: bool,
    ) -> Result<Written, Refusal> {
        let said = |key: &str| body[key].as_str().unwrap_or_default();
        if said("apiVersion").is_empty() || said("kind").is_empty() {
            let (group, version) = said("apiVersion")
                .split_once('/')
                .unwrap_or(("", said("apiVersion")));
            let message = format!(
                "invalid object type: {group}/{version}, Kind={}",
                said("kind")
            );
            return Err(Refusal::bad_request(message));
        }
        let mut wanted = decode::part(place.kind, body)?;
        put(&mut wanted, &["metadata", "name"], json!(place.key.name));
        let manager = self.manager(place);
        let Some(live) = self.state.store.get(&place.key).cloned() else {
            return self.apply_new(place, &wanted, &manager);
        };
        let version = wanted["metadata"]["resourceVersion"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        if !version.is_empty() && live["metadata"]["resourceVersion"] != version {
            return Err(Refusal::modified(place.kind, &place.key.name));
        }
        let result = apply::applied(&live, &wanted, &manager, force)?;
        let entries = managers::entries(&result);
        let changed = self.commit(place, &live, result, |new| {
            managers::set_entries(new, entries)
        })?;
        Ok(Written::Changed(changed))
    }

    fn apply_new(
        &mut self,
        place: &Place,
        wanted: &Value,
        manager: &Manager,
    ) -> Result<Written, Refusal> {
        if !place.subresource.is_empty() {
            return Err(Refusal::not_found(place.kind, &place.key.name));
        }
        let act = Act {
            verb: "create",
            group: place.kind.group,
            resource: place.kind.plural,
            namespace: &place.key.namespace,
            name: &place.key.name,
        };
        rights::demand(&self.state.store, self.user, &act)?;
        let empty = json!({
            "apiVersion": place.kind.api_version(), "kind": place.kind.kind,
            "metadata": {"name": place.key.name},
        });
        let result = apply::applied(&empty, wanted, manager, false)?;
        let entries = managers::entries(&result);
        let (object, _) = decode::object(place.kind, result, Unknown::Ignored)?;
        let made = self.insert(place, object, |object| {
            managers::set_entries(object, entries)
        })?;
        Ok(Written::Created(made))
    }

    /// Puts a changed object in its place, with what the server keeps to itself.
    fn commit(
        &mut self,
        place: &Place,
        live: &Value,
        wanted: Value,
        note: impl FnOnce(&mut Value),
    ) -> Result<Arc<Value>, Refusal> {
        let kind = place.kind;
        let version = wanted["metadata"]["resourceVersion"]
            .as_str()
            .unwrap_or_default();
        if !version.is_empty() && live["metadata"]["resourceVersion"] != version {
            return Err(Refusal::modified(kind, &place.key.name));
        }
        let mut new = limited(place, live, wanted);
        for own in [
            "name",
            "namespace",
            "uid",
            "creationTimestamp",
            "deletionTimestamp",
            "deletionGracePeriodSeconds",
            "generation",
            "resourceVersion",
        ] {
            match live["metadata"].get(own) {
                Some(value) => put(&mut new, &["metadata", own], value.clone()),
                None => {
                    if let Some(metadata) = new.get_mut("metadata").and_then(Value::as_object_mut) {
                        metadata.remove(own);
                    }
                }
            }
        }
        set_defaults(kind, &mut new);
        valid::check(kind, &new, Some(live))?;
        if kind.group == "rbac.authorization.k8s.io" && new["rules"] != live["rules"] {
            rights::demand_no_escalation(&self.state.store, self.user, kind, &new)?;
        }
        note(&mut new);
        reactions::count_generations(kind, &mut new, live);
        if new == *live {
            return self.live(place);
        }
        if self.dry_run {
            return Ok(Arc::new(new));
        }
        let written = self.state.store.put(place.key.clone(), new);
        reactions::after_write(self.state, self.pki, kind, &place.key);
        let finalizers = written["metadata"]["finalizers"].as_array();
        let done = finalizers.is_none_or(Vec::is_empty);
        if written["metadata"].get("deletionTimestamp").is_some() && done && kind.kind != "Pod" {
            reactions::remove(self.state, &place.key, true);
        }
        Ok(self.state.store.get(&place.key).cloned().unwrap_or(written))
    }
}

/// The object with only that part changed which is meant.
fn limited(place: &Place, live: &Value, wanted: Value) -> Value {
    let part = |from: &Value, into: &mut Value, key: &str| {
        if let Some(fields) = into.as_object_mut() {
            match from.get(key) {
                Some(value) => fields.insert(key.to_owned(), value.clone()),
                None => fields.remove(key),
            };
        }
    };
    match place.subresource.as_str() {
        "" => {
            let mut new = wanted;
            if place.kind.status {
                part(live, &mut new, "status");
            }
            new
        }
        "approval" => {
            let mut new = live.clone();
            let conditions = wanted["status"]["conditions"].clone();
            fill(&mut new, &["status"], json!({}));
            put(&mut new, &["status", "conditions"], conditions);
            new
        }
        _ => {
            let mut new = live.clone();
            part(&wanted, &mut new, "status");
            // Kubelets set annotations of their Node along with its status.
            for key in ["labels", "annotations", "managedFields"] {
                if let (Some(from), Some(into)) = (wanted.get("metadata"), new.get_mut("metadata"))
                {
                    part(from, into, key);
                }
            }
            new
        }
    }
}

/// Random hexadecimal digits.
pub(super) fn chance<const N: usize>() -> Result<String, Refusal> {
    crate::random::hex::<N>().map_err(|problem| Refusal::internal(problem.to_string()))
}

pub(super) fn uid() -> Result<String, Refusal> {
    let digits = chance::<16>()?;
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
    fn names_that_the_server_makes_up_are_free() {
        let seed = Seed::default();
        let pki = Pki::new().unwrap();
        let server = seed::server(&seed, seed.listen, pki).unwrap();
        let user = User::new("somebody", &["system:masters"]);
        let mut state = server.state();
        let mut writer = Writer {
            state: &mut state,
            pki: &server.pki,
            user: &user,
            manager: "test".to_owned(),
            dry_run: false,
            unknown: Unknown::Refused,
            warnings: Vec::new(),
        };
        let kind = kinds::named("ConfigMap").unwrap();
        let place = Place {
            kind,
            key: Key::new(kind, "default", ""),
            subresource: String::new(),
        };
        let map = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "map-"},
        });
        // Of so many, some would have the name of another.
        for _ in 0..4000 {
            writer.create(&place, map.clone()).unwrap();
        }
    }
}
