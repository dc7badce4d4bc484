//! Converts KubeInit specs into a cluster file.
//!
//! `k8s-libvirt-1-1-1` is distribution, driver, and the numbers of controllers,
//! computes and hypervisors. The other options are lists in one of two formats:
//! the older `[[key=value,…],…]`, or JSON or YAML. Addresses are assigned as in
//! KubeInit: controllers from the start of the network, then computes, and the
//! service node from the end.

mod grammar;
mod layout;
mod write;

use casement_diag::Problem;

use super::codes;
use super::draft::Draft;
use layout::Layout;

/// The options of KubeInit.
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

/// Converts the options of KubeInit.
///
/// # Errors
/// If an option is invalid or not supported by casement.
pub fn from_kubeinit(options: &KubeInit<'_>) -> Result<Draft, Box<Problem>> {
    let layout = Layout::new(options)?;
    Ok(write::draft(options, layout))
}

fn problem(what: impl Into<String>, detail: (&str, &str), help: impl Into<String>) -> Box<Problem> {
    let problem = Problem::new(codes::KUBEINIT, what, help);
    Box::new(problem.detail(detail.0, clipped(detail.1)))
}

fn clipped(text: &str) -> String {
    crate::node::clipped(text)
}
