//! Windows itself: features, host name, updates, time, ports, and the single reboot that these
//! may need.

use casement_resource::{
    DynamicPorts, Hostname, PendingChange, Protocol, Reboot, Resource, TimeSync, WindowsFeature,
};
use casement_spec::{RebootPolicy, WindowsComponents};

use super::updates::updates;
use crate::facts::Inputs;
use crate::kube_proxy;
use crate::kubelet::Kubelet;
use crate::steps::{PlanError, Steps};

/// Steps that need the features depend on it.
pub(super) const BOOTED: &str = "reboot";

/// Includes HNS and the host compute service.
const CONTAINERS: &str = "Containers";
/// Windows stops all services before it reboots.
const SHUTDOWN_SECONDS: u32 = 600;
/// Windows installs features and updates before and after the boot, and a server's firmware
/// takes minutes.
const BOOT_SECONDS: u32 = 1800;

pub(super) fn system(
    steps: &mut Steps,
    kubelet: &Kubelet<'_>,
    inputs: &Inputs,
) -> Result<(), PlanError> {
    let feature = WindowsFeature {
        name: CONTAINERS.to_owned(),
        present: true,
    };
    let id = "feature-containers";
    steps.add(id, &[], Resource::WindowsFeature(feature))?;
    let mut after = vec![id.to_owned()];
    let mut waits = vec![PendingChange::Feature(CONTAINERS.to_owned())];
    if let Some(name) = &kubelet.host.hostname {
        let name = name.to_string();
        steps.add("hostname", &[], Resource::Hostname(Hostname { name }))?;
        after.push("hostname".to_owned());
        waits.push(PendingChange::Hostname);
    }
    for (id, article) in updates(steps, kubelet, inputs)? {
        after.push(id);
        waits.push(PendingChange::Update(article));
    }
    let after: Vec<&str> = after.iter().map(String::as_str).collect();
    let reasons: Vec<String> = waits.iter().map(ToString::to_string).collect();
    let reboot = Reboot {
        reason: reasons.join(" and "),
        waits,
        allowed: kubelet.cluster.spec.windows.reboot == RebootPolicy::Auto,
        timeout_seconds: SHUTDOWN_SECONDS,
        back_seconds: BOOT_SECONDS,
    };
    steps.add_disruptive(BOOTED, &after, Resource::Reboot(reboot))?;
    time(steps, kubelet)?;
    ports(steps, kubelet)
}

/// Certificates are rejected on a host with a wrong clock.
fn time(steps: &mut Steps, kubelet: &Kubelet<'_>) -> Result<(), PlanError> {
    let servers = &kubelet.cluster.spec.windows.time_servers;
    if servers.is_empty() {
        return Ok(());
    }
    let servers = servers.iter().map(ToString::to_string).collect();
    steps.add("time", &[], Resource::TimeSync(TimeSync { servers }))
}

/// A load balancer without direct server return reserves 64 ports: the default range of
/// 16384 is exhausted by about 250 Services. The range excludes NodePorts (30000 to 32767).
fn ports(steps: &mut Steps, kubelet: &Kubelet<'_>) -> Result<(), PlanError> {
    let (cluster, host) = (kubelet.cluster, kubelet.host);
    let in_services = cluster.spec.windows.components == WindowsComponents::Services;
    if in_services && kube_proxy::has_direct_server_return(cluster, host, kubelet.release) {
        return Ok(());
    }
    for protocol in [Protocol::Tcp, Protocol::Udp] {
        let ports = DynamicPorts {
            protocol,
            first: 34000,
            count: 31536,
        };
        let id = format!("ports-{protocol}");
        steps.add(&id, &[], Resource::DynamicPorts(ports))?;
    }
    Ok(())
}
