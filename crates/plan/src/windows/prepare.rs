//! Stage prepare: runtime, files and services, without the cluster.

use casement_resource::service_names::{CONTAINERD, CRI_DOCKERD, DOCKER, KUBE_PROXY, KUBELET};
use casement_resource::step_ids;
use casement_resource::{
    Access, Condition, Directory, Exclusion, NodeDocument, PathEntry, Resource, Run, Stage, Wait,
};
use casement_spec::{Cluster, Host};

use super::images::images;
use super::programs::install;
use super::system::{BOOTED, system};
use super::{adapter_settings, repair};
use crate::accounts;
use crate::containerd::Containerd;
use crate::facts::Inputs;
use crate::kubelet::Kubelet;
use crate::node_paths::{self, NodePaths};
use crate::release::{Release, Runtime};
use crate::services::{self, service};
use crate::steps::{PlanError, Steps, path};
use crate::{hns, host_environment};

pub fn prepare(cluster: &Cluster, host: &Host, inputs: &Inputs) -> Result<NodeDocument, PlanError> {
    let release = Release::of(cluster)?;
    release.check(host)?;
    let paths = NodePaths::of(cluster, host, release);
    let kubelet = Kubelet {
        cluster,
        host,
        release,
        paths: &paths,
    };
    let mut steps = Steps::default();
    system(&mut steps, &kubelet, inputs)?;
    folders(&mut steps, &kubelet)?;
    install(&mut steps, cluster, release, &paths, inputs)?;
    match Containerd::of(&kubelet) {
        Some(containerd) => runtime(&mut steps, &kubelet, &containerd, inputs)?,
        None => {
            docker(&mut steps, &kubelet)?;
            accounts::docker_accounts(&mut steps, &kubelet, inputs)?;
        }
    }
    images(&mut steps, &kubelet)?;
    kubelet_service(&mut steps, &kubelet)?;
    let entry = PathEntry {
        path: path(&paths.programs)?,
    };
    steps.add("path", &["dir-base"], Resource::PathEntry(entry))?;
    firewall_and_defender(&mut steps, &kubelet)?;
    external_network(&mut steps, cluster, host)?;
    let document = steps.finish(host.name.as_str(), Stage::Prepare)?;
    Ok(document.with_repair(repair(cluster)))
}

fn folders(steps: &mut Steps, kubelet: &Kubelet<'_>) -> Result<(), PlanError> {
    use Access::{AdministratorsOnly, Inherited};
    let paths = kubelet.paths;
    let log = |service: &str| paths.log_folder(service);
    let owned = |text: &str| text.to_owned();
    let mut folders = vec![("dir-base", None, paths.programs.clone(), AdministratorsOnly)];
    let containerd = Containerd::of(kubelet).is_some();
    if containerd {
        let folder = paths.containerd.clone();
        folders.push(("dir-containerd", Some("dir-base"), folder, Inherited));
    }
    let pki = paths.in_kubelet(&["pki"]);
    folders.extend([
        (
            "dir-kubernetes",
            None,
            owned(paths.kubernetes),
            AdministratorsOnly,
        ),
        // Containers access their volumes through it, so not only administrators may read.
        ("dir-kubelet", None, owned(paths.kubelet), Inherited),
        (
            "dir-kubelet-pki",
            Some("dir-kubelet"),
            pki,
            AdministratorsOnly,
        ),
        (
            "dir-volume-plugins",
            None,
            owned(node_paths::WINDOWS_VOLUME_PLUGINS),
            Inherited,
        ),
        ("dir-cni-bin", None, owned(paths.cni_programs), Inherited),
        (
            "dir-cni-conf",
            None,
            owned(paths.cni_configuration),
            Inherited,
        ),
        // Files that the plugins create are removed with the folder on reset.
        (
            "dir-cni-leases",
            None,
            owned(node_paths::WINDOWS_CNI_STATE),
            Inherited,
        ),
    ]);
    folders.push(("dir-log-pods", None, log("pods"), Inherited));
    folders.push(("dir-log-containers", None, log("containers"), Inherited));
    if containerd {
        folders.push(("dir-log-containerd", None, log(CONTAINERD), Inherited));
    }
    if kubelet.release.runtime() == Runtime::CriDockerd {
        folders.push(("dir-log-cri-dockerd", None, log(CRI_DOCKERD), Inherited));
    }
    folders.push(("dir-log-kubelet", None, log(KUBELET), Inherited));
    folders.push(("dir-log-kube-proxy", None, log(KUBE_PROXY), Inherited));
    if let Some(daemon) = host_environment::daemon(kubelet.cluster) {
        folders.push(("dir-log-daemon", None, log(daemon), Inherited));
        // The node's subnet, for flannel's CNI plugin.
        let state = owned(node_paths::WINDOWS_FLANNEL_STATE);
        folders.push(("dir-flannel-state", None, state, Inherited));
    }
    for (id, after, folder, access) in folders {
        let path = path(&folder)?;
        let after: Vec<&str> = after.into_iter().collect();
        steps.add(id, &after, Resource::Directory(Directory { path, access }))?;
    }
    services::container_store(steps, kubelet)
}

