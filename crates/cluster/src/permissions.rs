//! The RBAC permissions that casement needs, checked before anything changes.
//! `permissions.yaml` has the same as roles that can be applied.

use std::borrow::Cow;
use std::fmt;

use futures_util::future::try_join_all;
use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec,
};
use kube::api::{Api, PostParams};

use crate::calico::GROUP;
use crate::change::ObjectRef;
use crate::client::ClusterClient;
use crate::error::{AccessError, ClusterError};

#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Permission {
    pub verb: &'static str,
    /// Empty for the core group.
    pub group: &'static str,
    /// May include a subresource (`pods/eviction`).
    pub resource: &'static str,
    /// None: cluster-wide.
    pub namespace: Option<Cow<'static, str>>,
    /// None: any name.
    pub name: Option<&'static str>,
}

impl Permission {
    /// For a namespace known only at run time.
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

    pub(crate) fn named(self, name: &'static str) -> Self {
        Self {
            name: Some(name),
            ..self
        }
    }

    /// Whether only the verbs differ.
    pub(crate) fn same_object(&self, other: &Self) -> bool {
        let without_verb = |permission: &Self| Self {
            verb: "",
            ..permission.clone()
        };
        without_verb(self) == without_verb(other)
    }

    /// Permissions for the same object in one line, verbs first.
    pub(crate) fn join(permissions: &[Self]) -> String {
        let verbs: Vec<&str> = permissions
            .iter()
            .map(|permission| permission.verb)
            .collect();
        let object = permissions.first().map(|first| Object(first).to_string());
        format!("{} {}", verbs.join(", "), object.unwrap_or_default())
    }
}

impl fmt::Display for Permission {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {}", self.verb, Object(self))
    }
}

/// A permission without its verb.
struct Object<'a>(&'a Permission);

impl fmt::Display for Object<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(permission) = self;
        write!(formatter, "{}", permission.resource)?;
        if !permission.group.is_empty() {
            write!(formatter, ".{}", permission.group)?;
        }
        if let Some(name) = permission.name {
            write!(formatter, " `{name}`")?;
        }
        if let Some(namespace) = &permission.namespace {
            write!(formatter, " in {namespace}")?;
        }
        Ok(())
    }
}

const fn wide(verb: &'static str, group: &'static str, resource: &'static str) -> Permission {
    Permission {
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
) -> Permission {
    Permission {
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
) -> Permission {
    Permission {
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

/// The permissions as roles that can be applied, with a reason for each.
pub const PERMISSIONS_YAML: &str = include_str!("../permissions.yaml");

/// Needed by every run.
pub const PERMISSIONS: &[Permission] = &[
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

/// Needed in addition to read and change flannel in its namespace.
pub fn flannel_permissions(namespace: &str) -> Vec<Permission> {
    let maps = ["get", "patch"].map(|verb| {
        Permission::within(namespace, verb, "", "configmaps").named(crate::flannel::CONFIG_MAP)
    });
    let verbs = ["list", "watch", "delete"];
    let pods = verbs.map(|verb| Permission::within(namespace, verb, "", "pods"));
    maps.into_iter().chain(pods).collect()
}

/// Needed in addition to read Calico's settings.
pub fn calico_permissions() -> Vec<Permission> {
    vec![
        wide("list", GROUP, "ippools"),
        named("get", GROUP, "ipamconfigs", "default"),
        named("get", GROUP, "felixconfigurations", "default"),
    ]
}

/// Needed in addition for `components: host-process`: casement's DaemonSets and
/// their ConfigMaps.
pub fn host_process_permissions() -> Vec<Permission> {
    let mut permissions = Vec::new();
    for (space, map) in HOST_PROCESS_MAPS {
        let sets = ["create", "delete"];
        permissions.extend(sets.map(|verb| Permission::within(space, verb, "apps", "daemonsets")));
        let own = ["get", "patch", "create", "delete"];
        permissions
            .extend(own.map(|verb| Permission::within(space, verb, "", "configmaps").named(map)));
    }
    permissions
}

/// All objects that `components: host-process` may create.
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

impl ClusterClient {
    /// Fails with the list of all missing [`PERMISSIONS`].
    pub async fn check_permissions(&self) -> Result<(), ClusterError> {
        self.check_permission_list(PERMISSIONS).await
    }

    pub async fn check_permission_list(
        &self,
        permissions: &[Permission],
    ) -> Result<(), ClusterError> {
        let reviews = permissions.iter().map(|it| self.is_allowed(it));
        let allowed = try_join_all(reviews).await?;
        let missing: Vec<Permission> = permissions
            .iter()
            .zip(allowed)
            .filter(|(_, allowed)| !allowed)
            .map(|(permission, _)| permission.clone())
            .collect();
        match missing.is_empty() {
            true => Ok(()),
            false => Err(AccessError::MissingPermissions { missing }.into()),
        }
    }

    async fn is_allowed(&self, permission: &Permission) -> Result<bool, ClusterError> {
        let text = |text: &str| Some(text.to_owned());
        let (resource, part) = match permission.resource.split_once('/') {
            Some((resource, part)) => (resource, text(part)),
            None => (permission.resource, None),
        };
        let review = SelfSubjectAccessReview {
            spec: SelfSubjectAccessReviewSpec {
                resource_attributes: Some(ResourceAttributes {
                    verb: text(permission.verb),
                    group: text(permission.group),
                    resource: text(resource),
                    subresource: part,
                    namespace: permission.namespace.as_deref().map(str::to_owned),
                    name: permission.name.map(str::to_owned),
                    ..ResourceAttributes::default()
                }),
                ..SelfSubjectAccessReviewSpec::default()
            },
            ..SelfSubjectAccessReview::default()
        };
        let api: Api<SelfSubjectAccessReview> = Api::all(self.client.clone());
        let review = api.create(&PostParams::default(), &review).await;
        let review =
            review.map_err(self.failed("check the permissions of the kubeconfig's user"))?;
        Ok(review.status.is_some_and(|status| status.allowed))
    }
}

#[cfg(test)]
mod tests;
