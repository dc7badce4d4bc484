//! A node's way in: a token, a request for a certificate, the certificate itself.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use casement_sim::api_server::{self, Running, Seed};
use rcgen::{CertificateParams, DnType, KeyPair};
use serde_json::{Value, json};

use crate::client::{Who, ask, credentials, run};

const REQUESTS: &str = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
const TOKEN: &str = "abcdef.0123456789abcdef";

async fn admin(api: &Running, line: &str, body: Option<Value>) -> (u16, Value) {
    let (certificate, key) = credentials(api.kubeconfig());
    ask(api, &Who::Certificate(&certificate, &key), line, body).await
}

async fn mint(api: &Running, expiration: &str) {
    let secret = json!({
        "metadata": {"name": "bootstrap-token-abcdef"},
        "type": "bootstrap.kubernetes.io/token",
        "stringData": {
            "token-id": "abcdef", "token-secret": "0123456789abcdef",
            "usage-bootstrap-authentication": "true", "expiration": expiration,
            "auth-extra-groups": "system:bootstrappers:kubeadm:default-node-token",
        },
    });
    let line = "POST /api/v1/namespaces/kube-system/secrets";
    let (code, answer) = admin(api, line, Some(secret)).await;
    assert_eq!(code, 201, "{answer:#}");
}

/// A kubelet's request, and the key it is for.
fn request(node: &str) -> (Value, String) {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::default();
    params.distinguished_name = rcgen::DistinguishedName::new();
    let name = format!("system:node:{node}");
    params.distinguished_name.push(DnType::CommonName, name);
    params
        .distinguished_name
        .push(DnType::OrganizationName, "system:nodes");
    let pem = params.serialize_request(&key).unwrap().pem().unwrap();
    let object = json!({
        "metadata": {"generateName": "csr-"},
        "spec": {
            "signerName": "kubernetes.io/kube-apiserver-client-kubelet",
            "usages": ["digital signature", "client auth"],
            "request": STANDARD.encode(pem),
        },
    });
    (object, key.serialize_pem())
}

fn certificate(request: &Value) -> Option<String> {
    let text = request["status"]["certificate"].as_str()?;
    Some(String::from_utf8(STANDARD.decode(text).unwrap()).unwrap())
}

#[test]
fn a_token_gets_a_kubelet_its_certificate() {
    run(async {
        let api = api_server::start(Seed::default()).unwrap();
        mint(&api, "2099-01-01T00:00:00Z").await;
        let bearer = Who::Token(TOKEN);
        let (object, key) = request("win1");
        let line = format!("POST {REQUESTS}");
        let (code, made) = ask(&api, &bearer, &line, Some(object)).await;
        assert_eq!(code, 201, "{made:#}");
        let name = made["metadata"]["name"].as_str().unwrap();
        let (_, signed) = ask(&api, &bearer, &format!("GET {REQUESTS}/{name}"), None).await;
        assert_eq!(signed["status"]["conditions"][0]["reason"], "AutoApproved");
        assert_eq!(signed["spec"]["username"], "system:bootstrap:abcdef");

        let certificate = certificate(&signed).unwrap();
        let node = Who::Certificate(&certificate, &key);
        let line = "POST /apis/authentication.k8s.io/v1/selfsubjectreviews";
        let (_, said) = ask(&api, &node, line, Some(json!({}))).await;
        let user = &said["status"]["userInfo"];
        assert_eq!(user["username"], "system:node:win1");
        assert_eq!(
            user["groups"],
            json!(["system:nodes", "system:authenticated"])
        );

        let body = json!({"metadata": {"name": "win1"}, "status": {"conditions": [
            {"type": "Ready", "status": "False", "reason": "KubeletNotReady", "message": "x",
             "lastHeartbeatTime": "2026-01-01T00:00:00Z",
             "lastTransitionTime": "2026-01-01T00:00:00Z"},
        ]}});
        let (code, _) = ask(&api, &node, "POST /api/v1/nodes", Some(body)).await;
        assert_eq!(code, 201);
        let (_, seen) = ask(&api, &node, "GET /api/v1/nodes/win1", None).await;
        assert_eq!(seen["status"]["conditions"][0]["reason"], "KubeletNotReady");
        assert_eq!(seen["spec"]["podCIDR"], "10.244.1.0/24");
        let (code, _) = ask(&api, &node, "DELETE /api/v1/nodes/lin1", None).await;
        assert_eq!(code, 403);
    });
}

