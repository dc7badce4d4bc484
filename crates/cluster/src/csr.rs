//! The certificate signing request of a joining kubelet.
//!
//! A cluster created by kubeadm approves these automatically. If it does not, casement
//! approves only the request made with its own token for the expected node name.

use std::collections::BTreeSet;

use futures_util::StreamExt as _;
use k8s_openapi::api::certificates::v1::{
    CertificateSigningRequest, CertificateSigningRequestCondition,
};
use k8s_openapi::api::rbac::v1::ClusterRoleBinding;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use kube::api::{Api, ListParams, PostParams, WatchParams};
use rustls_pki_types::CertificateSigningRequestDer;
use rustls_pki_types::pem::PemObject as _;
use x509_parser::prelude::{FromDer as _, X509CertificationRequest};

use crate::client::ClusterClient;
use crate::error::ClusterError;

/// The signer of kubelet client certificates.
pub(crate) const SIGNER: &str = "kubernetes.io/kube-apiserver-client-kubelet";
/// kubeadm's binding that lets the controller manager approve.
const APPROVER: &str = "kubeadm:node-autoapprove-bootstrap";
const TOKEN_USER: &str = "system:bootstrap:";

#[derive(Debug, Clone)]
pub struct JoiningNode {
    pub node: String,
    /// The run whose token the node uses.
    pub run: String,
}

struct NodeRequest {
    name: String,
    token: String,
    decided: Option<String>,
}

impl ClusterClient {
    /// Watches the requests of a joining node until the future is dropped;
    /// `on_progress` receives their state.
    pub async fn watch_join_request(
        &self,
        joining: &JoiningNode,
        on_progress: &(dyn Fn(String) + Sync),
    ) -> Result<(), ClusterError> {
        let api: Api<CertificateSigningRequest> = Api::all(self.client.clone());
        let approves = !self.has_approver().await?;
        let field = format!("spec.signerName={SIGNER}");
        let mut reported = BTreeSet::new();
        loop {
            let list = api.list(&ListParams::default().fields(&field)).await;
            let list = list.map_err(self.failed("list CertificateSigningRequests"))?;
            let version = list.metadata.resource_version.clone().unwrap_or_default();
            for request in &list.items {
                let Some(found) = node_request(request, &joining.node) else {
                    continue;
                };
                if !self.is_token_of(&found.token, joining).await? {
                    continue;
                }
                if found.decided.is_none() && approves {
                    self.approve(&api, request, joining).await?;
                }
                let state = match (&found.decided, approves) {
                    (Some(decided), _) => format!("the certificate request was {decided}"),
                    (None, true) => "the certificate request is approved".to_owned(),
                    (None, false) => "the certificate request is waiting for approval".to_owned(),
                };
                if reported.insert((found.name, state.clone())) {
                    on_progress(state);
                }
            }
            let params = WatchParams::default().fields(&field);
            let watch = api.watch(&params, &version).await;
            let watch = watch.map_err(self.failed("watch CertificateSigningRequests"))?;
            // Any event, or the end of the watch: list again.
            let _ = watch.boxed().next().await;
        }
    }

    async fn has_approver(&self) -> Result<bool, ClusterError> {
        let api: Api<ClusterRoleBinding> = Api::all(self.client.clone());
        let found = api.get_opt(APPROVER).await;
        let found = found.map_err(self.failed(format!("read ClusterRoleBinding {APPROVER}")))?;
        Ok(found.is_some())
    }

    /// Replaced with the resource version that was read: another decision in between
    /// is kept.
    async fn approve(
        &self,
        api: &Api<CertificateSigningRequest>,
        request: &CertificateSigningRequest,
        joining: &JoiningNode,
    ) -> Result<(), ClusterError> {
        let name = request.metadata.name.clone().unwrap_or_default();
        let mut approved = request.clone();
        let now = Time(Timestamp::now());
        let status = approved.status.get_or_insert_default();
        status
            .conditions
            .get_or_insert_default()
            .push(CertificateSigningRequestCondition {
                type_: "Approved".to_owned(),
                status: "True".to_owned(),
                reason: Some("CasementToken".to_owned()),
                message: Some(format!(
                    "created with casement's token for {} (run {})",
                    joining.node, joining.run
                )),
                last_update_time: Some(now),
                last_transition_time: None,
            });
        let params = PostParams::default();
        let replaced = api.replace_subresource("approval", &name, &params, &approved);
        match replaced.await {
            Ok(_) => Ok(()),
            Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => Ok(()),
            Err(error) => Err(self
                .failed(format!("approve CertificateSigningRequest {name}"))(
                error
            )),
        }
    }
}

/// None if the request is for another node or was not made with a token.
fn node_request(request: &CertificateSigningRequest, node: &str) -> Option<NodeRequest> {
    let spec = &request.spec;
    if spec.signer_name != SIGNER {
        return None;
    }
    let token = spec.username.as_deref()?.strip_prefix(TOKEN_USER)?;
    if subject(&spec.request.0)?
        != (
            format!("system:node:{}", node.to_lowercase()),
            "system:nodes".to_owned(),
        )
    {
        return None;
    }
    let conditions = request.status.as_ref();
    let conditions = conditions.and_then(|status| status.conditions.as_ref());
    let decided = conditions.into_iter().flatten().find_map(|condition| {
        let message = condition.message.clone().unwrap_or_default();
        match condition.type_.as_str() {
            "Approved" => Some("approved".to_owned()),
            "Denied" => Some(format!("denied: {message}")),
            "Failed" => Some(format!("not signed: {message}")),
            _ => None,
        }
    });
    Some(NodeRequest {
        name: request.metadata.name.clone().unwrap_or_default(),
        token: token.to_owned(),
        decided,
    })
}

/// Common name and organization; none unless each occurs exactly once.
pub(crate) fn subject(pem: &[u8]) -> Option<(String, String)> {
    let der = CertificateSigningRequestDer::from_pem_slice(pem).ok()?;
    let (_, request) = X509CertificationRequest::from_der(&der).ok()?;
    let subject = &request.certification_request_info.subject;
    let mut names = subject.iter_common_name();
    let mut organizations = subject.iter_organization();
    let text = (
        names.next()?.as_str().ok()?.to_owned(),
        organizations.next()?.as_str().ok()?.to_owned(),
    );
    let more = names.next().is_some() || organizations.next().is_some();
    (!more).then_some(text)
}
