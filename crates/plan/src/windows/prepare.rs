//! Stage A: runtime, files and services, before the cluster is asked for
//! anything.

use std::collections::BTreeMap;

use casement_resource::{
    Access, Artifact, ArtifactFormat, Condition, Directory, File, NodeDocument, PathEntry,
    Resource, Run, Service, ServiceDefinition, Stage, StartType,
};
use casement_spec::{Cluster, Host, Program};

use super::containerd::{self, Containerd};
use super::{base, containerd_folder, places};
use crate::facts::Inputs;
use crate::steps::{PlanError, Steps, path};

/// The pause image of Kubernetes 1.36, the only minor release of this slice.
const PAUSE: &str = "pause:3.10.2";
const DEFAULT_REGISTRY: &str = "registry.k8s.io";

/// The document of stage A.
pub fn prepare(cluster: &Cluster, host: &Host, inputs: &Inputs) -> Result<NodeDocument, PlanError> {
    let mut steps = Steps::default();
    folders(&mut steps, cluster)?;
    programs(&mut steps, cluster, inputs)?;
    runtime(&mut steps, cluster, inputs)?;
    kubelet(&mut steps, cluster, host)?;
    let entry = PathEntry {
        path: path(base(cluster))?,
    };
    steps.add("path", &["dir-base"], Resource::PathEntry(entry))?;
    steps.finish(host.name.as_str(), Stage::Prepare)
}

fn folders(steps: &mut Steps, cluster: &Cluster) -> Result<(), PlanError> {
    use Access::{AdministratorsOnly, Inherited};
    let containerd = containerd_folder(cluster);
    let log = |service: &str| format!(r"{}\{service}", places::LOGS);
    let pki = format!(r"{}\pki", places::KUBELET);
    for (id, after, folder, access) in [
        ("dir-base", &[][..], base(cluster), AdministratorsOnly),
        ("dir-containerd", &["dir-base"], &containerd, Inherited),
        (
            "dir-kubernetes",
            &[],
            places::KUBERNETES,
            AdministratorsOnly,
        ),
        // Containers read their volumes through it: not for administrators only.
        ("dir-kubelet", &[], places::KUBELET, Inherited),
        (
            "dir-kubelet-pki",
            &["dir-kubelet"],
            &pki,
            AdministratorsOnly,
        ),
        (
            "dir-volume-plugins",
            &[],
            places::KUBELET_PLUGINS,
            Inherited,
        ),
        ("dir-cni-bin", &[], places::CNI_PROGRAMS, Inherited),
        ("dir-cni-conf", &[], places::CNI_CONFIGURATION, Inherited),
        // What the programs themselves keep there goes with the folder on reset.
        ("dir-cni-leases", &[], r"C:\var\lib\cni", Inherited),
        (
            "dir-containerd-data",
            &[],
            places::CONTAINERD_DATA,
            Inherited,
        ),
        ("dir-log-pods", &[], &log("pods"), Inherited),
        ("dir-log-containers", &[], &log("containers"), Inherited),
        ("dir-log-containerd", &[], &log("containerd"), Inherited),
        ("dir-log-kubelet", &[], &log("kubelet"), Inherited),
        ("dir-log-kube-proxy", &[], &log("kube-proxy"), Inherited),
    ] {
        let path = path(folder)?;
        steps.add(id, after, Resource::Directory(Directory { path, access }))?;
    }
    Ok(())
}

