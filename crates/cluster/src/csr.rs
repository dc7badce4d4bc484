//! The certificate request of a kubelet that joins: who made it, for whom, and what
//! became of it.
//!
//! A cluster that kubeadm made approves these itself. Where nobody does, casement
//! approves the one that its own token made for the name that it should have, and no
//! other.

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

use crate::connect::Cluster;
use crate::error::ClusterError;

/// Whose certificates kubelets ask for.
pub(crate) const SIGNER: &str = "kubernetes.io/kube-apiserver-client-kubelet";
/// kubeadm's word that the controller manager may approve.
const APPROVER: &str = "kubeadm:node-autoapprove-bootstrap";
const TOKEN_USER: &str = "system:bootstrap:";

/// Whose request is waited for.
#[derive(Debug, Clone)]
pub struct Joining {
    /// The node's name.
    pub node: String,
    /// The run whose token it uses.
    pub run: String,
}

/// What a request says, as far as one decides by it.
struct Asked {
    name: String,
    token: String,
    decided: Option<String>,
}

impl Cluster {
    /// Watches the requests of a joining node until the future is dropped; `tell`
    /// hears what becomes of them.
    ///
    /// # Errors
    /// When the API cannot be asked, or refuses.
    pub async fn attend_request(
        &self,
        joining: &Joining,
        tell: &(dyn Fn(String) + Sync),
    ) -> Result<(), ClusterError> {
        let api: Api<CertificateSigningRequest> = Api::all(self.client.clone());
        let approves = !self.has_approver().await?;
        let field = format!("spec.signerName={SIGNER}");
        let mut told = BTreeSet::new();
        loop {
            let list = api.list(&ListParams::default().fields(&field)).await;
            let list = list.map_err(self.failed("list CertificateSigningRequests"))?;
            let version = list.metadata.resource_version.clone().unwrap_or_default();
            for request in &list.items {
                let Some(asked) = asked(request, &joining.node) else {
                    continue;
                };
                if !self.is_token_of(&asked.token, joining).await? {
                    continue;
                }
                if asked.decided.is_none() && approves {
                    self.approve(&api, request, joining).await?;
                }
                let state = match (&asked.decided, approves) {
                    (Some(decided), _) => format!("its certificate request was {decided}"),
                    (None, true) => "its certificate request is approved".to_owned(),
                    (None, false) => "its certificate request waits for approval".to_owned(),
                };
                if told.insert((asked.name, state.clone())) {
                    tell(state);
                }
            }
            let params = WatchParams::default().fields(&field);
            let watch = api.watch(&params, &version).await;
            let watch = watch.map_err(self.failed("watch CertificateSigningRequests"))?;
            // Whatever comes, or an end of the watch: it is looked at again.
            let _ = watch.boxed().next().await;
        }
    }

    async fn has_approver(&self) -> Result<bool, ClusterError> {
        let api: Api<ClusterRoleBinding> = Api::all(self.client.clone());
        let found = api.get_opt(APPROVER).await;
        let found = found.map_err(self.failed(format!("read ClusterRoleBinding {APPROVER}")))?;
        Ok(found.is_some())
    }

    /// Read and put with its version: a decision by somebody else in between stays.
    async fn approve(
        &self,
        api: &Api<CertificateSigningRequest>,
        request: &CertificateSigningRequest,
        joining: &Joining,
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
                    "made with casement's token for {} (run {})",
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

/// What a request of that node asks; none if it is another's, or not one of a
/// token.
fn asked(request: &CertificateSigningRequest, node: &str) -> Option<Asked> {
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
    Some(Asked {
        name: request.metadata.name.clone().unwrap_or_default(),
        token: token.to_owned(),
        decided,
    })
}

/// Common name and organisation, where each is there once.
pub(crate) fn subject(pem: &[u8]) -> Option<(String, String)> {
    let der = CertificateSigningRequestDer::from_pem_slice(pem).ok()?;
    let (_, request) = X509CertificationRequest::from_der(&der).ok()?;
    let subject = &request.certification_request_info.subject;
    let mut names = subject.iter_common_name();
    let mut organisations = subject.iter_organization();
    let text = (
        names.next()?.as_str().ok()?.to_owned(),
        organisations.next()?.as_str().ok()?.to_owned(),
    );
    let more = names.next().is_some() || organisations.next().is_some();
    (!more).then_some(text)
}
