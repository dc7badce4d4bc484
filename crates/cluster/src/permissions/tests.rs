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
    let all = RIGHTS.iter().cloned();
    let all = all.chain(flannel_rights("kube-flannel"));
    let all = all.chain(host_process_rights()).chain(calico_rights());
    let asked: BTreeSet<_> = all
        .chain(crate::sample::sample_rights("default"))
        .map(|right| {
            (
                right.verb.to_owned(),
                right.group.to_owned(),
                right.resource.to_owned(),
                right.namespace.map(Cow::into_owned),
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
