//! The programs of a Windows node and their folders.

use casement_resource::{Artifact, ArtifactFormat, Resource};
use casement_spec::{Cluster, Program, WindowsComponents};

use crate::facts::Inputs;
use crate::modes;
use crate::node_paths::NodePaths;
use crate::release::{Release, Runtime};
use crate::steps::{PlanError, Steps, path};

/// Each program with the step that creates its folder.
fn programs(cluster: &Cluster, release: Release) -> Vec<(Program, &'static str)> {
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
        // The Docker daemon is installed already.
        Runtime::Dockershim => {}
        Runtime::CriDockerd => programs.push((Program::CriDockerd, base)),
    }
    let mode = modes::of(cluster);
    // HostProcess containers bring their own agent.
    if services {
        programs.extend(mode.agent_programs().into_iter().map(|it| (it, base)));
    }
    programs.extend(mode.plugins().into_iter().map(|it| (it, cni)));
    programs
}

pub(crate) fn names(cluster: &Cluster, release: Release) -> impl Iterator<Item = Program> {
    let programs = programs(cluster, release).into_iter();
    programs.map(|(program, _)| program)
}

pub(super) fn install(
    steps: &mut Steps,
    cluster: &Cluster,
    release: Release,
    paths: &NodePaths,
    inputs: &Inputs,
) -> Result<(), PlanError> {
    let mut programs = programs(cluster, release);
    // Where it is available, `reset` uses it to remove containers.
    let containerd = matches!(release.runtime(), Runtime::Containerd(_));
    let ctr = (Program::Ctr, "dir-containerd");
    let available = containerd && inputs.programs.contains_key(&Program::Ctr);
    if available && !programs.contains(&ctr) {
        programs.push(ctr);
    }
    for (program, after) in programs {
        let folder = match after {
            "dir-containerd" => &paths.containerd,
            "dir-cni-bin" => paths.cni_programs,
            _ => &paths.programs,
        };
        let id = format!("bin-{program}");
        let Some(blob) = inputs.programs.get(&program) else {
            if inputs.allow_missing_programs {
                steps.defer(&id);
                continue;
            }
            return Err(PlanError::NoProgram(program));
        };
        let artifact = Artifact {
            sha256: blob.sha256,
            size: blob.size,
            format: ArtifactFormat::Plain,
            destination: path(&paths.below(folder, &[&format!("{program}.exe")]))?,
            members: Vec::new(),
            access: Default::default(),
        };
        steps.add(&id, &[after], Resource::Artifact(artifact))?;
    }
    Ok(())
}
