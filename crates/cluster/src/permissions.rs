//! What casement needs to be allowed to do, asked for before anything changes.
//! `permissions.yaml` beside this crate says the same as roles that can be applied.

use std::borrow::Cow;
use std::fmt;

use futures_util::future::try_join_all;
use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec,
};
use kube::api::{Api, PostParams};

use crate::calico::GROUP;
use crate::change::ObjectRef;
use crate::connect::Cluster;
use crate::error::ClusterError;

/// One thing to be allowed.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Right {
    /// `get`, `list` and so on.
    pub verb: &'static str,
    /// The API group; empty for the core.
    pub group: &'static str,
    /// The plural of the kind, perhaps with a part of it (`pods/eviction`).
    pub resource: &'static str,
    /// None: in the whole cluster.
    pub namespace: Option<Cow<'static, str>>,
    /// None: whatever its name.
    pub name: Option<&'static str>,
}

impl Right {
    /// A right in a namespace that is known only now.
    pub(crate) fn within(
        namespace: &str,
        verb: &'static str,
        group: &'static str,
        resource: &'static str,
    ) -> Self {
        Self {
            verb,
            group,
            resource,
            namespace: Some(Cow::Owned(namespace.to_owned())),
            name: None,
        }
    }

    /// The same for one object.
    pub(crate) fn named(self, name: &'static str) -> Self {
        Self {
            name: Some(name),
            ..self
        }
    }

    /// Whether only the verbs differ.
    pub(crate) fn is_about_the_same(&self, other: &Self) -> bool {
        let about = |right: &Self| Self {
            verb: "",
            ..right.clone()
        };
        about(self) == about(other)
    }

    /// Rights about the same in one line, the verbs first.
    pub(crate) fn several(rights: &[Self]) -> String {
        let verbs: Vec<&str> = rights.iter().map(|right| right.verb).collect();
        let object = rights.first().map(|right| Object(right).to_string());
        format!("{} {}", verbs.join(", "), object.unwrap_or_default())
    }
}

impl fmt::Display for Right {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {}", self.verb, Object(self))
    }
}

/// What a right is about, without its verb.
struct Object<'a>(&'a Right);

impl fmt::Display for Object<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(right) = self;
        write!(formatter, "{}", right.resource)?;
        if !right.group.is_empty() {
            write!(formatter, ".{}", right.group)?;
        }
        if let Some(name) = right.name {
            write!(formatter, " `{name}`")?;
        }
        if let Some(namespace) = &right.namespace {
            write!(formatter, " in {namespace}")?;
        }
        Ok(())
    }
}

const fn wide(verb: &'static str, group: &'static str, resource: &'static str) -> Right {
    Right {
        verb,
        group,
        resource,
        namespace: None,
        name: None,
    }
}

const fn core(
    verb: &'static str,
    resource: &'static str,
    namespace: &'static str,
    name: Option<&'static str>,
) -> Right {
    Right {
        verb,
        group: "",
        resource,
        namespace: Some(Cow::Borrowed(namespace)),
        name,
    }
}

const fn named(
    verb: &'static str,
    group: &'static str,
    resource: &'static str,
    name: &'static str,
) -> Right {
    Right {
        verb,
        group,
        resource,
        namespace: None,
        name: Some(name),
    }
}

const RBAC: &str = "rbac.authorization.k8s.io";
const CERTIFICATES: &str = "certificates.k8s.io";
const HOST_PROCESS_MAPS: [(&str, &str); 2] = [
    ("kube-system", "kubernetes-services-endpoint"),
    ("kube-flannel", "kube-flannel-windows-cfg"),
];
const STATE: Option<&str> = Some("casement-state");

/// The same as roles that can be applied, with a reason for each.
pub const RIGHTS_YAML: &str = include_str!("../permissions.yaml");

/// What every run needs.
pub const RIGHTS: &[Right] = &[
    wide("get", "", "nodes"),
    wide("list", "", "nodes"),
    wide("watch", "", "nodes"),
    wide("patch", "", "nodes"),
    wide("delete", "", "nodes"),
    wide("list", "", "pods"),
    wide("create", "", "pods/eviction"),
    wide("get", "apps", "daemonsets"),
    wide("list", "apps", "daemonsets"),
    wide("patch", "apps", "daemonsets"),
    wide("get", "node.k8s.io", "runtimeclasses"),
    wide("create", "node.k8s.io", "runtimeclasses"),
    wide("patch", "node.k8s.io", "runtimeclasses"),
    wide("delete", "node.k8s.io", "runtimeclasses"),
    wide("list", CERTIFICATES, "certificatesigningrequests"),
    wide("watch", CERTIFICATES, "certificatesigningrequests"),
    wide(
        "update",
        CERTIFICATES,
        "certificatesigningrequests/approval",
    ),
    named(
        "approve",
        CERTIFICATES,
        "signers",
        "kubernetes.io/kube-apiserver-client-kubelet",
    ),
    wide("get", RBAC, "clusterrolebindings"),
    wide("create", RBAC, "clusterrolebindings"),
    wide("patch", RBAC, "clusterrolebindings"),
    wide("delete", RBAC, "clusterrolebindings"),
    named("bind", RBAC, "clusterroles", "system:node-proxier"),
    named("get", RBAC, "clusterroles", "casement:overlay"),
    named("create", RBAC, "clusterroles", "casement:overlay"),
    named("patch", RBAC, "clusterroles", "casement:overlay"),
    named("delete", RBAC, "clusterroles", "casement:overlay"),
    core("create", "secrets", "kube-system", None),
    core("list", "secrets", "kube-system", None),
    core("delete", "secrets", "kube-system", None),
    core("get", "configmaps", "kube-system", Some("kubeadm-config")),
    core("get", "configmaps", "kube-system", Some("kubelet-config")),
    core("get", "configmaps", "kube-system", STATE),
    core("patch", "configmaps", "kube-system", STATE),
    core("delete", "configmaps", "kube-system", STATE),
    core("create", "configmaps", "kube-system", None),
    core("get", "configmaps", "kube-public", Some("cluster-info")),
];

