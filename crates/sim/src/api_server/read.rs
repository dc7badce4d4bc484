//! Get, list and watch.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hyper::StatusCode;
use serde_json::{Value, json};

use super::handler::{ApiResponse, ResourceRequest};
use super::selector::Selector;
use super::state::Server;
use super::status_error::StatusError;
use super::store::Key;
use super::watch::Watch;

impl ResourceRequest<'_> {
    pub(super) fn get(&self, server: &Server) -> Result<ApiResponse, StatusError> {
        self.check_readable()?;
        let key = self.key();
        let found = server.state().store.get(&key).cloned();
        let found = found.ok_or_else(|| StatusError::not_found(self.kind, &key.name))?;
        let body = self.view.one(self.kind, &found);
        Ok(ApiResponse::Json(StatusCode::OK, body, Vec::new()))
    }

    pub(super) fn watch(&self, server: &Arc<Server>) -> Result<ApiResponse, StatusError> {
        let query = &self.request.query;
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
        Ok(ApiResponse::Watch(watch.start(server, query)?))
    }

    pub(super) fn list(&self, server: &Server) -> Result<ApiResponse, StatusError> {
        let query = &self.request.query;
        let selector = self.selector()?;
        let after = match query.get("continue") {
            "" => None,
            token => Some(parse_continue_token(token)?),
        };
        let state = server.state();
        let is_selected = |key: &Key, object: &Value| {
            let namespace_filter = self.resource.namespace.as_ref();
            let position = (&key.namespace, &key.name);
            namespace_filter.is_none_or(|namespace| *namespace == key.namespace)
                && after
                    .as_ref()
                    .is_none_or(|(namespace, name)| position > (namespace, name))
                && selector.matches(object)
        };
        let all = state.store.all(self.kind);
        let all = all.map(|(key, object)| (key, object.as_ref()));
        let found: Vec<(&Key, &Value)> = all
            .filter(|(key, object)| is_selected(key, object))
            .collect();
        let limit = query.get("limit").parse().ok().filter(|limit| *limit > 0);
        let page_len = limit.unwrap_or(found.len()).min(found.len());
        let (page, rest) = found.split_at(page_len);
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
        Ok(ApiResponse::Json(StatusCode::OK, list, Vec::new()))
    }

    pub(super) fn selector(&self) -> Result<Selector, StatusError> {
        let query = &self.request.query;
        let (labels, fields) = (query.get("labelSelector"), query.get("fieldSelector"));
        Selector::read(self.kind, labels, fields)
    }
}

/// Namespace and name of the last item on the previous page.
fn parse_continue_token(token: &str) -> Result<(String, String), StatusError> {
    let bytes = URL_SAFE_NO_PAD.decode(token).ok();
    let read = bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok());
    read.ok_or_else(|| StatusError::bad_request(format!("continue key is not valid: {token}")))
}
