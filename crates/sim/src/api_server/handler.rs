//! Handles a request: authorization, then dispatch to discovery, reviews or a resource.

use std::sync::Arc;

use hyper::body::Bytes;
use hyper::{Method, StatusCode};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::discovery::{self, DiscoveryBody};
use super::kinds::Kind;
use super::rbac::{self, User};
use super::reviews::{self, REVIEWS};
use super::route::{Query, Resource, Target};
use super::selector::Selector;
use super::state::Server;
use super::status_error::StatusError;
use super::store::Key;
use super::view::View;

pub(super) struct ApiRequest {
    pub(super) method: Method,
    pub(super) target: Target,
    pub(super) query: Query,
    pub(super) user: User,
    /// Product name in `User-Agent`: the default field manager.
    pub(super) agent: String,
    pub(super) accept: String,
    pub(super) content_type: String,
    pub(super) body: Bytes,
}

pub(super) enum ApiResponse {
    /// An object and `Warning` headers.
    Json(StatusCode, Value, Vec<String>),
    Text(StatusCode, &'static str),
    /// One line per event.
    Watch(mpsc::Receiver<Bytes>),
}

impl From<StatusError> for ApiResponse {
    fn from(status_error: StatusError) -> Self {
        Self::Json(status_error.code, status_error.status(), Vec::new())
    }
}

pub(super) fn handle(server: &Arc<Server>, request: &ApiRequest) -> ApiResponse {
    server.requests.record(request);
    let response = match &request.target {
        Target::NonResource(path) => return handle_path(server, request, path),
        Target::Resource(resource) => handle_resource(server, request, resource),
    };
    response.unwrap_or_else(ApiResponse::from)
}

fn handle_path(server: &Server, request: &ApiRequest, path: &str) -> ApiResponse {
    if !rbac::can_read_path(&server.state().store, &request.user, path) {
        let verb = request.method.as_str().to_lowercase();
        let message = format!(
            "forbidden: User \"{}\" cannot {verb} path \"{path}\"",
            request.user.name
        );
        return StatusError::forbidden(message, json!({})).into();
    }
    match discovery::respond(server, path) {
        Some(DiscoveryBody::Json(value)) => ApiResponse::Json(StatusCode::OK, value, Vec::new()),
        Some(DiscoveryBody::Text(text)) => ApiResponse::Text(StatusCode::OK, text),
        None => ApiResponse::Text(StatusCode::NOT_FOUND, "404 page not found\n"),
    }
}

fn handle_resource(
    server: &Arc<Server>,
    request: &ApiRequest,
    resource: &Resource,
) -> Result<ApiResponse, StatusError> {
    let Some(verb) = resource.verb(&request.method, &request.query) else {
        return Err(StatusError::method_not_allowed());
    };
    authorize(server, request, resource, verb)?;
    if !discovery::is_served(&resource.group, &resource.version) {
        return Ok(ApiResponse::Text(
            StatusCode::NOT_FOUND,
            "404 page not found\n",
        ));
    }
    let mut reviews = REVIEWS.iter();
    let is_requested =
        |review: &&(&str, &str, &str)| review.0 == resource.group && review.1 == resource.plural;
    if let Some((_, plural, _)) = reviews.find(is_requested) {
        if request.method != Method::POST {
            return Err(StatusError::method_not_allowed());
        }
        let review = reviews::respond(&server.state(), &request.user, plural, request.json()?);
        return Ok(ApiResponse::Json(StatusCode::CREATED, review, Vec::new()));
    }
    let kind = resource
        .kind()
        .ok_or_else(StatusError::resource_not_found)?;
    // The path has a namespace exactly for namespaced kinds.
    let misplaced = kind.namespaced != resource.namespace.is_some();
    if misplaced && (resource.name.is_some() || !kind.namespaced) {
        return Err(StatusError::resource_not_found());
    }
    let request = ResourceRequest {
        request,
        resource,
        kind,
        view: View::read(&request.accept, request.query.get("includeObject"))?,
    };
    match verb {
        "get" => request.get(server),
        "list" => request.list(server),
        "watch" => request.watch(server),
        _ => request.mutate(server),
    }
}

fn authorize(
    server: &Server,
    request: &ApiRequest,
    resource: &Resource,
    verb: &str,
) -> Result<(), StatusError> {
    let full = match &resource.subresource {
        Some(subresource) => format!("{}/{subresource}", resource.plural),
        None => resource.plural.clone(),
    };
    let attributes = rbac::attributes(resource, verb, &full);
    let state = server.state();
    if rbac::is_allowed(&state.store, &request.user, &attributes) {
        return Ok(());
    }
    // Listing a single name needs only permission for that name.
    let fields = request.query.get("fieldSelector");
    let selector = resource.kind().map(|kind| Selector::read(kind, "", fields));
    let selector = selector.transpose()?.unwrap_or_default();
    let named = rbac::ResourceAttributes {
        name: selector.name().unwrap_or(attributes.name),
        ..attributes
    };
    match rbac::is_allowed(&state.store, &request.user, &named) {
        true => Ok(()),
        false => Err(rbac::forbidden(&request.user, &attributes)),
    }
}

impl ApiRequest {
    /// The media type of the body, without parameters.
    pub(super) fn media(&self) -> &str {
        let media = self.content_type.split(';').next();
        media.unwrap_or_default().trim()
    }

    pub(super) fn json(&self) -> Result<Value, StatusError> {
        if !["", "application/json"].contains(&self.media()) {
            return Err(StatusError::unsupported_media_type(
                "the body of the request was in an unknown format - accepted media types \
                 include: application/json",
            ));
        }
        serde_json::from_slice(&self.body)
            .map_err(|error| StatusError::bad_request(format!("json parse error: {error}")))
    }
}

/// An authorized request for a served kind.
pub(super) struct ResourceRequest<'a> {
    pub(super) request: &'a ApiRequest,
    pub(super) resource: &'a Resource,
    pub(super) kind: &'static Kind,
    pub(super) view: View,
}

impl ResourceRequest<'_> {
    /// Key of the requested object; without a name, of its collection.
    pub(super) fn key(&self) -> Key {
        let namespace = self.resource.namespace.as_deref().unwrap_or_default();
        let name = self.resource.name.as_deref().unwrap_or_default();
        Key::new(self.kind, namespace, name)
    }

    /// Empty for the object itself.
    pub(super) fn subresource(&self) -> &str {
        self.resource.subresource.as_deref().unwrap_or_default()
    }

    /// Rejects subresources that cannot be read.
    pub(super) fn check_readable(&self) -> Result<(), StatusError> {
        let subresource = self.subresource();
        let readable = match subresource {
            "" => true,
            "status" => self.kind.status,
            "approval" => self.kind.kind == "CertificateSigningRequest",
            _ => false,
        };
        match readable {
            true => Ok(()),
            false => Err(self.unknown_subresource()),
        }
    }

    pub(super) fn unknown_subresource(&self) -> StatusError {
        const UPSTREAM: &[&str] = &[
            "attach",
            "ephemeralcontainers",
            "exec",
            "finalize",
            "log",
            "portforward",
            "proxy",
            "resize",
            "scale",
        ];
        let subresource = self.subresource();
        let first = subresource.split('/').next().unwrap_or_default();
        match UPSTREAM.contains(&first) {
            true => {
                StatusError::not_implemented(&format!("{}/{subresource}", self.kind.resource()))
            }
            false => StatusError::resource_not_found(),
        }
    }
}
