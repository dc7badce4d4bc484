//! Questions and calls that store nothing: access reviews, who one is, tokens of
//! service accounts, bindings and evictions of pods.

use hyper::StatusCode;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::defaults::put;
use super::delete::Deletion;
use super::kinds;
use super::refusal::Refusal;
use super::rights::{self, Act, User};
use super::state::State;
use super::store::Key;
use super::time;
use super::write::{Place, Writer, chance};

/// Groups and plurals that are only ever created, and answered at once.
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

/// Answers a review.
pub(super) fn answer(state: &State, user: &User, plural: &str, body: Value) -> Value {
    let mut review = body;
    match plural {
        "selfsubjectreviews" => {
            let info = json!({"username": user.name, "groups": user.groups});
            put(&mut review, &["status"], json!({"userInfo": info}));
        }
        "selfsubjectaccessreviews" => {
            let allowed = is_allowed(state, user, &review["spec"]);
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
            let allowed = is_allowed(state, &other, spec);
            put(&mut review, &["status"], json!({"allowed": allowed}));
        }
    }
    review
}

fn is_allowed(state: &State, user: &User, spec: &Value) -> bool {
    if let Some(path) = spec["nonResourceAttributes"]["path"].as_str() {
        return rights::may_read(&state.store, user, path);
    }
    let wanted = &spec["resourceAttributes"];
    let text = |key: &str| wanted[key].as_str().unwrap_or_default();
    let resource = match text("subresource") {
        "" => text("resource").to_owned(),
        subresource => format!("{}/{subresource}", text("resource")),
    };
    let act = Act {
        verb: text("verb"),
        group: text("group"),
        resource: &resource,
        namespace: text("namespace"),
        name: text("name"),
    };
    rights::allowed(&state.store, user, &act)
}

impl Writer<'_> {
    /// A token for a service account.
    pub(super) fn token(&mut self, place: &Place, body: Value) -> Result<Value, Refusal> {
        if self.state.store.get(&place.key).is_none() {
            return Err(Refusal::not_found(place.kind, &place.key.name));
        }
        let namespace = &place.key.namespace;
        let user = User::new(
            &format!("system:serviceaccount:{namespace}:{}", place.key.name),
            &[
                "system:serviceaccounts",
                &format!("system:serviceaccounts:{namespace}"),
            ],
        );
        let token = chance::<24>()?;
        self.state.accounts.insert(token.clone(), user);
        let asked = body["spec"]["expirationSeconds"].as_i64().unwrap_or(3600);
        let end = Timestamp::now().saturating_add(SignedDuration::from_secs(asked));
        let end = end.map_or_else(|_| time::now(), time::written);
        let audiences = match body["spec"]["audiences"].as_array() {
            Some(given) => json!(given),
            None => json!(["https://kubernetes.default.svc.cluster.local"]),
        };
        Ok(json!({
            "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
            "metadata": {"name": place.key.name, "namespace": namespace},
            "spec": {"audiences": audiences, "expirationSeconds": asked},
            "status": {"token": token, "expirationTimestamp": end},
        }))
    }

    /// Puts a pod on a node, as a scheduler does.
    pub(super) fn bind(&mut self, place: &Place, body: &Value) -> Result<Value, Refusal> {
        let live = self.state.store.get(&place.key).cloned();
        let live = live.ok_or_else(|| Refusal::not_found(place.kind, &place.key.name))?;
        let node = body["target"]["name"].as_str().unwrap_or_default();
        if node.is_empty() {
            return Err(Refusal::bad_request("target.name: Required value"));
        }
        if live["spec"]["nodeName"]
            .as_str()
            .is_some_and(|bound| !bound.is_empty())
        {
            return Err(Refusal::already_exists(place.kind, &place.key.name));
        }
        let mut bound = Value::clone(&live);
        put(&mut bound, &["spec", "nodeName"], json!(node));
        let condition = json!({
            "type": "PodScheduled", "status": "True", "lastTransitionTime": time::now(),
        });
        put(&mut bound, &["status", "conditions"], json!([condition]));
        self.state.store.put(place.key.clone(), bound);
        Ok(done())
    }

    /// Deletes a pod, as a drain does. There are no disruption budgets.
    pub(super) fn evict(&mut self, place: &Place, body: &Value) -> Result<Value, Refusal> {
        let how = Deletion::read(&body["deleteOptions"], "", "");
        self.delete(place, &how)?;
        Ok(done())
    }
}

fn done() -> Value {
    json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success",
        "code": StatusCode::CREATED.as_u16(),
    })
}

/// Whether a certificate may be approved: a right of its own for each signer.
pub(super) fn demand_approval(state: &State, user: &User, key: &Key) -> Result<(), Refusal> {
    let request = state.store.get(key);
    let signer = request.and_then(|request| request["spec"]["signerName"].as_str());
    let Some(signer) = signer.filter(|_| kinds::find(key.group, key.plural).is_some()) else {
        return Ok(());
    };
    let act = Act {
        verb: "approve",
        group: key.group,
        resource: "signers",
        namespace: "",
        name: signer,
    };
    let every = signer
        .split_once('/')
        .map(|(domain, _)| format!("{domain}/*"));
    let every = every.unwrap_or_default();
    let wide = Act {
        name: &every,
        ..act
    };
    match rights::allowed(&state.store, user, &wide) {
        true => Ok(()),
        false => rights::demand(&state.store, user, &act),
    }
}