/// What it takes besides to look at flannel where it is, and to change it.
pub fn flannel_rights(namespace: &str) -> Vec<Right> {
    let maps = ["get", "patch"].map(|verb| {
        Right::within(namespace, verb, "", "configmaps").named(crate::flannel::CONFIG_MAP)
    });
    let verbs = ["list", "watch", "delete"];
    let pods = verbs.map(|verb| Right::within(namespace, verb, "", "pods"));
    maps.into_iter().chain(pods).collect()
}

/// What it takes besides to look at Calico.
pub fn calico_rights() -> Vec<Right> {
    vec![
        wide("list", GROUP, "ippools"),
        named("get", GROUP, "ipamconfigs", "default"),
        named("get", GROUP, "felixconfigurations", "default"),
    ]
}

/// What it takes besides for `components: host-process`: DaemonSets of casement's
/// own, and what they read.
pub fn host_process_rights() -> Vec<Right> {
    let mut rights = Vec::new();
    for (space, map) in HOST_PROCESS_MAPS {
        let sets = ["create", "delete"];
        rights.extend(sets.map(|verb| Right::within(space, verb, "apps", "daemonsets")));
        let own = ["get", "patch", "create", "delete"];
        rights.extend(own.map(|verb| Right::within(space, verb, "", "configmaps").named(map)));
    }
    rights
}

/// The objects of `components: host-process`, whichever of them are there.
pub fn host_process_refs() -> Vec<ObjectRef> {
    let map = |(space, name): (&str, &str)| ObjectRef::new("v1", "ConfigMap", Some(space), name);
    let set =
        |(space, name): (&str, &str)| ObjectRef::new("apps/v1", "DaemonSet", Some(space), name);
    let sets = [
        ("kube-system", "kube-proxy-windows"),
        ("kube-system", "calico-node-windows"),
        ("kube-flannel", "kube-flannel-ds-windows-amd64"),
    ];
    let maps = HOST_PROCESS_MAPS.into_iter().map(map);
    sets.into_iter().map(set).chain(maps).collect()
}

impl Cluster {
    /// Fails with the whole list of what is missing of [`RIGHTS`].
    pub async fn check_rights(&self) -> Result<(), ClusterError> {
        self.check_these_rights(RIGHTS).await
    }

    /// The same for these.
    pub async fn check_these_rights(&self, rights: &[Right]) -> Result<(), ClusterError> {
        let asked = rights.iter().map(|right| self.is_allowed(right));
        let allowed = try_join_all(asked).await?;
        let missing: Vec<Right> = rights
            .iter()
            .zip(allowed)
            .filter(|(_, allowed)| !allowed)
            .map(|(right, _)| right.clone())
            .collect();
        match missing.is_empty() {
            true => Ok(()),
            false => Err(ClusterError::MissingRights { missing }),
        }
    }

    async fn is_allowed(&self, right: &Right) -> Result<bool, ClusterError> {
        let text = |text: &str| Some(text.to_owned());
        let (resource, part) = match right.resource.split_once('/') {
            Some((resource, part)) => (resource, text(part)),
            None => (right.resource, None),
        };
        let review = SelfSubjectAccessReview {
            spec: SelfSubjectAccessReviewSpec {
                resource_attributes: Some(ResourceAttributes {
                    verb: text(right.verb),
                    group: text(right.group),
                    resource: text(resource),
                    subresource: part,
                    namespace: right.namespace.as_deref().map(str::to_owned),
                    name: right.name.map(str::to_owned),
                    ..ResourceAttributes::default()
                }),
                ..SelfSubjectAccessReviewSpec::default()
            },
            ..SelfSubjectAccessReview::default()
        };
        let api: Api<SelfSubjectAccessReview> = Api::all(self.client.clone());
        let answer = api.create(&PostParams::default(), &review).await;
        let answer = answer.map_err(self.failed("say what the kubeconfig's user may do"))?;
        Ok(answer.status.is_some_and(|status| status.allowed))
    }
}

#[cfg(test)]
#[path = "permissions/tests.rs"]
mod tests;
