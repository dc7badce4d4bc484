//! CertificateSigningRequests: requestor, auto-approval and signing.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::defaults::{fill, put};
use super::hooks::edit;
use super::pki::{self, Pki};
use super::rbac::{self, ResourceAttributes, User};
use super::state::State;
use super::store::Key;
use super::time;

const KUBELET_CLIENT: &str = "kubernetes.io/kube-apiserver-client-kubelet";
const CLIENT: &str = "kubernetes.io/kube-apiserver-client";

/// The server sets the requestor, ignoring what the request contains.
pub(super) fn set_requestor(user: &User, object: &mut Value) {
    put(object, &["spec", "username"], json!(user.name));
    put(object, &["spec", "groups"], json!(user.groups));
}

/// Approves a kubelet's request if RBAC allows it, and signs approved requests.
pub(super) fn approve_and_sign(state: &mut State, pki: &Pki, key: &Key) {
    let Some(request) = state.store.get(key).cloned() else {
        return;
    };
    if decision(&request).is_none() && is_auto_approved(state, &request) {
        let now = time::now();
        let condition = json!({
            "type": "Approved", "status": "True", "reason": "AutoApproved",
            "message": "Auto approving kubelet client certificate after SubjectAccessReview.",
            "lastUpdateTime": now, "lastTransitionTime": now,
        });
        edit(state, key, "approval", |object| {
            put(object, &["status", "conditions"], json!([condition]));
        });
    }
    sign(state, pki, key);
}

fn sign(state: &mut State, pki: &Pki, key: &Key) {
    let Some(request) = state.store.get(key).cloned() else {
        return;
    };
    let signer = request["spec"]["signerName"].as_str().unwrap_or_default();
    let is_pending = decision(&request) == Some(true)
        && request["status"]["certificate"].is_null()
        && [KUBELET_CLIENT, CLIENT].contains(&signer);
    let pem_request = pem_request(&request);
    let Some(pem_request) = pem_request.filter(|_| is_pending) else {
        return;
    };
    match pki.sign(&pem_request) {
        Ok(certificate) => edit(state, key, "status", |object| {
            let certificate = STANDARD.encode(certificate);
            put(object, &["status", "certificate"], json!(certificate));
        }),
        Err(error) => edit(state, key, "status", |object| {
            let failed = json!({
                "type": "Failed", "status": "True", "reason": "SignerValidationFailure",
                "message": error.to_string(), "lastUpdateTime": time::now(),
                "lastTransitionTime": time::now(),
            });
            fill(object, &["status", "conditions"], json!([]));
            if let Some(Value::Array(conditions)) = object.pointer_mut("/status/conditions") {
                conditions.push(failed);
            }
        }),
    }
}

/// Whether it was approved or denied; `None` if neither.
fn decision(request: &Value) -> Option<bool> {
    let conditions = request["status"]["conditions"].as_array();
    let conditions = conditions.into_iter().flatten();
    conditions
        .into_iter()
        .find_map(|condition| match condition["type"].as_str() {
            Some("Approved") => Some(true),
            Some("Denied" | "Failed") => Some(false),
            _ => None,
        })
}

fn pem_request(request: &Value) -> Option<String> {
    let encoded = request["spec"]["request"].as_str()?;
    String::from_utf8(STANDARD.decode(encoded).ok()?).ok()
}

fn is_auto_approved(state: &State, request: &Value) -> bool {
    let spec = &request["spec"];
    let texts = |key: &str| -> Vec<String> {
        let list = spec[key].as_array().into_iter().flatten();
        list.filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let Some((name, groups)) = pem_request(request)
        .as_deref()
        .and_then(pki::requested_subject)
    else {
        return false;
    };
    let allowed_usages = ["key encipherment", "digital signature", "client auth"];
    let usages = texts("usages");
    let for_kubelet = spec["signerName"] == KUBELET_CLIENT
        && name.starts_with("system:node:")
        && groups == ["system:nodes"]
        && usages
            .iter()
            .all(|usage| allowed_usages.contains(&usage.as_str()))
        && usages.iter().any(|usage| usage == "client auth");
    let user = User {
        name: spec["username"].as_str().unwrap_or_default().to_owned(),
        groups: texts("groups"),
    };
    let resource = match user.name == name {
        true => "certificatesigningrequests/selfnodeclient",
        false => "certificatesigningrequests/nodeclient",
    };
    let attributes = ResourceAttributes {
        verb: "create",
        group: "certificates.k8s.io",
        resource,
        ..ResourceAttributes::default()
    };
    for_kubelet && rbac::is_allowed(&state.store, &user, &attributes)
}
