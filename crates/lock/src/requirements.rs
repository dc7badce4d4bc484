//! The artifacts that the hosts of a cluster need.

use camino::Utf8PathBuf;
use casement_catalog::{Artifact, Behavior, Minor, System, artifact, holds};
use casement_spec::{
    Cluster, Host, JoinMethod, KubernetesVersion, Named, NetworkAgent, OsFamily, Program, Role,
    RuntimeKind, WindowsComponents,
};

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the catalog has no version of `{artifact}` for Kubernetes {kubernetes}")]
pub struct NotCovered {
    pub artifact: &'static str,
    pub kubernetes: KubernetesVersion,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Requirement {
    /// The artifact, or the program for a local build.
    pub name: String,
    pub system: System,
    pub content: RequiredContent,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RequiredContent {
    Published(Published),
    Own(Utf8PathBuf),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Published {
    pub artifact: &'static Artifact,
    pub version: String,
}

impl Requirement {
    pub fn published(artifact: &'static Artifact, version: String) -> Self {
        Self {
            name: artifact.name.to_owned(),
            system: artifact.system,
            content: RequiredContent::Published(Published { artifact, version }),
        }
    }

    fn own(program: Program, path: &Utf8PathBuf) -> Self {
        Self {
            name: program.to_string(),
            // `overrides` are programs of Windows hosts.
            system: System::Windows,
            content: RequiredContent::Own(path.clone()),
        }
    }
}

/// All artifacts of the managed hosts, Windows first.
///
/// # Errors
/// The catalog does not cover the Kubernetes release and the spec sets no version.
pub fn requirements(cluster: &Cluster) -> Result<Vec<Requirement>, NotCovered> {
    let spec = &cluster.spec;
    let overrides = &spec.artifacts.overrides;
    let own = overrides
        .iter()
        .map(|(program, path)| Requirement::own(*program, path));
    let mut all: Vec<Requirement> = own.collect();
    let has = |family| {
        let mut hosts = spec.hosts.iter().filter(|host| host.managed);
        hosts.any(|host| host.os.family() == family)
    };
    let overridden = |program: &str| overrides.keys().any(|key| key.name() == program);
    if has(OsFamily::Windows) {
        for (name, programs) in windows(cluster) {
            if !programs.iter().all(|program| overridden(program)) {
                all.extend(published(cluster, name, System::Windows)?);
            }
        }
    }
    if has(OsFamily::Linux) {
        for name in linux(cluster) {
            all.extend(published(cluster, name, System::Linux)?);
        }
    }
    Ok(all)
}

fn minor(cluster: &Cluster) -> Option<Minor> {
    Minor::of(cluster.spec.kubernetes.version.as_semver())
}

fn behaves(behavior: Behavior, cluster: &Cluster) -> bool {
    minor(cluster).is_some_and(|minor| holds(behavior, minor))
}

/// The version in the spec, else the default for the Kubernetes version.
fn published(
    cluster: &Cluster,
    name: &'static str,
    system: System,
) -> Result<Option<Requirement>, NotCovered> {
    let Some(artifact) = artifact(name, system) else {
        return Ok(None);
    };
    let (kubernetes, runtime) = (&cluster.spec.kubernetes.version, &cluster.spec.runtime);
    let explicit = runtime
        .version
        .as_ref()
        .filter(|_| name == runtime.kind.name());
    let version = match explicit {
        Some(version) => Some(version.as_str().to_owned()),
        None => artifact.version_for(kubernetes.as_semver()),
    };
    match version {
        Some(version) => Ok(Some(Requirement::published(artifact, version))),
        None => Err(NotCovered {
            artifact: artifact.name,
            kubernetes: kubernetes.clone(),
        }),
    }
}

type Needs = Vec<(&'static str, &'static [&'static str])>;

/// The artifacts of a Windows host with the programs needed from each.
fn windows(cluster: &Cluster) -> Needs {
    let spec = &cluster.spec;
    let mut needs: Needs = vec![("kubelet", &["kubelet"])];
    if spec.join.method == JoinMethod::Kubeadm {
        needs.push(("kubeadm", &["kubeadm"]));
        if behaves(Behavior::KubeadmCallsCrictl, cluster) {
            needs.push(("crictl", &["crictl"]));
        }
    }
    match spec.runtime.kind {
        RuntimeKind::Containerd => {
            needs.push(if spec.images.prepull.is_empty() {
                ("containerd", &["containerd", "containerd-shim-runhcs-v1"])
            } else {
                (
                    "containerd",
                    &["containerd", "containerd-shim-runhcs-v1", "ctr"],
                )
            });
        }
        // The Docker daemon is installed already.
        RuntimeKind::Docker => {
            if !behaves(Behavior::Dockershim, cluster) {
                needs.push(("cri-dockerd", &["cri-dockerd"]));
            }
        }
    }
    let plugins = spec.network.mode().windows_plugins();
    if !plugins.is_empty() {
        needs.push(("cni-plugins", plugins));
    }
    // HostProcess containers use images instead.
    if spec.windows.components == WindowsComponents::Services {
        needs.push(("kube-proxy", &["kube-proxy"]));
        if spec.network.backend.agent() == Some(NetworkAgent::Flannel) {
            needs.push(("flanneld", &["flanneld"]));
            needs.push(("flannel-cni", &["flannel"]));
        }
        if spec.network.mode().is_calico() {
            needs.push(("calico", &["calico-node", "calico", "calico-ipam"]));
        }
    }
    needs
}

/// kube-proxy and the network daemon are images on Linux, Docker is a package.
fn linux(cluster: &Cluster) -> Vec<&'static str> {
    let mut needs = vec!["kubelet", "cni-plugins"];
    if cluster.spec.join.method == JoinMethod::Kubeadm {
        needs.push("kubeadm");
        if behaves(Behavior::KubeadmCallsCrictl, cluster) {
            needs.push("crictl");
        }
    }
    if cluster.spec.runtime.kind == RuntimeKind::Containerd {
        needs.extend(["containerd", "runc"]);
    }
    let control_plane = |host: &Host| host.managed && host.has(Role::ControlPlane);
    if cluster.linux_hosts().any(control_plane) {
        needs.push("kubectl");
    }
    needs
}

#[cfg(test)]
mod tests;
