//! From a request to its answer.

use std::sync::Arc;

use hyper::body::Bytes;
use hyper::{Method, StatusCode};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::discovery::{self, Said};
use super::kinds::Kind;
use super::refusal::Refusal;
use super::reviews::{self, REVIEWS};
use super::rights::{self, User};
use super::route::{Query, Resource, Target};
use super::selector::Selector;
use super::state::Server;
use super::store::Key;
use super::view::View;

/// A request, read to its end.
pub(super) struct Call {
    pub(super) method: Method,
    pub(super) target: Target,
    pub(super) query: Query,
    pub(super) user: User,
    /// The client's own name, which owns what it writes unless it says otherwise.
    pub(super) agent: String,
    pub(super) accept: String,
    pub(super) content_type: String,
    pub(super) body: Bytes,
}

/// What goes back.
pub(super) enum Answer {
    /// An object, and warnings beside it.
    Json(StatusCode, Value, Vec<String>),
    Text(StatusCode, &'static str),
    /// Lines, one for each event.
    Watch(mpsc::Receiver<Bytes>),
}

impl From<Refusal> for Answer {
    fn from(refusal: Refusal) -> Self {
        Self::Json(refusal.code, refusal.status(), Vec::new())
    }
}

/// Answers a request whose user is known.
pub(super) fn answer(server: &Arc<Server>, call: &Call) -> Answer {
    let answered = match &call.target {
        Target::Plain(path) => return plain(server, call, path),
        Target::Resource(resource) => asked(server, call, resource),
    };
    answered.unwrap_or_else(Answer::from)
}

fn plain(server: &Server, call: &Call, path: &str) -> Answer {
    if !rights::may_read(&server.state().store, &call.user, path) {
        let verb = call.method.as_str().to_lowercase();
        let message = format!(
            "forbidden: User \"{}\" cannot {verb} path \"{path}\"",
            call.user.name
        );
        return Refusal::forbidden(message, json!({})).into();
    }
    match discovery::say(server, path) {
        Some(Said::Json(value)) => Answer::Json(StatusCode::OK, value, Vec::new()),
        Some(Said::Text(text)) => Answer::Text(StatusCode::OK, text),
        None => Answer::Text(StatusCode::NOT_FOUND, "404 page not found\n"),
    }
}

fn asked(server: &Arc<Server>, call: &Call, resource: &Resource) -> Result<Answer, Refusal> {
    let Some(verb) = resource.verb(&call.method, &call.query) else {
        return Err(Refusal::method_not_allowed());
    };
    demand_right(server, call, resource, verb)?;
    if !discovery::is_served(&resource.group, &resource.version) {
        return Ok(Answer::Text(StatusCode::NOT_FOUND, "404 page not found\n"));
    }
    let mut reviews = REVIEWS.iter();
    let is_asked =
        |review: &&(&str, &str, &str)| review.0 == resource.group && review.1 == resource.plural;
    if let Some((_, plural, _)) = reviews.find(is_asked) {
        if call.method != Method::POST {
            return Err(Refusal::method_not_allowed());
        }
        let said = reviews::answer(&server.state(), &call.user, plural, call.json()?);
        return Ok(Answer::Json(StatusCode::CREATED, said, Vec::new()));
    }
    let kind = resource.kind().ok_or_else(Refusal::no_such_resource)?;
    // Objects of a namespace are named with it, others without.
    let misplaced = kind.namespaced != resource.namespace.is_some();
    if misplaced && (resource.name.is_some() || !kind.namespaced) {
        return Err(Refusal::no_such_resource());
    }
    let asked = Asked {
        call,
        resource,
        kind,
        view: View::read(&call.accept, call.query.get("includeObject"))?,
    };
    match verb {
        "get" => asked.get(server),
        "list" => asked.list(server),
        "watch" => asked.watch(server),
        _ => asked.change(server),
    }
}

fn demand_right(
    server: &Server,
    call: &Call,
    resource: &Resource,
    verb: &str,
) -> Result<(), Refusal> {
    let full = match &resource.subresource {
        Some(subresource) => format!("{}/{subresource}", resource.plural),
        None => resource.plural.clone(),
    };
    let act = rights::act(resource, verb, &full);
    let state = server.state();
    if rights::allowed(&state.store, &call.user, &act) {
        return Ok(());
    }
    // A list of one name needs no more than the right to that name.
    let fields = call.query.get("fieldSelector");
    let selector = resource.kind().map(|kind| Selector::read(kind, "", fields));
    let selector = selector.transpose()?.unwrap_or_default();
    let named = rights::Act {
        name: selector.name().unwrap_or(act.name),
        ..act
    };
    match rights::allowed(&state.store, &call.user, &named) {
        true => Ok(()),
        false => Err(rights::forbidden(&call.user, &act)),
    }
}

impl Call {
    /// The media type of the body, parameters aside.
    pub(super) fn media(&self) -> &str {
        let media = self.content_type.split(';').next();
        media.unwrap_or_default().trim()
    }

    /// The body as JSON.
    pub(super) fn json(&self) -> Result<Value, Refusal> {
        if !["", "application/json"].contains(&self.media()) {
            return Err(Refusal::unsupported_media_type(
                "the body of the request was in an unknown format - accepted media types \
                 include: application/json",
            ));
        }
        serde_json::from_slice(&self.body)
            .map_err(|error| Refusal::bad_request(format!("json parse error: {error}")))
    }
}

/// A request for a kind that is served, by somebody who may.
pub(super) struct Asked<'a> {
    pub(super) call: &'a Call,
    pub(super) resource: &'a Resource,
    pub(super) kind: &'static Kind,
    pub(super) view: View,
}

impl Asked<'_> {
    /// The object that is meant; without a name, where its like are.
    pub(super) fn key(&self) -> Key {
        let namespace = self.resource.namespace.as_deref().unwrap_or_default();
        let name = self.resource.name.as_deref().unwrap_or_default();
        Key::new(self.kind, namespace, name)
    }

    /// The part of it that is meant; empty for the whole.
    pub(super) fn part(&self) -> &str {
        self.resource.subresource.as_deref().unwrap_or_default()
    }

    /// Refuses parts that are no objects themselves. One that a real server has is
    /// told apart from one that none has.
    pub(super) fn demand_readable(&self) -> Result<(), Refusal> {
        let part = self.part();
        let readable = match part {
            "" => true,
            "status" => self.kind.status,
            "approval" => self.kind.kind == "CertificateSigningRequest",
            _ => false,
        };
        match readable {
            true => Ok(()),
            false => Err(self.unknown_part()),
        }
    }

    pub(super) fn unknown_part(&self) -> Refusal {
        const REAL: &[&str] = &[
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
        let part = self.part();
        let first = part.split('/').next().unwrap_or_default();
        match REAL.contains(&first) {
            true => Refusal::not_in_the_lab(&format!("{}/{part}", self.kind.resource())),
            false => Refusal::no_such_resource(),
        }
    }
}
