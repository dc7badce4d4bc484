//! Which programs a Windows node has, and where.

use casement_resource::{Artifact, ArtifactFormat, Resource};
use casement_spec::{Backend, Cluster, NetworkAgent, Program, WindowsComponents};

use crate::facts::Inputs;
use crate::places::Places;
use crate::release::{Release, Runtime};
use crate::steps::{PlanError, Steps, path};

/// Each program with the step that makes its folder.
fn wanted(cluster: &Cluster, release: Release) -> Vec<(Program, &'static str)> {
    let (base, cni) = ("dir-base", "dir-cni-bin");
    let mut programs = vec![(Program::Kubelet, base), (Program::Kubeadm, base)];
    let services = cluster.spec.windows.components == WindowsComponents::Services;
    if services {
        programs.push((Program::KubeProxy, base));
    }
    match release.runtime() {
        Runtime::Containerd(_) => {
            let folder = "dir-containerd";
            programs.push((Program::Containerd, folder));
            programs.push((Program::ContainerdShim, folder));
            if !cluster.spec.images.prepull.is_empty() {
                programs.push((Program::Ctr, folder));
            }
        }
        // The daemon is there already.
        Runtime::Dockershim => {}
        Runtime::CriDockerd => programs.push((Program::CriDockerd, base)),
    }
    let flannel = |agent: NetworkAgent, plugin: Program| {
        let daemon = match agent {
            NetworkAgent::Flannel => [
                Some((Program::Flanneld, base)),
                Some((Program::FlannelCni, cni)),
            ],
            NetworkAgent::Casement => [Some((Program::CasementOverlay, base)), None],
        };
        let daemon = daemon.into_iter().flatten();
        let daemon = daemon.filter(move |(_, folder)| services || *folder == cni);
        daemon.chain([(plugin, cni), (Program::HostLocal, cni)])
    };
    match cluster.spec.network.backend {
        Backend::L3Routes => {
            programs.extend([(Program::WinBridge, cni), (Program::HostLocal, cni)]);
        }
        Backend::FlannelHostGw { agent } => programs.extend(flannel(agent, Program::WinBridge)),
        Backend::FlannelOverlay { agent, .. } => {
            programs.extend(flannel(agent, Program::WinOverlay));
        }
        // Calico's own DaemonSet brings its programs.
        Backend::CalicoVxlan { .. } => {}
    }
    programs
}

/// The programs that a Windows node needs.
pub(crate) fn names(cluster: &Cluster, release: Release) -> impl Iterator<Item = Program> {
    let wanted = wanted(cluster, release).into_iter();
    wanted.map(|(program, _)| program)
}

/// The steps that bring them.
pub(super) fn bring(
    steps: &mut Steps,
    cluster: &Cluster,
    release: Release,
    places: &Places,
    inputs: &Inputs,
) -> Result<(), PlanError> {
    let mut programs = wanted(cluster, release);
    // Whoever gives it has it used when the host is reset.
    let containerd = matches!(release.runtime(), Runtime::Containerd(_));
    let ctr = (Program::Ctr, "dir-containerd");
    let given = containerd && inputs.programs.contains_key(&Program::Ctr);
    if given && !programs.contains(&ctr) {
        programs.push(ctr);
    }
    for (program, after) in programs {
        let folder = match after {
            "dir-containerd" => &places.containerd,
            "dir-cni-bin" => places.cni_programs,
            _ => &places.programs,
        };
        let id = format!("bin-{program}");
        let Some(blob) = inputs.programs.get(&program) else {
            if inputs.open_programs {
                steps.leave_out(&id);
                continue;
            }
            return Err(PlanError::NoProgram(program));
        };
        let artifact = Artifact {
            sha256: blob.sha256,
            size: blob.size,
            format: ArtifactFormat::Plain,
            destination: path(&places.below(folder, &[&format!("{program}.exe")]))?,
            members: Vec::new(),
            access: Default::default(),
        };
        steps.add(&id, &[after], Resource::Artifact(artifact))?;
    }
    Ok(())
}
