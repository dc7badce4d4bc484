//! One object, a list of them, or a watch.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hyper::StatusCode;
use serde_json::{Value, json};

use super::answer::{Answer, Asked};
use super::refusal::Refusal;
use super::selector::Selector;
use super::state::Server;
use super::store::Key;
use super::watch::Watch;

impl Asked<'_> {
    pub(super) fn get(&self, server: &Server) -> Result<Answer, Refusal> {
        self.demand_readable()?;
        let key = self.key();
        let found = server.state().store.get(&key).cloned();
        let found = found.ok_or_else(|| Refusal::not_found(self.kind, &key.name))?;
        let shown = self.view.one(self.kind, &found);
        Ok(Answer::Json(StatusCode::OK, shown, Vec::new()))
    }

    pub(super) fn watch(&self, server: &Arc<Server>) -> Result<Answer, Refusal> {
        let query = &self.call.query;
        let fields = match &self.resource.name {
            Some(name) => format!("metadata.name={name}"),
            None => query.get("fieldSelector").to_owned(),
        };
        let watch = Watch {
            kind: self.kind,
            namespace: self.resource.namespace.clone(),
            selector: Selector::read(self.kind, query.get("labelSelector"), &fields)?,
            view: self.view,
        };
        Ok(Answer::Watch(watch.start(server, query)?))
    }

    pub(super) fn list(&self, server: &Server) -> Result<Answer, Refusal> {
        let query = &self.call.query;
        let selector = self.selector()?;
        let after = match query.get("continue") {
            "" => None,
            token => Some(resumed(token)?),
        };
        let state = server.state();
        let meant = |key: &Key, object: &Value| {
            let here = self.resource.namespace.as_ref();
            let place = (&key.namespace, &key.name);
            here.is_none_or(|wanted| *wanted == key.namespace)
                && after
                    .as_ref()
                    .is_none_or(|(space, name)| place > (space, name))
                && selector.fits(object)
        };
        let all = state.store.all(self.kind);
        let all = all.map(|(key, object)| (key, object.as_ref()));
        let found: Vec<(&Key, &Value)> = all.filter(|(key, object)| meant(key, object)).collect();
        let limit = query.get("limit").parse().ok().filter(|limit| *limit > 0);
        let shown = limit.unwrap_or(found.len()).min(found.len());
        let (page, rest) = found.split_at(shown);
        let mut metadata = json!({"resourceVersion": state.store.revision().to_string()});
        if let (Some((last, _)), false, Some(fields)) =
            (page.last(), rest.is_empty(), metadata.as_object_mut())
        {
            let token = json!([last.namespace, last.name]).to_string();
            fields.insert("continue".to_owned(), json!(URL_SAFE_NO_PAD.encode(token)));
            fields.insert("remainingItemCount".to_owned(), json!(rest.len()));
        }
        let objects: Vec<&Value> = page.iter().map(|(_, object)| *object).collect();
        let list = self.view.list(self.kind, &objects, metadata);
        Ok(Answer::Json(StatusCode::OK, list, Vec::new()))
    }

    /// What the query selects.
    pub(super) fn selector(&self) -> Result<Selector, Refusal> {
        let query = &self.call.query;
        let (labels, fields) = (query.get("labelSelector"), query.get("fieldSelector"));
        Selector::read(self.kind, labels, fields)
    }
}

/// The namespace and name that the page before ended with.
fn resumed(token: &str) -> Result<(String, String), Refusal> {
    let bytes = URL_SAFE_NO_PAD.decode(token).ok();
    let read = bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok());
    read.ok_or_else(|| Refusal::bad_request(format!("continue key is not valid: {token}")))
}
