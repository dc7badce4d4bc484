//! From KubeInit's strings to a cluster file.
//!
//! `k8s-libvirt-1-1-1` is distribution, driver, and the numbers of controllers,
//! computes and hypervisors. Beside it stand lists in one of two grammars, the
//! older `[[key=value,…],…]` and JSON or YAML. Addresses are given out as
//! KubeInit does: controllers from the bottom of the network, then computes,
//! the service node from the top.

mod grammar;
#[path = "kubeinit/layout.rs"]
mod plan;
mod write;

use casement_diag::Problem;

use super::codes;
use super::draft::Draft;
use plan::Plan;

/// What KubeInit was told.
#[derive(Debug, Clone, Copy, Default)]
pub struct KubeInit<'t> {
    /// `kubeinit_spec`.
    pub spec: &'t str,
    /// `cluster_nodes_spec`.
    pub nodes: Option<&'t str>,
    /// `hypervisor_hosts_spec`.
    pub hypervisors: Option<&'t str>,
    /// `kubeinit_network_spec`.
    pub network: Option<&'t str>,
    /// `kubeinit_cluster_spec`.
    pub cluster: Option<&'t str>,
}

/// A cluster file with what KubeInit was told.
///
/// # Errors
/// When a string is of another form, or says what casement cannot make.
pub fn from_kubeinit(told: &KubeInit<'_>) -> Result<Draft, Box<Problem>> {
    let plan = Plan::of(told)?;
    Ok(write::draft(told, plan))
}

fn problem(what: impl Into<String>, seen: (&str, &str), remedy: impl Into<String>) -> Box<Problem> {
    let problem = Problem::new(codes::KUBEINIT, what, remedy);
    Box::new(problem.seen(seen.0, clipped(seen.1)))
}

fn clipped(text: &str) -> String {
    crate::node::clipped(text)
}
