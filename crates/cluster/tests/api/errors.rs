//! Each connection and permission problem has its own error.

use std::sync::atomic::{AtomicU32, Ordering};

use casement_cluster::{
    ChangeMethod, ClusterChange, ClusterClient, ClusterError, ObjectRef, PERMISSIONS,
};
use casement_run::RunError;
use casement_run::kube::KubeApi;
use http::{Request, Response};
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};

/// A cluster with a fake server that responds by path.
async fn cluster(
    answer: impl Fn(&str, &Value) -> (u16, Value) + Send + 'static,
) -> Result<ClusterClient, ClusterError> {
    let (service, mut handle) = tower_test::mock::pair::<Request<Body>, Response<Body>>();
    tokio::spawn(async move {
        while let Some((request, send)) = handle.next_request().await {
            let path = request.uri().path().to_owned();
            let body = http_body_util::BodyExt::collect(request.into_body());
            let body = body.await.unwrap().to_bytes();
            let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
            let (status, value) = answer(&path, &body);
            let content = serde_json::to_vec(&value).unwrap();
            let response = Response::builder()
                .status(status)
                .header("content-type", "application/json")
                .body(Body::from(content));
            send.send_response(response.unwrap());
        }
    });
    let client = Client::new(service, "default");
    ClusterClient::with_client(client, "https://10.3.0.1:6443".to_owned()).await
}

fn version() -> (u16, Value) {
    let version = json!({
        "major": "1", "minor": "36", "gitVersion": "v1.36.3", "gitCommit": "", "gitTreeState": "",
        "buildDate": "", "goVersion": "", "compiler": "", "platform": "",
    });
    (200, version)
}

fn failure(code: u16, message: &str) -> (u16, Value) {
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code,
        "reason": if code == 404 { "NotFound" } else { "Because" }, "message": message,
    });
    (code, status)
}

async fn connect(kubeconfig: &str) -> ClusterError {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("admin.conf");
    std::fs::write(&path, kubeconfig).unwrap();
    match ClusterClient::connect(&path).await {
        Ok(_) => panic!("it connected"),
        Err(error) => error,
    }
}

fn kubeconfig(server: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: x\n\
         clusters: [{{name: x, cluster: {{server: '{server}'}}}}]\n\
         users: [{{name: x, user: {{token: abc}}}}]\n\
         contexts: [{{name: x, context: {{cluster: x, user: x}}}}]\n"
    )
}

#[tokio::test]
async fn a_missing_or_invalid_kubeconfig_is_reported() {
    let missing = ClusterClient::connect("/no/such/admin.conf".as_ref()).await;
    let Err(missing) = missing else {
        panic!("it connected");
    };
    assert_eq!(missing.code(), "CAS-API-001");
    assert!(missing.to_string().contains("/no/such/admin.conf"));
    assert_eq!(connect("clusters: [").await.code(), "CAS-API-002");
    assert_eq!(connect("{}").await.code(), "CAS-API-002");
}

#[tokio::test]
async fn an_unreachable_server_is_named() {
    let free = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = free.local_addr().unwrap().port();
    drop(free);
    let error = connect(&kubeconfig(&format!("https://127.0.0.1:{port}"))).await;
    assert_eq!(error.code(), "CAS-API-003");
    assert!(error.to_string().contains(&format!("127.0.0.1:{port}")));
    assert!(error.is_transient());
}

#[tokio::test]
async fn an_unknown_user_differs_from_one_without_permissions() {
    let unknown = cluster(|_, _| failure(401, "Unauthorized")).await;
    assert_eq!(unknown.err().unwrap().code(), "CAS-API-005");
    let powerless = cluster(|path, _| match path {
        "/version" => version(),
        _ => failure(403, "nodes is forbidden"),
    });
    let powerless = powerless.await.unwrap();
    assert_eq!(powerless.version(), "v1.36.3");
    let error = powerless.node("Windows01").await.unwrap_err();
    assert_eq!(error.code(), "CAS-API-006");
    assert_eq!(
        error.to_string(),
        "permission denied: the API server refused to read Node windows01"
    );
}

#[tokio::test]
async fn missing_permissions_are_reported_as_one_list() {
    let cluster = cluster(|path, review| match path {
        "/version" => version(),
        _ => {
            let attributes = &review["spec"]["resourceAttributes"];
            let allowed = attributes["resource"] != "secrets" && attributes["verb"] != "bind";
            let mut answer = review.clone();
            answer["status"] = json!({"allowed": allowed});
            (201, answer)
        }
    });
    let error = cluster
        .await
        .unwrap()
        .check_permissions()
        .await
        .unwrap_err();
    assert_eq!(error.code(), "CAS-API-007");
    let missing: Vec<_> = error
        .problem()
        .detail
        .into_iter()
        .map(|(_, permission)| permission)
        .collect();
    assert_eq!(
        missing,
        [
            "bind clusterroles.rbac.authorization.k8s.io `system:node-proxier`",
            "create, list, delete secrets in kube-system",
        ]
    );
    assert!(missing.len() < PERMISSIONS.len());
}

