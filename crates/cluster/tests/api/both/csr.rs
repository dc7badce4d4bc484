//! Certificate requests of joining kubelets: watched, and approved if the cluster has
//! no approver.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use casement_cluster::{BootstrapTokenRequest, JoiningNode};
use k8s_openapi::api::certificates::v1::CertificateSigningRequest;
use k8s_openapi::api::rbac::v1::ClusterRoleBinding;
use kube::api::{DeleteParams, PostParams};
use kube::{Api, Client};
use secrecy::ExposeSecret as _;
use serde_json::json;

use crate::server::Server;

const APPROVER: &str = "kubeadm:node-autoapprove-bootstrap";

fn request(node: &str) -> String {
    let mut params = rcgen::CertificateParams::default();
    params.distinguished_name = rcgen::DistinguishedName::new();
    let name = format!("system:node:{node}");
    let names = &mut params.distinguished_name;
    names.push(rcgen::DnType::OrganizationName, "system:nodes");
    names.push(rcgen::DnType::CommonName, name);
    let key = rcgen::KeyPair::generate().unwrap();
    params.serialize_request(&key).unwrap().pem().unwrap()
}

/// Requests a client certificate like a kubelet with that token.
async fn send_request(client: &Client, name: &str, node: &str) {
    let api: Api<CertificateSigningRequest> = Api::all(client.clone());
    let object = serde_json::from_value(json!({
        "metadata": {"name": name},
        "spec": {
            "request": k8s_openapi::ByteString(request(node).into_bytes()),
            "signerName": "kubernetes.io/kube-apiserver-client-kubelet",
            "usages": ["digital signature", "client auth"],
        },
    }))
    .unwrap();
    for _ in 0..100 {
        match api.create(&PostParams::default(), &object).await {
            Ok(_) => return,
            // A new token is accepted after a moment.
            Err(kube::Error::Api(status)) if status.code == 401 => {}
            Err(error) => panic!("{error}"),
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("the token is never accepted");
}

/// The approval's reason; none while the request is pending.
async fn approved(server: &Server, name: &str) -> Option<String> {
    let api: Api<CertificateSigningRequest> = Api::all(server.client().await);
    let request = api.get(name).await.unwrap();
    let conditions = request.status?.conditions?;
    let found = conditions.into_iter().find(|it| it.type_ == "Approved")?;
    found.reason
}

async fn until_approved(server: &Server, name: &str) -> String {
    for _ in 0..200 {
        if let Some(reason) = approved(server, name).await {
            return reason;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("{name} is never approved");
}

pub async fn only_its_own_request_is_approved_and_only_without_an_approver(server: &Server) {
    let _state = server.state().await;
    let cluster = server.cluster().await;
    let bindings: Api<ClusterRoleBinding> = Api::all(server.client().await);
    let mut approver = bindings.get(APPROVER).await.unwrap();
    let requests: Api<CertificateSigningRequest> = Api::all(server.client().await);
    for name in ["casement-own", "casement-auto", "casement-other"] {
        let _ = requests.delete(name, &DeleteParams::default()).await;
    }
    let request = BootstrapTokenRequest {
        host: "request01".to_owned(),
        run: "requests".to_owned(),
        lifetime: Duration::from_secs(600),
    };
    let token = cluster.create_token(&request).await.unwrap();
    let secret = token.value();
    let config = server.config_with_token(secret.expose_secret()).await;
    let kubelet = Client::try_from(config).unwrap();
    let joining = JoiningNode {
        node: "Request01".to_lowercase(),
        run: "requests".to_owned(),
    };
    let reported = Arc::new(Mutex::new(Vec::new()));
    let attend = |cluster: casement_cluster::ClusterClient| {
        let (reported, joining) = (reported.clone(), joining.clone());
        tokio::spawn(async move {
            let on_progress = |text: String| reported.lock().unwrap().push(text);
            cluster.watch_join_request(&joining, &on_progress).await
        })
    };

    let attended = attend(cluster.clone());
    send_request(&kubelet, "casement-auto", "request01").await;
    let reason = until_approved(server, "casement-auto").await;
    assert_ne!(
        reason, "CasementToken",
        "the cluster approves automatically"
    );
    attended.abort();

    bindings
        .delete(APPROVER, &DeleteParams::default())
        .await
        .unwrap();
    let attended = attend(cluster.clone());
    send_request(&kubelet, "casement-other", "request02").await;
    send_request(&kubelet, "casement-own", "request01").await;
    let reason = until_approved(server, "casement-own").await;
    let other = approved(server, "casement-other").await;
    attended.abort();
    approver.metadata.resource_version = None;
    approver.metadata.uid = None;
    approver.metadata.managed_fields = None;
    bindings
        .create(&PostParams::default(), &approver)
        .await
        .unwrap();
    cluster.delete_token(token.id()).await.unwrap();
    assert_eq!(reason, "CasementToken");
    assert_eq!(other, None, "a request for another name stays pending");
    let reported = reported.lock().unwrap();
    let word = "the certificate request is approved".to_owned();
    assert!(reported.contains(&word), "{reported:?}");
}
