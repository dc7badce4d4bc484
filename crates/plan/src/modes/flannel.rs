//! What both flannel modes share: flannel's configuration, its daemon on Windows hosts, and
//! the kernel settings of Linux hosts.

use casement_resource::service_names::{CASEMENT_OVERLAY, FLANNELD};
use casement_resource::step_ids;
use casement_resource::{KernelModule, Resource, Run, Sysctl};
use casement_spec::{Cluster, Host, NetworkAgent, Program, WindowsComponents};

use crate::facts::ClusterFacts;
use crate::kubelet::Kubelet;
use crate::linux::{BRIDGE_MODULE, SYSCTLS, write_modules, write_sysctls};
use crate::node_paths::WINDOWS_FLANNEL;
use crate::services::{self, file, service};
use crate::steps::{PlanError, Steps};
use crate::{pods, windows};

pub(super) fn linux_conflist(cluster: &Cluster) -> Option<String> {
    pods::cni_conf(cluster).map(|conf| casement_net::text(&conf))
}

pub(super) fn conflist_name(host: &Host) -> &'static str {
    match host.os.is_windows() {
        true => "10-casement.conflist",
        false => "10-flannel.conflist",
    }
}

pub(super) fn daemon(agent: NetworkAgent) -> &'static str {
    match agent {
        NetworkAgent::Flannel => FLANNELD,
        NetworkAgent::Casement => CASEMENT_OVERLAY,
    }
}

pub(super) fn agent_program(agent: NetworkAgent) -> Program {
    match agent {
        NetworkAgent::Flannel => Program::Flanneld,
        NetworkAgent::Casement => Program::CasementOverlay,
    }
}

pub(super) fn plugins(agent: NetworkAgent, plugin: Program) -> Vec<Program> {
    let flannel = (agent == NetworkAgent::Flannel).then_some(Program::FlannelCni);
    flannel
        .into_iter()
        .chain([plugin, Program::HostLocal])
        .collect()
}

/// The configuration, identity and service of the daemon. Returns its step, `None` for a
/// HostProcess daemon, which the cluster runs.
pub(super) fn daemon_steps(
    steps: &mut Steps,
    kubelet: &Kubelet<'_>,
    facts: &ClusterFacts,
    restart_on: &[&str],
) -> Result<Option<String>, PlanError> {
    if kubelet.cluster.spec.windows.components == WindowsComponents::HostProcess {
        return Ok(None);
    }
    let (Some(net_conf), Some(definition), Some(agent)) = (
        pods::net_conf(kubelet.cluster),
        services::overlay_daemon(kubelet)?,
        kubelet.cluster.spec.network.backend.agent(),
    ) else {
        return Ok(None);
    };
    let path = format!(r"{WINDOWS_FLANNEL}\net-conf.json");
    let text = casement_net::text(&net_conf);
    file(steps, "flannel-config", &[], &path, text)?;
    windows::node_identity(steps, kubelet, facts, "flannel")?;
    let mut needs = vec!["flannel-config", "flannel-kubeconfig"];
    needs.extend(restart_on);
    service(steps, &needs, definition, Run::Running, &needs)?;
    Ok(Some(step_ids::service(daemon(agent))))
}

/// Nodes that another tool created may lack it: packets of bridged pods must pass the
/// iptables rules of services.
pub(super) fn bridge_netfilter(steps: &mut Steps) -> Result<(), PlanError> {
    let (name, value) = SYSCTLS[0];
    let module = KernelModule {
        name: BRIDGE_MODULE.parse()?,
    };
    write_modules(steps, &[BRIDGE_MODULE])?;
    write_sysctls(steps)?;
    let id = format!("module-{BRIDGE_MODULE}");
    steps.add(&id, &["modules"], Resource::KernelModule(module))?;
    let sysctl = Sysctl {
        name: name.parse()?,
        value: value.to_owned(),
    };
    let after = [id.as_str(), "sysctls"];
    steps.add(&format!("sysctl-{name}"), &after, Resource::Sysctl(sysctl))
}
