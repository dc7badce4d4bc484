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
fn documented_roles_match_the_checked_permissions() {
    let roles: Vec<Role> = serde_saphyr::from_multiple(PERMISSIONS_YAML).unwrap();
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
                            let namespace = role.metadata.namespace.clone();
                            documented.insert((
                                verb.clone(),
                                group.clone(),
                                resource.clone(),
                                namespace,
                                name.clone(),
                            ));
                        }
                    }
                }
            }
        }
    }
    let all = PERMISSIONS.iter().cloned();
    let all = all.chain(flannel_permissions("kube-flannel"));
    let all = all
        .chain(host_process_permissions())
        .chain(calico_permissions());
    let checked: BTreeSet<_> = all
        .chain(crate::sample::sample_permissions("default"))
        .map(|permission| {
            (
                permission.verb.to_owned(),
                permission.group.to_owned(),
                permission.resource.to_owned(),
                permission.namespace.map(Cow::into_owned),
                permission.name.map(str::to_owned),
            )
        })
        .collect();
    assert_eq!(documented, checked);
}

#[test]
fn a_permission_reads_like_kubectl_auth_can_i() {
    let permission = core("get", "configmaps", "kube-system", Some("kubeadm-config"));
    assert_eq!(
        permission.to_string(),
        "get configmaps `kubeadm-config` in kube-system"
    );
    let permission = wide("patch", "apps", "daemonsets");
    assert_eq!(permission.to_string(), "patch daemonsets.apps");
}