#[tokio::test]
async fn missing_permissions_are_listed_if_they_keep_the_cluster_from_being_read() {
    let powerless = cluster(|path, review| match path {
        "/version" => version(),
        "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews" => {
            let mut answer = review.clone();
            let allowed = review["spec"]["resourceAttributes"]["resource"] != "nodes";
            answer["status"] = json!({"allowed": allowed});
            (201, answer)
        }
        _ => failure(403, "nodes is forbidden"),
    });
    let kube = KubeApi {
        cluster: powerless.await.unwrap(),
        run: "powerless".to_owned(),
    };
    let text = "apiVersion: casement.dev/v1alpha1\nkind: Cluster\nmetadata: {name: shop}\n\
                spec:\n  kubernetes: {version: 1.36.3}\n  existing: {kubeconfig: ./admin.conf}\n  \
                network: {mode: flannel-overlay}\n  \
                hosts:\n    - {name: win1, address: 10.3.0.4, os: windows-2022}\n";
    let file = casement_source::load_bytes("cluster.yaml", text.as_bytes());
    let error = kube.observe_permitted(&file.cluster.unwrap()).await;
    let RunError::Cluster(error) = error.unwrap_err() else {
        panic!("the API server refused");
    };
    assert_eq!(error.code(), "CAS-API-007");
    let missing = [("missing", "get, list, watch, patch, delete nodes")];
    let missing = missing.map(|(label, text)| (label.to_owned(), text.to_owned()));
    assert_eq!(error.problem().detail, missing);
}

#[tokio::test]
async fn a_cluster_not_created_by_kubeadm_is_reported() {
    let cluster = cluster(|path, _| match path {
        "/version" => version(),
        _ => failure(404, "not found"),
    });
    let error = cluster.await.unwrap().observe().await.unwrap_err();
    assert_eq!(error.code(), "CAS-API-008");
}

/// The first read finds the planned value; the edit comes between that read and the
/// patch, and only the patch's own test can detect it.
#[tokio::test]
async fn an_edit_just_before_the_patch_is_a_conflict() {
    let reads = AtomicU32::new(0);
    let cluster = cluster(move |path, body| match path {
        "/version" => version(),
        "/apis/apps/v1/namespaces/shop/daemonsets/x" if body.is_array() => {
            assert_eq!(body[0]["op"], "test");
            failure(422, "the server rejected our request")
        }
        "/apis/apps/v1/namespaces/shop/daemonsets/x" => {
            let value = match reads.fetch_add(1, Ordering::SeqCst) {
                0 => "old",
                _ => "theirs",
            };
            let metadata = json!({"name": "x", "namespace": "shop"});
            let set = json!({"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": metadata,
                "spec": {"a": value}});
            (200, set)
        }
        _ => {
            let metadata = json!({"name": "casement-state", "resourceVersion": "1"});
            let state = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata});
            (200, state)
        }
    });
    let change = ClusterChange {
        object: ObjectRef::new("apps/v1", "DaemonSet", Some("shop"), "x"),
        field: "/spec/a".to_owned(),
        before: Some(json!("old")),
        after: Some(json!("new")),
        method: ChangeMethod::Patch,
        outage: None,
    };
    let error = cluster.await.unwrap().apply(&change).await.unwrap_err();
    let ClusterError::Conflict { found, .. } = &error else {
        panic!("{error:?}");
    };
    assert_eq!(found, &Some(json!("theirs")));
}

/// Nothing is forced.
#[tokio::test]
async fn a_disruption_budget_that_blocks_eviction_is_reported() {
    let cluster = cluster(|path, _| match path {
        "/version" => version(),
        "/api/v1/nodes/win1" => {
            let condition = json!({"type": "Ready", "status": "True"});
            let metadata = json!({"name": "win1"});
            let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": metadata,
                "status": {"conditions": [condition]}});
            (200, node)
        }
        "/api/v1/pods" => {
            let metadata = json!({"name": "web", "namespace": "shop"});
            let pod = json!({"metadata": metadata, "spec": {"containers": []}});
            let list = json!({"apiVersion": "v1", "kind": "PodList", "metadata": {},
                "items": [pod]});
            (200, list)
        }
        "/api/v1/namespaces/shop/pods/web/eviction" => {
            failure(429, "Cannot evict pod as it would violate the budget")
        }
        _ => failure(404, "not found"),
    });
    let cluster = cluster.await.unwrap();
    let drained = cluster.drain("Win1", std::time::Duration::ZERO, &|_| {});
    let error = drained.await.unwrap_err();
    assert_eq!(error.code(), "CAS-API-014");
    let expected = (
        "shop/web".to_owned(),
        "Cannot evict pod as it would violate the budget".to_owned(),
    );
    assert_eq!(error.problem().detail, [expected]);
}
