//! Joining a node: bootstrap token, certificate request, client certificate.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use casement_sim::api_server::{self, ApiServer, Seed};
use rcgen::{CertificateParams, DnType, KeyPair};
use serde_json::{Value, json};

use crate::client::{Credentials, credentials, request, run};

const CSR_PATH: &str = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
const TOKEN: &str = "abcdef.0123456789abcdef";

async fn admin(api: &ApiServer, line: &str, body: Option<Value>) -> (u16, Value) {
    let (certificate, key) = credentials(api.kubeconfig());
    request(
        api,
        &Credentials::Certificate(&certificate, &key),
        line,
        body,
    )
    .await
}

async fn create_token(api: &ApiServer, expiration: &str) {
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
    let (code, response) = admin(api, line, Some(secret)).await;
    assert_eq!(code, 201, "{response:#}");
}

/// A kubelet's certificate request and its private key.
fn certificate_request(node: &str) -> (Value, String) {
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
fn bootstrap_token_gets_a_kubelet_certificate() {
    run(async {
        let api = api_server::start(Seed::default()).unwrap();
        create_token(&api, "2099-01-01T00:00:00Z").await;
        let token = Credentials::Token(TOKEN);
        let (object, key) = certificate_request("win1");
        let line = format!("POST {CSR_PATH}");
        let (code, created) = request(&api, &token, &line, Some(object)).await;
        assert_eq!(code, 201, "{created:#}");
        let name = created["metadata"]["name"].as_str().unwrap();
        let (_, signed) = request(&api, &token, &format!("GET {CSR_PATH}/{name}"), None).await;
        assert_eq!(signed["status"]["conditions"][0]["reason"], "AutoApproved");
        assert_eq!(signed["spec"]["username"], "system:bootstrap:abcdef");

        let certificate = certificate(&signed).unwrap();
        let node = Credentials::Certificate(&certificate, &key);
        let line = "POST /apis/authentication.k8s.io/v1/selfsubjectreviews";
        let (_, review) = request(&api, &node, line, Some(json!({}))).await;
        let user = &review["status"]["userInfo"];
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
        let (code, _) = request(&api, &node, "POST /api/v1/nodes", Some(body)).await;
        assert_eq!(code, 201);
        let (_, seen) = request(&api, &node, "GET /api/v1/nodes/win1", None).await;
        assert_eq!(seen["status"]["conditions"][0]["reason"], "KubeletNotReady");
        assert_eq!(seen["spec"]["podCIDR"], "10.244.1.0/24");
        let (code, _) = request(&api, &node, "DELETE /api/v1/nodes/lin1", None).await;
        assert_eq!(code, 403);
    });
}

#[test]
fn request_without_auto_approval_stays_pending() {
    run(async {
        let seed = Seed {
            auto_approve_kubelets: false,
            ..Seed::default()
        };
        let api = api_server::start(seed).unwrap();
        create_token(&api, "2099-01-01T00:00:00Z").await;
        let (object, _) = certificate_request("win1");
        let line = format!("POST {CSR_PATH}");
        let (_, created) = request(&api, &Credentials::Token(TOKEN), &line, Some(object)).await;
        let name = created["metadata"]["name"].as_str().unwrap();
        let (_, pending) = admin(&api, &format!("GET {CSR_PATH}/{name}"), None).await;
        assert_eq!(certificate(&pending), None);
        let now = "2026-01-01T00:00:00Z";
        let approval = json!({"status": {"conditions": [{
            "type": "Approved", "status": "True", "reason": "ByHand", "message": "",
            "lastUpdateTime": now, "lastTransitionTime": now,
        }]}});
        let line = format!("PATCH {CSR_PATH}/{name}/approval");
        let (code, response) = request(
            &api,
            &Credentials::Token(TOKEN),
            &line,
            Some(approval.clone()),
        )
        .await;
        assert_eq!(code, 403, "{response:#}");
        let (code, _) = admin(&api, &line, Some(approval)).await;
        assert_eq!(code, 200);
        let (_, signed) = admin(&api, &format!("GET {CSR_PATH}/{name}"), None).await;
        assert!(certificate(&signed).is_some());
    });
}

#[test]
fn invalid_credentials_are_rejected() {
    run(async {
        let api = api_server::start(Seed::default()).unwrap();
        create_token(&api, "2020-01-01T00:00:00Z").await;
        let (code, _) = request(&api, &Credentials::Token(TOKEN), "GET /version", None).await;
        assert_eq!(code, 401, "the token has expired");
        let (code, _) = request(&api, &Credentials::Anonymous, "GET /version", None).await;
        assert_eq!(code, 200);
        let (code, _) = request(&api, &Credentials::Anonymous, "GET /api/v1/nodes", None).await;
        assert_eq!(code, 403);
        let cluster_info = "GET /api/v1/namespaces/kube-public/configmaps/cluster-info";
        let (code, _) = request(&api, &Credentials::Anonymous, cluster_info, None).await;
        assert_eq!(code, 200);
        let other = api_server::start(Seed::default()).unwrap();
        let (certificate, key) = credentials(other.kubeconfig());
        let foreign = Credentials::Certificate(&certificate, &key);
        let (code, status) = request(&api, &foreign, "GET /version", None).await;
        assert_eq!((code, &status["reason"]), (401, &json!("Unauthorized")));
    });
}

#[test]
fn scheduled_pod_is_deleted_by_its_kubelet() {
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
        let (_, pending) = admin(&api, &format!("GET {pods}/p"), None).await;
        assert!(pending["metadata"]["deletionTimestamp"].is_string());
        let now = Some(json!({"gracePeriodSeconds": 0}));
        let (code, _) = admin(&api, &format!("DELETE {pods}/p"), now).await;
        assert_eq!(code, 200);
        let (code, _) = admin(&api, &format!("GET {pods}/p"), None).await;
        assert_eq!(code, 404);
    });
}

#[test]
fn unsupported_subresource_is_not_implemented() {
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
