//! What Calico has to be set to so that Windows nodes can take part. casement does
//! not change it: it is the owner's to choose when all pods get other addresses.

use casement_cluster::{CalicoFacts, CalicoPool};
use casement_diag::Problem;
use casement_spec::Cluster;

/// Everything of Calico's settings that is in the way.
pub fn unfit(cluster: &Cluster, calico: &CalicoFacts) -> Vec<Problem> {
    let everywhere = calico.pools.iter().filter(|pool| !pool.some_nodes);
    let mut problems: Vec<Problem> = everywhere.filter_map(tunnel).collect();
    if calico.pools.is_empty() {
        problems.push(Problem::new(
            "CAS-FIT-014",
            "the cluster's API has no IPPool of Calico's in use",
            "make an IPPool with `vxlanMode: Always`; Calico for Windows reads it from the \
             Kubernetes API, not from an etcd of Calico's own",
        ));
    }
    if !calico.strict_affinity {
        problems.push(
            Problem::new(
                "CAS-FIT-012",
                "Calico lets nodes take addresses from each other's blocks: pods on Windows with \
                 such an address are not reached",
                "kubectl patch ipamconfigs.crd.projectcalico.org default --type merge -p \
                 '{\"spec\":{\"strictAffinity\":true}}'; `calicoctl ipam configure \
                 --strictaffinity=true` makes it where there is none",
            )
            .seen("cluster", "`strictAffinity: false`")
            .seen("needed", "`strictAffinity: true`"),
        );
    }
    problems.extend(numbers(cluster, calico));
    problems
}

/// A pool whose packets Windows cannot read.
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
        format!("the IPPool `{name}` ({cidr}) moves packets in a way that Windows does not know"),
        format!(
            "choose the hour: connections of pods break; kubectl patch \
             ippools.crd.projectcalico.org {name} --type merge -p \
             '{{\"spec\":{{\"ipipMode\":\"Never\",\"vxlanMode\":\"Always\"}}}}'"
        ),
    );
    let found = format!("`ipipMode: {ipip}, vxlanMode: {vxlan}`");
    let problem = problem.seen("cluster", found);
    Some(problem.seen("needed", "`ipipMode: Never, vxlanMode: Always`"))
}

fn numbers(cluster: &Cluster, calico: &CalicoFacts) -> Option<Problem> {
    let wanted = cluster.spec.network.backend.vxlan()?;
    let wanted = (wanted.vni.get(), wanted.port);
    let found = (calico.vni, calico.port);
    if wanted == found {
        return None;
    }
    let said = |(vni, port): (u32, u16)| format!("`vni: {vni}, port: {port}`");
    let problem = Problem::new(
        "CAS-FIT-013",
        "Calico's VXLAN has other numbers than the file",
        "write those of Calico's FelixConfiguration into `network`; Windows needs a VNI of 4096 \
         or more",
    );
    let problem = problem.seen("cluster", said(found));
    Some(problem.seen("file", said(wanted)))
}
