//! The documents of a Linux host.

use casement_net::Deferred;
use casement_net::routes::Commands;
use casement_resource::service_names::{CONTAINERD, KUBELET};
use casement_resource::step_ids::CNI;
use casement_resource::{
    Access, Directory, Forwarding, InterfaceRef, KernelModule, NodeDocument, Resource, Run, Stage,
    SwapOff, Sysctl,
};
use casement_spec::{Cluster, Host};

use crate::containerd::Containerd;
use crate::facts::{ClusterFacts, Inputs};
use crate::kubelet::Kubelet;
use crate::node_paths::NodePaths;
use crate::release::Release;
use crate::services::{self, file, service};
use crate::steps::{PlanError, Steps, path};
use crate::{modes, pods};

pub use crate::join::join;

/// For containerd's layers, and for services used by pods on a bridge.
const MODULES: [&str; 2] = ["overlay", "br_netfilter"];
/// The first one exists only after `br_netfilter` is loaded.
pub(crate) const SYSCTLS: [(&str, &str); 2] = [
    ("net.bridge.bridge-nf-call-iptables", "1"),
    ("net.ipv4.ip_forward", "1"),
];

pub(crate) const BRIDGE_MODULE: &str = "br_netfilter";

/// Stage prepare of a worker in a cluster that casement creates.
pub fn prepare(cluster: &Cluster, host: &Host, inputs: &Inputs) -> Result<NodeDocument, PlanError> {
    let release = Release::of(cluster)?;
    let paths = NodePaths::of(cluster, host, release);
    let kubelet = Kubelet {
        cluster,
        host,
        release,
        paths: &paths,
    };
    let mut steps = Steps::default();
    let ready = kernel(&mut steps)?;
    for (id, folder) in [
        ("dir-containerd", paths.containerd.as_str()),
        ("dir-kubernetes", paths.kubernetes),
        ("dir-kubelet", paths.kubelet),
        ("dir-cni-conf", paths.cni_configuration),
        ("dir-log-containerd", &paths.log_folder(CONTAINERD)),
        ("dir-log-kubelet", &paths.log_folder(KUBELET)),
    ] {
        let directory = Directory {
            path: path(folder)?,
            access: Access::Inherited,
        };
        steps.add(id, &[], Resource::Directory(directory))?;
    }
    services::container_store(&mut steps, &kubelet)?;
    if let Some(containerd) = Containerd::of(&kubelet) {
        let restart_on = services::containerd_files(&mut steps, &kubelet, &containerd, inputs)?;
        let definition = services::containerd(&kubelet)?;
        let mut after = restart_on.clone();
        after.extend([
            "dir-containerd-data",
            "dir-log-containerd",
            "module-overlay",
        ]);
        service(&mut steps, &after, definition, Run::Running, &restart_on)?;
    }
    let definition = services::kubelet(&kubelet)?;
    let mut after = vec!["dir-kubelet", "dir-log-kubelet"];
    after.extend(ready.iter().map(String::as_str));
    let written = services::kubelet_file(&mut steps, &kubelet)?;
    after.extend(written);
    let restart_on: Vec<&str> = written.into_iter().collect();
    service(&mut steps, &after, definition, Run::Either, &restart_on)?;
    steps.finish(host.name.as_str(), Stage::Prepare)
}

/// The kernel settings of the kubelet: for the next boot, then for the running kernel.
/// Returns the steps that the kubelet depends on.
fn kernel(steps: &mut Steps) -> Result<Vec<String>, PlanError> {
    write_modules(steps, &MODULES)?;
    write_sysctls(steps)?;
    let mut loaded = Vec::new();
    for name in MODULES {
        let id = format!("module-{name}");
        let module = KernelModule {
            name: name.parse()?,
        };
        steps.add(&id, &["modules"], Resource::KernelModule(module))?;
        loaded.push(id);
    }
    let mut after: Vec<&str> = loaded.iter().map(String::as_str).collect();
    after.push("sysctls");
    let mut ready = vec!["swap".to_owned()];
    for (name, value) in SYSCTLS {
        let id = format!("sysctl-{name}");
        let sysctl = Sysctl {
            name: name.parse()?,
            value: value.to_owned(),
        };
        steps.add(&id, &after, Resource::Sysctl(sysctl))?;
        ready.push(id);
    }
    steps.add("swap", &[], Resource::Swap(SwapOff {}))?;
    Ok(ready)
}

/// Loads modules at the next boot.
pub(crate) fn write_modules(steps: &mut Steps, modules: &[&str]) -> Result<(), PlanError> {
    let text: String = modules.iter().map(|name| format!("{name}\n")).collect();
    file(
        steps,
        "modules",
        &[],
        "/etc/modules-load.d/casement.conf",
        text,
    )
}

/// Sets [`SYSCTLS`] at the next boot.
pub(crate) fn write_sysctls(steps: &mut Steps) -> Result<(), PlanError> {
    let lines = SYSCTLS.map(|(name, value)| format!("{name} = {value}\n"));
    let path = "/etc/sysctl.d/99-casement.conf";
    file(steps, "sysctls", &["modules"], path, lines.concat())
}

/// Stage network: forwarding, and what the network mode leaves to casement.
pub fn network(
    cluster: &Cluster,
    host: &Host,
    facts: &ClusterFacts,
) -> Result<NodeDocument, PlanError> {
    let mut steps = Steps::default();
    let every = InterfaceRef::Every;
    let forwarding = Resource::Forwarding(Forwarding { interface: every });
    steps.add("forwarding", &[], forwarding)?;
    modes::of(cluster).linux_steps(&mut steps, cluster, host, facts)?;
    steps.finish(host.name.as_str(), Stage::Network)
}

/// The kernel settings that a read-only Linux host must have, as name and value.
pub fn settings(cluster: &Cluster) -> Vec<(&'static str, &'static str)> {
    let bridged = cluster.spec.network.mode().is_flannel();
    let needed = SYSCTLS.iter().copied();
    needed
        .filter(|(name, _)| bridged || !name.starts_with("net.bridge"))
        .collect()
}

pub(crate) fn conflist(
    steps: &mut Steps,
    cluster: &Cluster,
    host: &Host,
    facts: &ClusterFacts,
) -> Result<(), PlanError> {
    let pods = pods::of_host(host, facts)?.known();
    let pods = pods.ok_or_else(|| PlanError::NoPodNetwork(host.name.to_string()))?;
    let release = Release::of(cluster)?;
    let paths = NodePaths::of(cluster, host, release);
    let Some(text) = pods::conflist(cluster, host, release, Deferred::Known(pods), facts) else {
        return Ok(());
    };
    let name = modes::of(cluster).conflist_name(host);
    let path = paths.below(paths.cni_configuration, &[name]);
    file(steps, CNI, &[], &path, text)
}

/// The route commands for a read-only host.
pub fn commands(cluster: &Cluster, host: &Host, facts: &ClusterFacts) -> Vec<String> {
    Commands::IpRoute.lines(&pods::route_table(cluster, host, facts), None)
}
