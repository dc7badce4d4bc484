//! What a Linux host is made of, and what it needs so that pods on Windows can
//! be reached.

use casement_net::Late;
use casement_net::pod_network::PodNetwork;
use casement_net::routes::{self, Commands, PodRoute};
use casement_resource::{
    Access, Answer, Check, Command, Directory, Forwarding, InterfaceRef, KernelModule,
    NodeDocument, Resource, Route, Run, Stage, SwapOff, Sysctl,
};
use casement_spec::{Cluster, Host, NetworkMode};

use crate::containerd::Containerd;
use crate::facts::{ClusterFacts, Inputs};
use crate::kubelet::Kubelet;
use crate::places::Places;
use crate::pods;
use crate::release::Release;
use crate::services::{self, file, service};
use crate::steps::{PlanError, Steps, path};

pub use crate::join::join;

/// What every kernel of a node needs, whatever the mode: for containerd's
/// layers, and for services that pods on a bridge use.
const MODULES: [&str; 2] = ["overlay", "br_netfilter"];
/// The first one comes with `br_netfilter`.
const SYSCTLS: [(&str, &str); 2] = [
    ("net.bridge.bridge-nf-call-iptables", "1"),
    ("net.ipv4.ip_forward", "1"),
];

const BRIDGE_MODULE: &str = "br_netfilter";
/// flannel's own number on Linux, before Windows nodes come.
const LINUX_VNI: u32 = 1;