#[test]
fn without_an_approver_a_request_waits_for_a_person() {
    run(async {
        let seed = Seed {
            approves_kubelets: false,
            ..Seed::default()
        };
        let api = api_server::start(seed).unwrap();
        mint(&api, "2099-01-01T00:00:00Z").await;
        let (object, _) = request("win1");
        let line = format!("POST {REQUESTS}");
        let (_, made) = ask(&api, &Who::Token(TOKEN), &line, Some(object)).await;
        let name = made["metadata"]["name"].as_str().unwrap();
        let (_, waits) = admin(&api, &format!("GET {REQUESTS}/{name}"), None).await;
        assert_eq!(certificate(&waits), None);
        let now = "2026-01-01T00:00:00Z";
        let approval = json!({"status": {"conditions": [{
            "type": "Approved", "status": "True", "reason": "ByHand", "message": "",
            "lastUpdateTime": now, "lastTransitionTime": now,
        }]}});
        let line = format!("PATCH {REQUESTS}/{name}/approval");
        let (code, answer) = ask(&api, &Who::Token(TOKEN), &line, Some(approval.clone())).await;
        assert_eq!(code, 403, "{answer:#}");
        let (code, _) = admin(&api, &line, Some(approval)).await;
        assert_eq!(code, 200);
        let (_, signed) = admin(&api, &format!("GET {REQUESTS}/{name}"), None).await;
        assert!(certificate(&signed).is_some());
    });
}

#[test]
fn who_cannot_show_who_they_are_is_turned_away() {
    run(async {
        let api = api_server::start(Seed::default()).unwrap();
        mint(&api, "2020-01-01T00:00:00Z").await;
        let (code, _) = ask(&api, &Who::Token(TOKEN), "GET /version", None).await;
        assert_eq!(code, 401, "the token is over");
        let (code, _) = ask(&api, &Who::Nobody, "GET /version", None).await;
        assert_eq!(code, 200);
        let (code, _) = ask(&api, &Who::Nobody, "GET /api/v1/nodes", None).await;
        assert_eq!(code, 403);
        let public = "GET /api/v1/namespaces/kube-public/configmaps/cluster-info";
        let (code, _) = ask(&api, &Who::Nobody, public, None).await;
        assert_eq!(code, 200);
        let other = api_server::start(Seed::default()).unwrap();
        let (certificate, key) = credentials(other.kubeconfig());
        let stranger = Who::Certificate(&certificate, &key);
        let (code, status) = ask(&api, &stranger, "GET /version", None).await;
        assert_eq!((code, &status["reason"]), (401, &json!("Unauthorized")));
    });
}

#[test]
fn a_pod_that_runs_goes_when_its_kubelet_says_so() {
    run(async {
        let api = api_server::start(Seed::default()).unwrap();
        let pods = "/api/v1/namespaces/default/pods";
        let pod = json!({"metadata": {"name": "p"}, "spec": {
            "containers": [{"name": "c", "image": "example.invalid/c"}],
        }});
        admin(&api, &format!("POST {pods}"), Some(pod)).await;
        let target = json!({"target": {"kind": "Node", "name": "lin1"}});
        let (code, _) = admin(&api, &format!("POST {pods}/p/binding"), Some(target)).await;
        assert_eq!(code, 201);
        let (code, _) = admin(&api, &format!("POST {pods}/p/eviction"), Some(json!({}))).await;
        assert_eq!(code, 201);
        let (_, waits) = admin(&api, &format!("GET {pods}/p"), None).await;
        assert!(waits["metadata"]["deletionTimestamp"].is_string());
        let now = Some(json!({"gracePeriodSeconds": 0}));
        let (code, _) = admin(&api, &format!("DELETE {pods}/p"), now).await;
        assert_eq!(code, 200);
        let (code, _) = admin(&api, &format!("GET {pods}/p"), None).await;
        assert_eq!(code, 404);
    });
}

#[test]
fn what_the_lab_leaves_out_is_refused_by_name() {
    run(async {
        let api = api_server::start(Seed::default()).unwrap();
        let line = "GET /api/v1/namespaces/default/pods/p/log";
        let (code, status) = admin(&api, line, None).await;
        assert_eq!(code, 501);
        let message = "the lab's embedded API server does not serve pods/log";
        assert_eq!(status["message"], message);
        let (code, _) = admin(&api, "GET /api/v1/persistentvolumes", None).await;
        assert_eq!(code, 404);
    });
}
