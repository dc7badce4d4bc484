//! Records the requests of one user, so that a test can assert how often a command reads.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::handler::ApiRequest;
use super::route::{Resource, Target};

/// Empty until a user is chosen: a server that runs for days must not collect requests.
#[derive(Default)]
pub(super) struct RequestLog(Mutex<Option<Recording>>);

struct Recording {
    user: String,
    requests: Vec<String>,
}

impl RequestLog {
    fn lock(&self) -> MutexGuard<'_, Option<Recording>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Drops what was recorded before.
    pub(super) fn start(&self, user: &str) {
        *self.lock() = Some(Recording {
            user: user.to_owned(),
            requests: Vec::new(),
        });
    }

    pub(super) fn requests(&self) -> Vec<String> {
        let recording = self.lock();
        recording
            .as_ref()
            .map_or_else(Vec::new, |it| it.requests.clone())
    }

    pub(super) fn record(&self, request: &ApiRequest) {
        if let Some(recording) = &mut *self.lock()
            && recording.user == request.user.name
        {
            recording.requests.push(text(request));
        }
    }
}

/// `get configmaps kube-system/kubeadm-config`, `list nodes ?metadata.name=windows1`.
fn text(request: &ApiRequest) -> String {
    let resource = match &request.target {
        Target::Resource(resource) => resource,
        Target::NonResource(path) => return format!("{} {path}", request.method),
    };
    let verb = resource.verb(&request.method, &request.query);
    let mut text = format!("{} {}", verb.unwrap_or_default(), kind(resource));
    let object = [&resource.namespace, &resource.name];
    let object: Vec<&str> = object.into_iter().flatten().map(String::as_str).collect();
    if !object.is_empty() {
        text += &format!(" {}", object.join("/"));
    }
    for selector in ["fieldSelector", "labelSelector"] {
        match request.query.get(selector) {
            "" => {}
            selected => text += &format!(" ?{selected}"),
        }
    }
    text
}

/// `pods/eviction`.
fn kind(resource: &Resource) -> String {
    let parts = [Some(&resource.plural), resource.subresource.as_ref()];
    let parts: Vec<&str> = parts.into_iter().flatten().map(String::as_str).collect();
    parts.join("/")
}
