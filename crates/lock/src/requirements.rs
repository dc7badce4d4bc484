//! What a cluster's hosts are made of.

use camino::Utf8PathBuf;
use casement_catalog::{Artifact, Behaviour, Minor, System, artifact, holds};
use casement_spec::{
    Cluster, Host, JoinMethod, KubernetesVersion, Named, NetworkAgent, NetworkMode, OsFamily,
    Program, Role, RuntimeKind, WindowsComponents,
};

/// The catalog has no answer for a release of Kubernetes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the catalog does not say which `{artifact}` goes with Kubernetes {kubernetes}")]
pub struct NotCovered {
    /// The artifact.
    pub artifact: &'static str,
    /// The release.
    pub kubernetes: KubernetesVersion,
}

/// Something that hosts need.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// The artifact's name, or the program's for one's own build.
    pub name: String,
    /// The system that it is for.
    pub system: System,
    /// What it is.
    pub content: WantedContent,
}

/// What hosts need.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WantedContent {
    /// A release that somebody publishes.
    Published(Published),
    /// One's own build.
    Own(Utf8PathBuf),
}

/// A release that somebody publishes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Published {
    /// Where and how.
    pub artifact: &'static Artifact,
    /// Which one.
    pub version: String,
}

impl Wanted {
    /// A release of an artifact.
    pub fn published(artifact: &'static Artifact, version: String) -> Self {
        Self {
            name: artifact.name.to_owned(),
            system: artifact.system,
            content: WantedContent::Published(Published { artifact, version }),
        }
    }

    fn own(program: Program, path: &Utf8PathBuf) -> Self {
        Self {
            name: program.to_string(),
            // `overrides` are programs of Windows hosts.
            system: System::Windows,
            content: WantedContent::Own(path.clone()),
        }
    }
}

/// Everything that the hosts which casement may change need, Windows first.
///
/// # Errors
/// When the catalog does not cover the release of Kubernetes, and the spec does not
/// say either.
pub fn wanted(cluster: &Cluster) -> Result<Vec<Wanted>, NotCovered> {
    let spec = &cluster.spec;
    let overrides = &spec.artifacts.overrides;
    let own = overrides
        .iter()
        .map(|(program, path)| Wanted::own(*program, path));
    let mut all: Vec<Wanted> = own.collect();
    let has = |family| {
        let mut hosts = spec.hosts.iter().filter(|host| host.managed);
        hosts.any(|host| host.os.family() == family)
    };
    let given = |program: &str| overrides.keys().any(|key| key.name() == program);
    if has(OsFamily::Windows) {
        for (name, programs) in windows(cluster) {
            if !programs.iter().all(|program| given(program)) {
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

fn is_so(behaviour: Behaviour, cluster: &Cluster) -> bool {
    minor(cluster).is_some_and(|minor| holds(behaviour, minor))
}

/// An artifact of the version that the spec says, or that goes with its Kubernetes.
fn published(
    cluster: &Cluster,
    name: &'static str,
    system: System,
) -> Result<Option<Wanted>, NotCovered> {
    let Some(artifact) = artifact(name, system) else {
        return Ok(None);
    };
    let (kubernetes, runtime) = (&cluster.spec.kubernetes.version, &cluster.spec.runtime);
    let said = runtime
        .version
        .as_ref()
        .filter(|_| name == runtime.kind.name());
    let version = match said {
        Some(version) => Some(version.as_str().to_owned()),
        None => artifact.version_for(kubernetes.as_semver()),
    };
    match version {
        Some(version) => Ok(Some(Wanted::published(artifact, version))),
        None => Err(NotCovered {
            artifact: artifact.name,
            kubernetes: kubernetes.clone(),
        }),
    }
}

type Needs = Vec<(&'static str, &'static [&'static str])>;

/// The artifacts of a Windows host, and the programs in each that are needed.
fn windows(cluster: &Cluster) -> Needs {
    let spec = &cluster.spec;
    let mut needs: Needs = vec![("kubelet", &["kubelet"])];
    if spec.join.method == JoinMethod::Kubeadm {
        needs.push(("kubeadm", &["kubeadm"]));
        if is_so(Behaviour::KubeadmCallsCrictl, cluster) {
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
        // The daemon itself is on the host already.
        RuntimeKind::Docker => {
            if !is_so(Behaviour::Dockershim, cluster) {
                needs.push(("cri-dockerd", &["cri-dockerd"]));
            }
        }
    }
    match spec.network.mode() {
        NetworkMode::FlannelOverlay => needs.push(("cni-plugins", &["win-overlay", "host-local"])),
        NetworkMode::FlannelHostGw | NetworkMode::L3Routes => {
            needs.push(("cni-plugins", &["win-bridge", "host-local"]));
        }
        NetworkMode::CalicoVxlan => {}
    }
    // As HostProcess containers they come as images.
    if spec.windows.components == WindowsComponents::Services {
        needs.push(("kube-proxy", &["kube-proxy"]));
        if spec.network.backend.agent() == Some(NetworkAgent::Flannel) {
            needs.push(("flanneld", &["flanneld"]));
            needs.push(("flannel-cni", &["flannel"]));
        }
        if spec.network.mode() == NetworkMode::CalicoVxlan {
            needs.push(("calico", &["calico-node", "calico", "calico-ipam"]));
        }
    }
    needs
}

/// The artifacts of Linux hosts. kube-proxy and the network's daemon come as images
/// there, and Docker as a package.
fn linux(cluster: &Cluster) -> Vec<&'static str> {
    let mut needs = vec!["kubelet", "cni-plugins"];
    if cluster.spec.join.method == JoinMethod::Kubeadm {
        needs.push("kubeadm");
        if is_so(Behaviour::KubeadmCallsCrictl, cluster) {
            needs.push("crictl");
        }
    }
    if cluster.spec.runtime.kind == RuntimeKind::Containerd {
        needs.extend(["containerd", "runc"]);
    }
    let rules = |host: &Host| host.managed && host.has(Role::ControlPlane);
    if cluster.linux_hosts().any(rules) {
        needs.push("kubectl");
    }
    needs
}

#[cfg(test)]
#[path = "requirements/tests.rs"]
mod tests;
