//! The Calico settings that Windows nodes need. casement does not change them: only the
//! cluster's owner can decide when all pods get new addresses.

use casement_cluster::{CalicoFacts, CalicoPool};
use casement_diag::Problem;
use casement_spec::Cluster;

pub fn preflight(cluster: &Cluster, calico: &CalicoFacts) -> Vec<Problem> {
    let everywhere = calico.pools.iter().filter(|pool| !pool.some_nodes);
    let mut problems: Vec<Problem> = everywhere.filter_map(tunnel).collect();
    if calico.pools.is_empty() {
        problems.push(Problem::new(
            "CAS-FIT-014",
            "the cluster has no enabled Calico IPPool",
            "create an IPPool with `vxlanMode: Always`; Calico for Windows reads it from the \
             Kubernetes API, not from Calico's own etcd",
        ));
    }
    if !calico.strict_affinity {
        problems.push(
            Problem::new(
                "CAS-FIT-012",
                "Calico lets nodes borrow addresses from each other's blocks: Windows pods with \
                 such an address are unreachable",
                "kubectl patch ipamconfigs.crd.projectcalico.org default --type merge -p \
                 '{\"spec\":{\"strictAffinity\":true}}'; `calicoctl ipam configure \
                 --strictaffinity=true` creates it if it does not exist",
            )
            .detail("cluster", "`strictAffinity: false`")
            .detail("needed", "`strictAffinity: true`"),
        );
    }
    problems.extend(vxlan_settings(cluster, calico));
    problems
}

/// A pool with an encapsulation that Windows does not support.
fn tunnel(pool: &CalicoPool) -> Option<Problem> {
    if pool.ipip == "Never" && pool.vxlan == "Always" {
        return None;
    }
    let CalicoPool {
        name,
        cidr,
        ipip,
        vxlan,
        ..
    } = pool;
    let problem = Problem::new(
        "CAS-FIT-011",
        format!("the IPPool `{name}` ({cidr}) uses an encapsulation that Windows does not support"),
        format!(
            "in a maintenance window, since pod connections break, run: kubectl patch \
             ippools.crd.projectcalico.org {name} --type merge -p \
             '{{\"spec\":{{\"ipipMode\":\"Never\",\"vxlanMode\":\"Always\"}}}}'"
        ),
    );
    let found = format!("`ipipMode: {ipip}, vxlanMode: {vxlan}`");
    let problem = problem.detail("cluster", found);
    Some(problem.detail("needed", "`ipipMode: Never, vxlanMode: Always`"))
}

fn vxlan_settings(cluster: &Cluster, calico: &CalicoFacts) -> Option<Problem> {
    let expected = cluster.spec.network.backend.vxlan()?;
    let expected = (expected.vni.get(), expected.port);
    let found = (calico.vni, calico.port);
    if expected == found {
        return None;
    }
    let text = |(vni, port): (u32, u16)| format!("`vni: {vni}, port: {port}`");
    let problem = Problem::new(
        "CAS-FIT-013",
        "Calico's VXLAN settings differ from the cluster file",
        "copy VNI and port from Calico's FelixConfiguration to `network`; Windows needs a VNI \
         of at least 4096",
    );
    let problem = problem.detail("cluster", text(found));
    Some(problem.detail("file", text(expected)))
}
