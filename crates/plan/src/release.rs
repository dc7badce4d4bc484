//! What depends on the Kubernetes version and the container runtime.

use casement_catalog::{
    Behavior, Known, Minor, Program, Series, System, containerd_series, feature_gate, flag, holds,
    kubeadm_api, pause, recommended_containerd, windows_of_os,
};
use casement_resource::KubeadmApi;
use casement_spec::{Cluster, Host, HostOs, Named as _, RuntimeKind};
use semver::Version;

use crate::steps::PlanError;

#[derive(Debug, Clone, Copy)]
pub struct Release {
    minor: Minor,
    runtime: Runtime,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Runtime {
    Containerd(&'static Series),
    /// Docker, through the kubelet's own shim.
    Dockershim,
    /// Docker, through cri-dockerd.
    CriDockerd,
}

impl Release {
    pub fn of(cluster: &Cluster) -> Result<Self, PlanError> {
        let version = cluster.spec.kubernetes.version.as_semver();
        let covered = Minor::of(version).filter(|minor| kubeadm_api(*minor).is_some());
        let minor = covered
            .filter(|minor| *minor <= Minor::NEWEST)
            .ok_or_else(|| PlanError::Version(version.to_string()))?;
        let runtime = match cluster.spec.runtime.kind {
            RuntimeKind::Docker if holds(Behavior::Dockershim, minor) => Runtime::Dockershim,
            RuntimeKind::Docker => Runtime::CriDockerd,
            RuntimeKind::Containerd => Runtime::Containerd(series(cluster, minor)?),
        };
        Ok(Self { minor, runtime })
    }

    pub fn runtime(self) -> Runtime {
        self.runtime
    }

    /// Fails for a Windows release without containerd.
    pub fn check(self, host: &Host) -> Result<(), PlanError> {
        if is_docker_only(host.os) && matches!(self.runtime, Runtime::Containerd(_)) {
            return Err(PlanError::DockerOnly {
                host: host.name.to_string(),
                os: host.os,
            });
        }
        Ok(())
    }

    /// The tag of the pause image.
    pub fn pause(self) -> &'static str {
        pause(self.minor).map_or("latest", |pause| pause.tag)
    }

    /// The newest configuration version that kubeadm reads.
    pub fn kubeadm_api(self) -> KubeadmApi {
        match kubeadm_api(self.minor) {
            Some("v1beta2") => KubeadmApi::V1Beta2,
            Some("v1beta3") => KubeadmApi::V1Beta3,
            _ => KubeadmApi::V1Beta4,
        }
    }

    /// Whether kubeadm can patch the kubelet's configuration
    /// (kubernetes/kubernetes#110405).
    pub fn patches_kubelet(self) -> bool {
        self.minor >= Minor::new(25)
    }

    /// Whether the runtime's socket is in the kubelet's configuration
    /// (kubernetes/kubernetes#112136) rather than in a flag.
    pub fn endpoint_in_configuration(self) -> bool {
        self.minor >= Minor::new(27)
    }

    /// Whether taints are in the kubelet's configuration (kubernetes/kubernetes#105437)
    /// rather than in a flag.
    pub fn taints_in_configuration(self) -> bool {
        self.minor >= Minor::new(23)
    }

    pub fn holds(self, behavior: Behavior) -> bool {
        holds(behavior, self.minor)
    }

    pub fn has_flag(self, program: Program, system: System, name: &str) -> bool {
        flag(program, name).is_some_and(|flag| flag.known(self.minor, system) == Known::Yes)
    }

    pub fn has_gate(self, name: &str) -> bool {
        feature_gate(name).is_some_and(|gate| gate.state(self.minor).is_some())
    }

    pub fn on_by_default(self, name: &str) -> bool {
        let state = feature_gate(name).and_then(|gate| gate.state(self.minor));
        state.is_some_and(|state| state.default)
    }
}

/// The series of the containerd version in the spec, or of the catalog's recommendation.
fn series(cluster: &Cluster, minor: Minor) -> Result<&'static Series, PlanError> {
    let requested = cluster.spec.runtime.version.as_ref();
    let version = match requested {
        Some(version) => {
            let number = |index: usize| version.numbers().get(index).copied().unwrap_or(0);
            Some(Version::new(number(0), number(1), number(2)))
        }
        None => recommended_containerd(minor).map(|release| release.version()),
    };
    let series = version.as_ref().and_then(containerd_series);
    series.ok_or_else(|| PlanError::Containerd {
        version: requested.map_or_else(String::new, ToString::to_string),
    })
}

/// Whether the Windows release supports only Docker and the HNS v1 API.
pub(crate) fn is_docker_only(os: HostOs) -> bool {
    windows_of_os(os.name()).is_some_and(|release| !release.containerd)
}