/// Where each program goes, and the step that makes its folder.
fn program_places(cluster: &Cluster) -> [(Program, String, &'static str); 7] {
    let base = base(cluster);
    let containerd = containerd_folder(cluster);
    let cni = places::CNI_PROGRAMS;
    let at = |folder: &str, program: Program| format!(r"{folder}\{program}.exe");
    [
        (Program::Kubelet, base, "dir-base"),
        (Program::Kubeadm, base, "dir-base"),
        (Program::KubeProxy, base, "dir-base"),
        (Program::Containerd, &containerd, "dir-containerd"),
        (Program::ContainerdShim, &containerd, "dir-containerd"),
        (Program::WinBridge, cni, "dir-cni-bin"),
        (Program::HostLocal, cni, "dir-cni-bin"),
    ]
    .map(|(program, folder, after)| (program, at(folder, program), after))
}

fn programs(steps: &mut Steps, cluster: &Cluster, inputs: &Inputs) -> Result<(), PlanError> {
    for (program, destination, after) in program_places(cluster) {
        let blob = inputs
            .programs
            .get(&program)
            .ok_or(PlanError::NoProgram(program))?;
        let artifact = Artifact {
            sha256: blob.sha256,
            size: blob.size,
            format: ArtifactFormat::Plain,
            destination: path(&destination)?,
            members: Vec::new(),
        };
        let id = format!("bin-{program}");
        steps.add(&id, &[after], Resource::Artifact(artifact))?;
    }
    Ok(())
}

fn runtime(steps: &mut Steps, cluster: &Cluster, inputs: &Inputs) -> Result<(), PlanError> {
    let folder = containerd_folder(cluster);
    let images = &cluster.spec.images;
    let registry = images.registry.as_ref();
    let pause = format!(
        "{}/{PAUSE}",
        registry.map_or(DEFAULT_REGISTRY, |registry| registry.as_str())
    );
    let containerd = Containerd {
        folder: &folder,
        pause: &pause,
    };
    let configuration = format!(r"{folder}\config.toml");
    let after = ["dir-containerd"];
    file(
        steps,
        "containerd-config",
        &after,
        &configuration,
        containerd.configuration(),
    )?;
    let mut restart_on = vec!["containerd-config", "bin-containerd"];
    if let (Some(registry), Some(ca)) = (registry, &inputs.registry_ca) {
        let ca_file = format!(r"{folder}\registry-ca.crt");
        file(steps, "registry-ca", &after, &ca_file, ca.clone())?;
        let registry_folder = containerd.registry_folder(registry.host());
        let directory = Directory {
            path: path(&registry_folder)?,
            access: Access::Inherited,
        };
        steps.add("dir-registry", &after, Resource::Directory(directory))?;
        let hosts = format!(r"{registry_folder}\hosts.toml");
        let text = containerd::registry_hosts(registry.host(), &ca_file);
        file(steps, "registry-hosts", &["dir-registry"], &hosts, text)?;
        // containerd reads these at each pull; only its start needs the order.
        restart_on.push("registry-ca");
    }
    let program = format!(r"{folder}\containerd.exe");
    let definition = ServiceDefinition {
        program: vec![program, "--config".to_owned(), configuration],
        ready: Some(Condition::NamedPipe(places::CONTAINERD_PIPE.to_owned())),
        ..definition("containerd", "containerd (casement)")?
    };
    let mut after = restart_on.clone();
    after.extend([
        "bin-containerd-shim-runhcs-v1",
        "dir-cni-conf",
        "dir-log-containerd",
    ]);
    service(
        steps,
        "service-containerd",
        &after,
        definition,
        Run::Running,
        &restart_on,
    )
}

fn kubelet(steps: &mut Steps, cluster: &Cluster, host: &Host) -> Result<(), PlanError> {
    let (kubernetes, state) = (places::KUBERNETES, places::KUBELET);
    let definition = ServiceDefinition {
        program: vec![
            format!(r"{}\kubelet.exe", base(cluster)),
            format!(r"--bootstrap-kubeconfig={kubernetes}\bootstrap-kubelet.conf"),
            format!(r"--kubeconfig={kubernetes}\kubelet.conf"),
            format!(r"--config={state}\config.yaml"),
            format!(r"--cert-dir={state}\pki"),
            format!("--hostname-override={}", host.name),
            format!("--node-ip={}", host.address),
        ],
        flags_file: Some(path(&format!(r"{state}\kubeadm-flags.env"))?),
        depends_on: vec!["containerd".to_owned()],
        ..definition("kubelet", "kubelet (casement)")?
    };
    let after = [
        "bin-kubelet",
        "service-containerd",
        "dir-kubelet-pki",
        "dir-kubernetes",
        "dir-log-kubelet",
    ];
    // kubeadm starts it when it has written its configuration.
    service(
        steps,
        "service-kubelet",
        &after,
        definition,
        Run::Either,
        &["bin-kubelet"],
    )
}

/// What all services of a node have in common.
pub(super) fn definition(name: &str, display: &str) -> Result<ServiceDefinition, PlanError> {
    Ok(ServiceDefinition {
        name: name.to_owned(),
        display_name: display.to_owned(),
        program: Vec::new(),
        environment: BTreeMap::new(),
        flags_file: None,
        depends_on: Vec::new(),
        log_file: Some(path(&places::log(name))?),
        ready: None,
        ready_seconds: 60,
        start: StartType::Automatic,
    })
}

pub(super) fn service(
    steps: &mut Steps,
    id: &str,
    after: &[&str],
    definition: ServiceDefinition,
    run: Run,
    restart_on: &[&str],
) -> Result<(), PlanError> {
    let restart_on = restart_on.iter().map(|id| id.parse());
    let service = Service {
        definition,
        run,
        restart_on: restart_on.collect::<Result<_, _>>()?,
    };
    steps.add(id, after, Resource::Service(service))
}

pub(super) fn file(
    steps: &mut Steps,
    id: &str,
    after: &[&str],
    place: &str,
    text: String,
) -> Result<(), PlanError> {
    let file = File {
        path: path(place)?,
        content: text.into(),
        access: Access::Inherited,
    };
    steps.add(id, after, Resource::File(file))
}
