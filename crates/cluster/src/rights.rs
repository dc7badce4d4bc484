//! What casement needs to be allowed to do, asked for before anything changes.
//! `rights.yaml` beside this crate says the same as roles that can be applied.

use std::fmt;

use futures_util::future::try_join_all;
use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec,
};
use kube::api::{Api, PostParams};

use crate::connect::Cluster;
use crate::error::ClusterError;

/// One thing to be allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Right {
    /// `get`, `list` and so on.
    pub verb: &'static str,
    /// The API group; empty for the core.
    pub group: &'static str,
    /// The plural of the kind.
    pub resource: &'static str,
    /// None: in the whole cluster.
    pub namespace: Option<&'static str>,
    /// None: whatever its name.
    pub name: Option<&'static str>,
}

impl Right {
    /// Whether only the verbs differ.
    pub(crate) fn is_about_the_same(&self, other: &Self) -> bool {
        Self { verb: "", ..*self } == Self { verb: "", ..*other }
    }

    /// Rights about the same in one line, the verbs first.
    pub(crate) fn several(rights: &[Self]) -> String {
        let verbs: Vec<&str> = rights.iter().map(|right| right.verb).collect();
        let object = rights.first().map(|right| Object(*right).to_string());
        format!("{} {}", verbs.join(", "), object.unwrap_or_default())
    }
}

impl fmt::Display for Right {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {}", self.verb, Object(*self))
    }
}

/// What a right is about, without its verb.
struct Object(Right);

impl fmt::Display for Object {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(right) = self;
        write!(formatter, "{}", right.resource)?;
        if !right.group.is_empty() {
            write!(formatter, ".{}", right.group)?;
        }
        if let Some(name) = right.name {
            write!(formatter, " `{name}`")?;
        }
        if let Some(namespace) = right.namespace {
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
        namespace: Some(namespace),
        name,
    }
}

const RBAC: &str = "rbac.authorization.k8s.io";
const STATE: Option<&str> = Some("casement-state");

/// The same as roles that can be applied, with a reason for each.
pub const RIGHTS_YAML: &str = include_str!("../rights.yaml");

/// All of them.
pub const RIGHTS: &[Right] = &[
    wide("get", "", "nodes"),
    wide("list", "", "nodes"),
    wide("watch", "", "nodes"),
    wide("patch", "", "nodes"),
    wide("delete", "", "nodes"),
    wide("get", "apps", "daemonsets"),
    wide("list", "apps", "daemonsets"),
    wide("patch", "apps", "daemonsets"),
    wide("get", "node.k8s.io", "runtimeclasses"),
    wide("create", "node.k8s.io", "runtimeclasses"),
    wide("patch", "node.k8s.io", "runtimeclasses"),
    wide("delete", "node.k8s.io", "runtimeclasses"),
    wide("get", RBAC, "clusterrolebindings"),
    wide("create", RBAC, "clusterrolebindings"),
    wide("patch", RBAC, "clusterrolebindings"),
    wide("delete", RBAC, "clusterrolebindings"),
    Right {
        verb: "bind",
        group: RBAC,
        resource: "clusterroles",
        namespace: None,
        name: Some("system:node-proxier"),
    },
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

impl Cluster {
    /// Fails with the whole list of what is missing.
    pub async fn check_rights(&self) -> Result<(), ClusterError> {
        let asked = RIGHTS.iter().map(|right| self.is_allowed(right));
        let allowed = try_join_all(asked).await?;
        let missing: Vec<Right> = RIGHTS
            .iter()
            .zip(allowed)
            .filter(|(_, allowed)| !allowed)
            .map(|(right, _)| *right)
            .collect();
        match missing.is_empty() {
            true => Ok(()),
            false => Err(ClusterError::MissingRights { missing }),
        }
    }

    async fn is_allowed(&self, right: &Right) -> Result<bool, ClusterError> {
        let text = |text: &str| Some(text.to_owned());
        let review = SelfSubjectAccessReview {
            spec: SelfSubjectAccessReviewSpec {
                resource_attributes: Some(ResourceAttributes {
                    verb: text(right.verb),
                    group: text(right.group),
                    resource: text(right.resource),
                    namespace: right.namespace.map(str::to_owned),
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
mod tests {
    use std::collections::BTreeSet;

    use k8s_openapi::api::rbac::v1::PolicyRule;
    use serde::Deserialize;

    use super::*;

    #[derive(Deserialize)]
    struct Role {
        metadata: Metadata,
        rules: Vec<PolicyRule>,
    }

    #[derive(Deserialize)]
    struct Metadata {
        namespace: Option<String>,
    }

    #[test]
    fn the_documented_roles_are_exactly_what_is_asked_for() {
        let roles: Vec<Role> = serde_saphyr::from_multiple(RIGHTS_YAML).unwrap();
        let mut documented = BTreeSet::new();
        for role in &roles {
            for rule in &role.rules {
                let names = rule.resource_names.clone().unwrap_or_default();
                let names: Vec<_> = match names.is_empty() {
                    true => vec![None],
                    false => names.into_iter().map(Some).collect(),
                };
                for verb in &rule.verbs {
                    for group in rule.api_groups.iter().flatten() {
                        for resource in rule.resources.iter().flatten() {
                            for name in &names {
                                let place = role.metadata.namespace.clone();
                                documented.insert((
                                    verb.clone(),
                                    group.clone(),
                                    resource.clone(),
                                    place,
                                    name.clone(),
                                ));
                            }
                        }
                    }
                }
            }
        }
        let asked: BTreeSet<_> = RIGHTS
            .iter()
            .map(|right| {
                (
                    right.verb.to_owned(),
                    right.group.to_owned(),
                    right.resource.to_owned(),
                    right.namespace.map(str::to_owned),
                    right.name.map(str::to_owned),
                )
            })
            .collect();
        assert_eq!(documented, asked);
    }

    #[test]
    fn a_right_reads_as_a_sentence() {
        let right = core("get", "configmaps", "kube-system", Some("kubeadm-config"));
        assert_eq!(
            right.to_string(),
            "get configmaps `kubeadm-config` in kube-system"
        );
        let right = wide("patch", "apps", "daemonsets");
        assert_eq!(right.to_string(), "patch daemonsets.apps");
    }
}
