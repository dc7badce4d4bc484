//! Stage A: runtime, files and services, before the cluster is asked for
//! anything.

use casement_net::hns::{NetworkType, Wanted};
use casement_resource::{
    Access, Condition, Directory, Exclusion, HnsNetwork, HnsNetworkType, NodeDocument, PathEntry,
    Resource, Run, Stage, Wait,
};
use casement_spec::{Backend, Cluster, Host};

use super::images::images;
use super::programs::bring;
use super::system::{BOOTED, system};
use super::{adapter, repair};
use crate::accounts;
use crate::containerd::Containerd;
use crate::facts::Inputs;
use crate::kubelet::Kubelet;
use crate::places::{self, Places};
use crate::release::{Release, Runtime};
use crate::services::{self, DOCKER, service};
use crate::steps::{PlanError, Steps, path};
use crate::{pods, surroundings};

/// The document of stage A.
pub fn prepare(cluster: &Cluster, host: &Host, inputs: &Inputs) -> Result<NodeDocument, PlanError> {
    let release = Release::of(cluster)?;
    release.check(host)?;
    let places = Places::of(cluster, host, release);
    let kubelet = Kubelet {
        cluster,
        host,
        release,
        places: &places,
    };
    let mut steps = Steps::default();
    system(&mut steps, &kubelet, inputs)?;
    folders(&mut steps, &kubelet)?;
    bring(&mut steps, cluster, release, &places, inputs)?;
    match Containerd::of(&kubelet) {
        Some(containerd) => runtime(&mut steps, &kubelet, &containerd, inputs)?,
        None => {
            docker(&mut steps, &kubelet)?;
            accounts::for_docker(&mut steps, &kubelet, inputs)?;
        }
    }
    images(&mut steps, &kubelet)?;
    kubelet_service(&mut steps, &kubelet)?;
    let entry = PathEntry {
        path: path(&places.programs)?,
    };
    steps.add("path", &["dir-base"], Resource::PathEntry(entry))?;
    around(&mut steps, &kubelet)?;
    switch(&mut steps, cluster, host)?;
    let document = steps.finish(host.name.as_str(), Stage::Prepare)?;
    Ok(document.kept(repair(cluster)))
}

