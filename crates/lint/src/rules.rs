//! All rules, grouped by subject.

mod address_plan;
mod agreement;
mod calico;
mod cni_list;
mod cni_policies;
mod containerd;
mod files;
mod flags;
mod flannel;
mod hosts;
mod images;
mod join;
mod kube_proxy;
mod kubelet;
mod names;
mod pod_fields;
mod pod_os;
mod pod_storage;
mod routes;
mod scripts;
mod services;
mod versions;

use crate::rule::Rule;

pub fn rules() -> impl Iterator<Item = &'static Rule> {
    [
        files::RULES,
        hosts::RULES,
        address_plan::RULES,
        versions::RULES,
        flags::RULES,
        agreement::RULES,
        routes::RULES,
        scripts::RULES,
        flannel::RULES,
        cni_list::RULES,
        cni_policies::RULES,
        calico::RULES,
        containerd::RULES,
        kubelet::RULES,
        join::RULES,
        kube_proxy::RULES,
        names::RULES,
        pod_os::RULES,
        pod_fields::RULES,
        pod_storage::RULES,
        images::RULES,
        services::RULES,
    ]
    .into_iter()
    .flatten()
}