fn runtime(
    steps: &mut Steps,
    kubelet: &Kubelet<'_>,
    containerd: &Containerd<'_>,
    inputs: &Inputs,
) -> Result<(), PlanError> {
    let mut restart_on = services::containerd_files(steps, kubelet, containerd, inputs)?;
    restart_on.push("bin-containerd");
    let mut after = restart_on.clone();
    after.extend([
        "bin-containerd-shim-runhcs-v1",
        "dir-cni-conf",
        "dir-containerd-data",
        "dir-log-containerd",
        BOOTED,
    ]);
    let definition = services::containerd(kubelet)?;
    service(steps, &after, definition, Run::Running, &restart_on)
}

/// casement does not install Docker, only waits for its service.
fn docker(steps: &mut Steps, kubelet: &Kubelet<'_>) -> Result<(), PlanError> {
    let daemon = Wait {
        condition: Condition::ServiceRunning(DOCKER.to_owned()),
        timeout_seconds: 60,
        help: Some(
            "install Docker on the host and start its service, which casement does not do, or set \
             `runtime: {kind: containerd}`"
                .to_owned(),
        ),
    };
    let docker = step_ids::service(DOCKER);
    steps.add(&docker, &[BOOTED], Resource::Wait(daemon))?;
    let Some(definition) = services::cri_dockerd(kubelet)? else {
        return Ok(());
    };
    let after = [
        docker.as_str(),
        "bin-cri-dockerd",
        "dir-cni-conf",
        "dir-log-cri-dockerd",
    ];
    service(
        steps,
        &after,
        definition,
        Run::Running,
        &["bin-cri-dockerd"],
    )
}

fn kubelet_service(steps: &mut Steps, kubelet: &Kubelet<'_>) -> Result<(), PlanError> {
    let definition = services::kubelet(kubelet)?;
    let runtime = definition.depends_on.first().cloned().unwrap_or_default();
    let runtime = step_ids::service(&runtime);
    let mut after = vec![
        "bin-kubelet",
        &runtime,
        "dir-kubelet-pki",
        "dir-kubernetes",
        "dir-log-kubelet",
    ];
    let mut restart_on = vec!["bin-kubelet"];
    if let Some(written) = services::kubelet_file(steps, kubelet)? {
        after.push(written);
        restart_on.push(written);
    }
    // kubeadm starts it after it has written the configuration.
    service(steps, &after, definition, Run::Either, &restart_on)
}

fn firewall_and_defender(steps: &mut Steps, kubelet: &Kubelet<'_>) -> Result<(), PlanError> {
    for rule in host_environment::firewall(kubelet.cluster) {
        let id = format!("firewall-{}-{}", rule.protocol, rule.port);
        steps.add(&id, &[], Resource::FirewallRule(rule))?;
    }
    let (cluster, host) = (kubelet.cluster, kubelet.host);
    let exclusions = host_environment::defender(cluster, host, kubelet.release, kubelet.paths);
    for exclusion in exclusions {
        let id = defender_id(&exclusion.exclusion);
        steps.add(&id, &[], Resource::DefenderExclusion(exclusion))?;
    }
    Ok(())
}

/// Named after the folder or program, so that the id does not depend on the order.
fn defender_id(exclusion: &Exclusion) -> String {
    let (kind, path) = match exclusion {
        Exclusion::Path(path) => ("path", path),
        Exclusion::Process(path) => ("process", path),
    };
    let name = path
        .rsplit('\\')
        .next()
        .unwrap_or(path)
        .to_ascii_lowercase();
    let name = name.trim_end_matches(".exe").replace(' ', "-");
    format!("defender-{kind}-{name}")
}

/// The network that keeps the vSwitch alive, before the node joins: creating the vSwitch
/// drops connections, those of the kubelet and the daemon to the API too.
fn external_network(steps: &mut Steps, cluster: &Cluster, host: &Host) -> Result<(), PlanError> {
    let Some(spec) = hns::external(cluster) else {
        return Ok(());
    };
    let network = hns::network(spec, host)?;
    let adapter = adapter_settings(steps, host)?;
    steps.add_disruptive(
        "hns-external",
        &[BOOTED, adapter],
        Resource::HnsNetwork(network),
    )
}
