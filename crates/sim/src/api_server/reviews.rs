//! Requests that store no object of their own: access reviews, self reviews, service account
//! tokens, pod bindings and evictions.

use hyper::StatusCode;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::defaults::put;
use super::delete::DeleteOptions;
use super::kinds;
use super::rbac::{self, ResourceAttributes, User};
use super::state::State;
use super::status_error::StatusError;
use super::store::Key;
use super::time;
use super::write::{ObjectRef, Writer, random_hex};

/// Group, plural and kind of resources that support only `create`.
pub(super) const REVIEWS: &[(&str, &str, &str)] = &[
    (
        "authentication.k8s.io",
        "selfsubjectreviews",
        "SelfSubjectReview",
    ),
    (
        "authorization.k8s.io",
        "selfsubjectaccessreviews",
        "SelfSubjectAccessReview",
    ),
    (
        "authorization.k8s.io",
        "subjectaccessreviews",
        "SubjectAccessReview",
    ),
];

pub(super) fn respond(state: &State, user: &User, plural: &str, body: Value) -> Value {
    let mut review = body;
    match plural {
        "selfsubjectreviews" => {
            let info = json!({"username": user.name, "groups": user.groups});
            put(&mut review, &["status"], json!({"userInfo": info}));
        }
        "selfsubjectaccessreviews" => {
            let allowed = review_allows(state, user, &review["spec"]);
            put(&mut review, &["status"], json!({"allowed": allowed}));
        }
        _ => {
            let spec = &review["spec"];
            let groups = spec["groups"].as_array().into_iter().flatten();
            let other = User {
                name: spec["user"].as_str().unwrap_or_default().to_owned(),
                groups: groups
                    .filter_map(Value::as_str)
                    .map(str::to_owned)
                    .collect(),
            };
            let allowed = review_allows(state, &other, spec);
            put(&mut review, &["status"], json!({"allowed": allowed}));
        }
    }
    review
}

fn review_allows(state: &State, user: &User, spec: &Value) -> bool {
    if let Some(path) = spec["nonResourceAttributes"]["path"].as_str() {
        return rbac::can_read_path(&state.store, user, path);
    }
    let resource_attributes = &spec["resourceAttributes"];
    let text = |key: &str| resource_attributes[key].as_str().unwrap_or_default();
    let resource = match text("subresource") {
        "" => text("resource").to_owned(),
        subresource => format!("{}/{subresource}", text("resource")),
    };
    let attributes = ResourceAttributes {
        verb: text("verb"),
        group: text("group"),
        resource: &resource,
        namespace: text("namespace"),
        name: text("name"),
    };
    rbac::is_allowed(&state.store, user, &attributes)
}

impl Writer<'_> {
    pub(super) fn token(&mut self, target: &ObjectRef, body: Value) -> Result<Value, StatusError> {
        if self.state.store.get(&target.key).is_none() {
            return Err(StatusError::not_found(target.kind, &target.key.name));
        }
        let namespace = &target.key.namespace;
        let user = User::new(
            &format!("system:serviceaccount:{namespace}:{}", target.key.name),
            &[
                "system:serviceaccounts",
                &format!("system:serviceaccounts:{namespace}"),
            ],
        );
        let token = random_hex::<24>()?;
        self.state.accounts.insert(token.clone(), user);
        let requested_seconds = body["spec"]["expirationSeconds"].as_i64().unwrap_or(3600);
        let end = Timestamp::now().saturating_add(SignedDuration::from_secs(requested_seconds));
        let end = end.map_or_else(|_| time::now(), time::format_seconds);
        let audiences = match body["spec"]["audiences"].as_array() {
            Some(audiences) => json!(audiences),
            None => json!(["https://kubernetes.default.svc.cluster.local"]),
        };
        Ok(json!({
            "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
            "metadata": {"name": target.key.name, "namespace": namespace},
            "spec": {"audiences": audiences, "expirationSeconds": requested_seconds},
            "status": {"token": token, "expirationTimestamp": end},
        }))
    }

    /// Binds a pod to a node, as a scheduler does.
    pub(super) fn bind(&mut self, target: &ObjectRef, body: &Value) -> Result<Value, StatusError> {
        let live = self.state.store.get(&target.key).cloned();
        let live = live.ok_or_else(|| StatusError::not_found(target.kind, &target.key.name))?;
        let node = body["target"]["name"].as_str().unwrap_or_default();
        if node.is_empty() {
            return Err(StatusError::bad_request("target.name: Required value"));
        }
        if live["spec"]["nodeName"]
            .as_str()
            .is_some_and(|bound| !bound.is_empty())
        {
            return Err(StatusError::already_exists(target.kind, &target.key.name));
        }
        let mut bound = Value::clone(&live);
        put(&mut bound, &["spec", "nodeName"], json!(node));
        let condition = json!({
            "type": "PodScheduled", "status": "True", "lastTransitionTime": time::now(),
        });
        put(&mut bound, &["status", "conditions"], json!([condition]));
        self.state.store.put(target.key.clone(), bound);
        Ok(created_status())
    }

    /// Deletes a pod, as a drain does. There are no disruption budgets.
    pub(super) fn evict(&mut self, target: &ObjectRef, body: &Value) -> Result<Value, StatusError> {
        let options = DeleteOptions::read(&body["deleteOptions"], "", "");
        self.delete(target, &options)?;
        Ok(created_status())
    }
}

fn created_status() -> Value {
    json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success",
        "code": StatusCode::CREATED.as_u16(),
    })
}

/// Approving needs permission for the request's signer.
pub(super) fn authorize_approval(state: &State, user: &User, key: &Key) -> Result<(), StatusError> {
    let request = state.store.get(key);
    let signer = request.and_then(|request| request["spec"]["signerName"].as_str());
    let Some(signer) = signer.filter(|_| kinds::find(key.group, key.plural).is_some()) else {
        return Ok(());
    };
    let attributes = ResourceAttributes {
        verb: "approve",
        group: key.group,
        resource: "signers",
        namespace: "",
        name: signer,
    };
    let domain_wildcard = signer
        .split_once('/')
        .map(|(domain, _)| format!("{domain}/*"));
    let domain_wildcard = domain_wildcard.unwrap_or_default();
    let any_of_domain = ResourceAttributes {
        name: &domain_wildcard,
        ..attributes
    };
    match rbac::is_allowed(&state.store, user, &any_of_domain) {
        true => Ok(()),
        false => rbac::authorize(&state.store, user, &attributes),
    }
}
