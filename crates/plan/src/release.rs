//! What the version of Kubernetes decides.

use casement_catalog::{
    Behaviour, Known, Minor, Program, Series, System, containerd_series, flag, gate, holds,
    kubeadm_api, pause, recommended_containerd,
};
use casement_resource::KubeadmApi;
use casement_spec::{Cluster, Host, HostOs, RuntimeKind};
use semver::Version;

use crate::steps::PlanError;

/// The branch points of a release of Kubernetes and of its runtime.
#[derive(Debug, Clone, Copy)]
pub struct Release {
    minor: Minor,
    runtime: Runtime,
}

/// What runs the containers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Runtime {
    /// containerd of a line.
    Containerd(&'static Series),
    /// Docker, spoken to by the kubelet itself.
    Dockershim,
    /// Docker, spoken to through cri-dockerd.
    CriDockerd,
}

impl Release {
    /// The release and the runtime that a spec asks for.
    pub fn of(cluster: &Cluster) -> Result<Self, PlanError> {
        let version = cluster.spec.kubernetes.version.as_semver();
        let covered = Minor::of(version).filter(|minor| kubeadm_api(*minor).is_some());
        let minor = covered
            .filter(|minor| *minor <= Minor::NEWEST)
            .ok_or_else(|| PlanError::Version(version.to_string()))?;
        let runtime = match cluster.spec.runtime.kind {
            RuntimeKind::Docker if holds(Behaviour::Dockershim, minor) => Runtime::Dockershim,
            RuntimeKind::Docker => Runtime::CriDockerd,
            RuntimeKind::Containerd => Runtime::Containerd(series(cluster, minor)?),
        };
        Ok(Self { minor, runtime })
    }

    /// What runs the containers.
    pub fn runtime(self) -> Runtime {
        self.runtime
    }

    /// A host whose Windows has no containerd cannot have one.
    pub fn check(self, host: &Host) -> Result<(), PlanError> {
        let old = matches!(
            host.os,
            HostOs::Windows2016 | HostOs::Windows1709 | HostOs::Windows1803
        );
        if old && matches!(self.runtime, Runtime::Containerd(_)) {
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

    /// The newest version of kubeadm's configuration that it reads.
    pub fn kubeadm_api(self) -> KubeadmApi {
        match kubeadm_api(self.minor) {
            Some("v1beta2") => KubeadmApi::V1Beta2,
            Some("v1beta3") => KubeadmApi::V1Beta3,
            _ => KubeadmApi::V1Beta4,
        }
    }

    /// Whether kubeadm lets the kubelet's configuration be patched
    /// (kubernetes/kubernetes#110405).
    pub fn patches_kubelet(self) -> bool {
        self.minor >= Minor::new(25)
    }

    /// Whether the kubelet's configuration names the runtime's socket
    /// (kubernetes/kubernetes#112136); before, a flag does.
    pub fn endpoint_in_configuration(self) -> bool {
        self.minor >= Minor::new(27)
    }

    /// Whether the kubelet's configuration has taints
    /// (kubernetes/kubernetes#105437); before, a flag has.
    pub fn taints_in_configuration(self) -> bool {
        self.minor >= Minor::new(23)
    }

    /// Whether something holds in this release.
    pub fn holds(self, behaviour: Behaviour) -> bool {
        holds(behaviour, self.minor)
    }

    /// Whether a program of this release takes a flag.
    pub fn takes(self, program: Program, system: System, name: &str) -> bool {
        flag(program, name).is_some_and(|flag| flag.known(self.minor, system) == Known::Yes)
    }

    /// Whether this release has a feature gate.
    pub fn has_gate(self, name: &str) -> bool {
        gate(name).is_some_and(|gate| gate.state(self.minor).is_some())
    }

    /// Whether a feature is on unless somebody says otherwise.
    pub fn on_by_default(self, name: &str) -> bool {
        let state = gate(name).and_then(|gate| gate.state(self.minor));
        state.is_some_and(|state| state.default)
    }
}

/// The line of the containerd that the spec names, else of the one that the
/// catalog takes.
fn series(cluster: &Cluster, minor: Minor) -> Result<&'static Series, PlanError> {
    let said = cluster.spec.runtime.version.as_ref();
    let version = match said {
        Some(version) => {
            let number = |at: usize| version.numbers().get(at).copied().unwrap_or(0);
            Some(Version::new(number(0), number(1), number(2)))
        }
        None => recommended_containerd(minor).map(|release| release.version()),
    };
    let series = version.as_ref().and_then(containerd_series);
    series.ok_or_else(|| PlanError::Containerd {
        version: said.map_or_else(String::new, ToString::to_string),
    })
}