/// Stage A of a worker that casement joins to a cluster of its own making.
pub fn prepare(cluster: &Cluster, host: &Host, inputs: &Inputs) -> Result<NodeDocument, PlanError> {
    let release = Release::of(cluster)?;
    let places = Places::of(cluster, host, release);
    let kubelet = Kubelet {
        cluster,
        host,
        release,
        places: &places,
    };
    let mut steps = Steps::default();
    let ready = kernel(&mut steps)?;
    for (id, folder) in [
        ("dir-containerd", places.containerd.as_str()),
        ("dir-kubernetes", places.kubernetes),
        ("dir-kubelet", places.kubelet),
        ("dir-cni-conf", places.cni_configuration),
        ("dir-log-containerd", &places.log_folder("containerd")),
        ("dir-log-kubelet", &places.log_folder("kubelet")),
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

/// The kernel as a kubelet wants it: first what the next boot reads, then the
/// same for the kernel that runs. Gives the steps that a kubelet comes after.
fn kernel(steps: &mut Steps) -> Result<Vec<String>, PlanError> {
    let text: String = MODULES.iter().map(|name| format!("{name}\n")).collect();
    let place = "/etc/modules-load.d/casement.conf";
    file(steps, "modules", &[], place, text)?;
    let lines = SYSCTLS.map(|(name, value)| format!("{name} = {value}\n"));
    let place = "/etc/sysctl.d/99-casement.conf";
    file(steps, "sysctls", &["modules"], place, lines.concat())?;
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

/// Stage C: forwarding, and what the mode leaves to casement: routes, and on a
/// cluster of its own making the CNI configuration of routed pods.
pub fn network(
    cluster: &Cluster,
    host: &Host,
    facts: &ClusterFacts,
) -> Result<NodeDocument, PlanError> {
    let mut steps = Steps::default();
    let every = InterfaceRef::Every;
    let forwarding = Resource::Forwarding(Forwarding { interface: every });
    steps.add("forwarding", &[], forwarding)?;
    if cluster.spec.existing.is_some() && cluster.spec.network.mode().is_flannel() {
        bridged(&mut steps)?;
        old_overlay(&mut steps, cluster)?;
    }
    if cluster.spec.network.mode() != NetworkMode::L3Routes {
        return steps.finish(host.name.as_str(), Stage::Network);
    }
    for route in to_others(host, facts) {
        let id = format!("route-{}", route.destination.network());
        let resource = Resource::Route(Route {
            destination: route.destination.into(),
            next_hop: route.via.into(),
            interface: InterfaceRef::Address(host.address.into()),
        });
        steps.add(&id, &[], resource)?;
    }
    if cluster.spec.existing.is_none() {
        let pods = known_pods(host, facts)?;
        conflist(&mut steps, cluster, host, facts, pods)?;
    }
    steps.finish(host.name.as_str(), Stage::Network)
}

/// What a node of somebody else's making may lack: packets of bridged pods have to
/// pass the rules of services.
fn bridged(steps: &mut Steps) -> Result<(), PlanError> {
    let (name, value) = SYSCTLS[0];
    let module = KernelModule {
        name: BRIDGE_MODULE.parse()?,
    };
    let place = "/etc/modules-load.d/casement.conf";
    file(steps, "modules", &[], place, format!("{BRIDGE_MODULE}\n"))?;
    let lines = SYSCTLS.map(|(name, value)| format!("{name} = {value}\n"));
    let place = "/etc/sysctl.d/99-casement.conf";
    file(steps, "sysctls", &["modules"], place, lines.concat())?;
    let id = format!("module-{BRIDGE_MODULE}");
    steps.add(&id, &["modules"], Resource::KernelModule(module))?;
    let sysctl = Sysctl {
        name: name.parse()?,
        value: value.to_owned(),
    };
    let after = [id.as_str(), "sysctls"];
    steps.add(&format!("sysctl-{name}"), &after, Resource::Sysctl(sysctl))
}

/// flannel makes a device for its new number and leaves the old one, with routes
/// that nothing answers any more.
fn old_overlay(steps: &mut Steps, cluster: &Cluster) -> Result<(), PlanError> {
    let Some(vxlan) = cluster.spec.network.backend.vxlan() else {
        return Ok(());
    };
    if vxlan.vni.get() == LINUX_VNI {
        return Ok(());
    }
    let device = format!("flannel.{LINUX_VNI}");
    let ip = |words: [&str; 3]| Command {
        program: "ip".to_owned(),
        arguments: words
            .into_iter()
            .chain([device.as_str()])
            .map(str::to_owned)
            .collect(),
    };
    let check = Check {
        name: format!("flannel's old device {device} is gone"),
        ask: ip(["link", "show", "dev"]),
        wanted: Answer::Contains("does not exist".to_owned()),
        act: ip(["link", "delete", "dev"]),
        undo: None,
        folder: path("/")?,
        timeout_seconds: 20,
    };
    steps.add("old-overlay", &[], Resource::Check(check))
}

/// The settings that a Linux host has to have, as name and value, for one that is
/// only looked at.
pub fn settings(cluster: &Cluster) -> Vec<(&'static str, &'static str)> {
    let bridged = cluster.spec.network.mode().is_flannel();
    let needed = SYSCTLS.iter().copied();
    needed
        .filter(|(name, _)| bridged || !name.starts_with("net.bridge"))
        .collect()
}

fn known_pods(host: &Host, facts: &ClusterFacts) -> Result<PodNetwork, PlanError> {
    let pods = pods::of_host(host, facts)?.known();
    pods.ok_or_else(|| PlanError::NoPodNetwork(host.name.to_string()))
}

fn conflist(
    steps: &mut Steps,
    cluster: &Cluster,
    host: &Host,
    facts: &ClusterFacts,
    pods: PodNetwork,
) -> Result<(), PlanError> {
    let release = Release::of(cluster)?;
    let places = Places::of(cluster, host, release);
    let Some(text) = pods::conflist(cluster, host, release, Late::Known(pods), facts) else {
        return Ok(());
    };
    let file_name = pods::conflist_name(cluster, host);
    let place = places.below(places.cni_configuration, &[file_name]);
    file(steps, "cni", &[], &place, text)
}

/// The same for a person to type, for a host that casement only looks at.
pub fn commands(cluster: &Cluster, host: &Host, facts: &ClusterFacts) -> Vec<String> {
    Commands::IpRoute.lines(&pods::table(cluster, host, facts), None)
}

fn to_others(host: &Host, facts: &ClusterFacts) -> Vec<PodRoute> {
    routes::to_others(host.name.as_str(), &facts.peers())
}
