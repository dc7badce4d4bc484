//! What Windows itself must be before anything runs on it: its features, its
//! name, its updates, its clock, its ports, and the one reboot that all of that may need.

use casement_resource::{
    DynamicPorts, Hostname, Protocol, Reboot, Resource, TimeSync, WaitsForBoot, WindowsFeature,
};
use casement_spec::{RebootPolicy, WindowsComponents};

use super::updates::updates;
use crate::facts::Inputs;
use crate::kube_proxy;
use crate::kubelet::Kubelet;
use crate::steps::{PlanError, Steps};

/// The step that what needs the features comes after.
pub(super) const BOOTED: &str = "reboot";

/// HNS and the host compute service come with it.
const CONTAINERS: &str = "Containers";
/// A host that is told to reboot ends its services first.
const GOING_DOWN_SECONDS: u32 = 600;
/// Windows puts features and updates in their places on both sides of a boot,
/// and a server's own firmware takes its minutes.
const BACK_SECONDS: u32 = 1800;

/// The steps, the reboot last.
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
    let mut waits = vec![WaitsForBoot::Feature(CONTAINERS.to_owned())];
    if let Some(name) = &kubelet.host.hostname {
        let name = name.to_string();
        steps.add("hostname", &[], Resource::Hostname(Hostname { name }))?;
        after.push("hostname".to_owned());
        waits.push(WaitsForBoot::Hostname);
    }
    for (id, article) in updates(steps, kubelet, inputs)? {
        after.push(id);
        waits.push(WaitsForBoot::Update(article));
    }
    let after: Vec<&str> = after.iter().map(String::as_str).collect();
    let reasons: Vec<String> = waits.iter().map(ToString::to_string).collect();
    let reboot = Reboot {
        reason: reasons.join(" and "),
        waits,
        allowed: kubelet.cluster.spec.windows.reboot == RebootPolicy::Auto,
        timeout_seconds: GOING_DOWN_SECONDS,
        back_seconds: BACK_SECONDS,
    };
    steps.add_disruptive(BOOTED, &after, Resource::Reboot(reboot))?;
    time(steps, kubelet)?;
    ports(steps, kubelet)
}

/// A certificate is no good on a host that is in another hour.
fn time(steps: &mut Steps, kubelet: &Kubelet<'_>) -> Result<(), PlanError> {
    let servers = &kubelet.cluster.spec.windows.time_servers;
    if servers.is_empty() {
        return Ok(());
    }
    let servers = servers.iter().map(ToString::to_string).collect();
    steps.add("time", &[], Resource::TimeSync(TimeSync { servers }))
}

/// A load balancer without direct server return keeps 64 ports to itself:
/// Windows' usual 16384 are used up by some 250 Services. The range stays clear
/// of the ports that Services take on nodes (30000 to 32767).
fn ports(steps: &mut Steps, kubelet: &Kubelet<'_>) -> Result<(), PlanError> {
    let (cluster, host) = (kubelet.cluster, kubelet.host);
    let ours = cluster.spec.windows.components == WindowsComponents::Services;
    if ours && kube_proxy::returns_directly(cluster, host, kubelet.release) {
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