fn folders(steps: &mut Steps, kubelet: &Kubelet<'_>) -> Result<(), PlanError> {
    use Access::{AdministratorsOnly, Inherited};
    let places = kubelet.places;
    let log = |service: &str| places.log_folder(service);
    let owned = |text: &str| text.to_owned();
    let mut folders = vec![(
        "dir-base",
        None,
        places.programs.clone(),
        AdministratorsOnly,
    )];
    let containerd = Containerd::of(kubelet).is_some();
    if containerd {
        let folder = places.containerd.clone();
        folders.push(("dir-containerd", Some("dir-base"), folder, Inherited));
    }
    let pki = places.in_kubelet(&["pki"]);
    folders.extend([
        (
            "dir-kubernetes",
            None,
            owned(places.kubernetes),
            AdministratorsOnly,
        ),
        // Containers read their volumes through it: not for administrators only.
        ("dir-kubelet", None, owned(places.kubelet), Inherited),
        (
            "dir-kubelet-pki",
            Some("dir-kubelet"),
            pki,
            AdministratorsOnly,
        ),
        (
            "dir-volume-plugins",
            None,
            owned(places::WINDOWS_VOLUME_PLUGINS),
            Inherited,
        ),
        ("dir-cni-bin", None, owned(places.cni_programs), Inherited),
        (
            "dir-cni-conf",
            None,
            owned(places.cni_configuration),
            Inherited,
        ),
        // What the programs themselves keep there goes with the folder on reset.
        (
            "dir-cni-leases",
            None,
            owned(places::WINDOWS_CNI_STATE),
            Inherited,
        ),
    ]);
    folders.push(("dir-log-pods", None, log("pods"), Inherited));
    folders.push(("dir-log-containers", None, log("containers"), Inherited));
    if containerd {
        folders.push(("dir-log-containerd", None, log("containerd"), Inherited));
    }
    if kubelet.release.runtime() == Runtime::CriDockerd {
        folders.push(("dir-log-cri-dockerd", None, log("cri-dockerd"), Inherited));
    }
    folders.push(("dir-log-kubelet", None, log("kubelet"), Inherited));
    folders.push(("dir-log-kube-proxy", None, log("kube-proxy"), Inherited));
    if let Some(daemon) = surroundings::daemon(kubelet.cluster) {
        folders.push(("dir-log-daemon", None, log(daemon), Inherited));
        // What the daemon has found out, for flannel's CNI plugin.
        let found_out = owned(places::WINDOWS_FLANNEL_STATE);
        folders.push(("dir-flannel-state", None, found_out, Inherited));
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

/// Docker is there already, as its makers install it; casement only asks for
/// it, under the name that the steps after it know a runtime by.
fn docker(steps: &mut Steps, kubelet: &Kubelet<'_>) -> Result<(), PlanError> {
    let daemon = Wait {
        condition: Condition::ServiceRunning(DOCKER.to_owned()),
        timeout_seconds: 60,
        remedy: Some(
            "install Docker on the host and start its service: casement does not; or write \
             `runtime: {kind: containerd}`"
                .to_owned(),
        ),
    };
    steps.add("service-docker", &[BOOTED], Resource::Wait(daemon))?;
    let Some(definition) = services::cri_dockerd(kubelet)? else {
        return Ok(());
    };
    let after = [
        "service-docker",
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
    let runtime = format!("service-{runtime}");
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
    // kubeadm starts it when it has written its configuration.
    service(steps, &after, definition, Run::Either, &restart_on)
}

/// Open ports, and what Defender leaves alone.
fn around(steps: &mut Steps, kubelet: &Kubelet<'_>) -> Result<(), PlanError> {
    for rule in surroundings::firewall(kubelet.cluster) {
        let id = format!("firewall-{}-{}", rule.protocol, rule.port);
        steps.add(&id, &[], Resource::FirewallRule(rule))?;
    }
    let (cluster, host) = (kubelet.cluster, kubelet.host);
    let exclusions = surroundings::defender(cluster, host, kubelet.release, kubelet.places);
    for exclusion in exclusions {
        let id = defender_id(&exclusion.exclusion);
        steps.add(&id, &[], Resource::DefenderExclusion(exclusion))?;
    }
    Ok(())
}

/// Named after the folder or program, so that another list has the same names.
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

/// The network that keeps the virtual switch, before the node joins: making the
/// switch cuts connections, the kubelet's and the daemon's to the API too.
fn switch(steps: &mut Steps, cluster: &Cluster, host: &Host) -> Result<(), PlanError> {
    // Calico's own DaemonSet makes it.
    let ours = matches!(
        cluster.spec.network.backend,
        Backend::FlannelOverlay { .. } | Backend::FlannelHostGw { .. }
    );
    let Some(kind) = pods::external(cluster.spec.network.mode()).filter(|_| ours) else {
        return Ok(());
    };
    let wanted = Wanted::external(kind, None);
    let (Some(subnet), Some(gateway)) = (
        wanted.subnet.and_then(casement_net::Late::known),
        wanted.gateway.and_then(casement_net::Late::known),
    ) else {
        return Ok(());
    };
    let network = HnsNetwork {
        name: wanted.name,
        network_type: match kind {
            NetworkType::Overlay => HnsNetworkType::Overlay,
            NetworkType::L2Bridge | NetworkType::Transparent => HnsNetworkType::L2Bridge,
        },
        subnet: subnet.into(),
        gateway: gateway.into(),
        isolation: wanted.isolation,
        adapter_address: host.address.into(),
    };
    let kept = adapter(steps, host)?;
    steps.add_disruptive(
        "hns-external",
        &[BOOTED, kept],
        Resource::HnsNetwork(network),
    )
}
