//! `flannel-overlay`: flannel carries pod traffic in VXLAN between all hosts.

use casement_net::Deferred;
use casement_net::cni::{Conflist, Plugin, WindowsPods};
use casement_net::flannel::{Backend, NetConf};
use casement_net::hns::{NetworkSpec, NetworkType};
use casement_net::pod_network::PodNetwork;
use casement_net::routes::Carrier;
use casement_resource::step_ids::HNS_NETWORK;
use casement_resource::{Answer, Check, Command, Resource};
use casement_spec::{Cluster, Host, NetworkAgent, Program, Vxlan, WindowsComponents};
use serde_json::Value;

use super::{Mode, flannel};
use crate::facts::ClusterFacts;
use crate::hns;
use crate::host_process::{self, Server};
use crate::kubelet::Kubelet;
use crate::node_paths::WINDOWS_CNI_LEASES;
use crate::services::file;
use crate::steps::{PlanError, Steps, path};

/// flannel's default VNI on Linux, which Windows does not support.
const LINUX_VNI: u32 = 1;

/// The step of kube-proxy's source address.
const SOURCE_VIP: &str = "source-vip";

pub(super) struct FlannelOverlay {
    pub(super) agent: NetworkAgent,
    pub(super) vxlan: Vxlan,
}

impl Mode for FlannelOverlay {
    fn carrier(&self) -> Carrier {
        Carrier::FlannelVxlan {
            vni: self.vxlan.vni.get(),
        }
    }

    fn net_conf(&self, cluster: &Cluster) -> Option<NetConf> {
        let network = &cluster.spec.network;
        let backend = Backend::vxlan(
            self.vxlan.vni.get(),
            self.vxlan.port,
            network.hns_network.as_str(),
            network.mtu.map(|mtu| mtu.get()),
        );
        let pods = cluster.spec.kubernetes.pod_cidr.net();
        Some(NetConf::new(pods, backend))
    }

    fn daemon(&self) -> Option<&'static str> {
        Some(flannel::daemon(self.agent))
    }

    fn conflist_name(&self, host: &Host) -> &'static str {
        flannel::conflist_name(host)
    }

    fn windows_conflist(
        &self,
        windows: &WindowsPods<'_>,
        pods: Deferred<PodNetwork>,
        _: &Cluster,
        _: &Host,
    ) -> Conflist<Plugin> {
        match self.agent {
            NetworkAgent::Flannel => windows.flannel_overlay(),
            NetworkAgent::Casement => windows.overlay(pods, WINDOWS_CNI_LEASES),
        }
    }

    fn linux_conflist(&self, cluster: &Cluster, _: Deferred<PodNetwork>) -> Option<String> {
        flannel::linux_conflist(cluster)
    }

    /// A HostProcess daemon and its network belong to the cluster.
    fn hns_network(&self, cluster: &Cluster, pods: Deferred<PodNetwork>) -> Option<NetworkSpec> {
        let name = cluster.spec.network.hns_network.as_str();
        match cluster.spec.windows.components {
            WindowsComponents::Services => {
                Some(NetworkSpec::overlay(name, self.vxlan.vni.get(), pods))
            }
            WindowsComponents::HostProcess => None,
        }
    }

    fn external_network(&self) -> Option<NetworkType> {
        Some(NetworkType::Overlay)
    }

    fn has_remote_subnets(&self) -> bool {
        true
    }

    fn plugins(&self) -> Vec<Program> {
        flannel::plugins(self.agent, Program::WinOverlay)
    }

    fn agent_programs(&self) -> Vec<Program> {
        vec![flannel::agent_program(self.agent)]
    }

    fn windows_steps(
        &self,
        steps: &mut Steps,
        kubelet: &Kubelet<'_>,
        pods: PodNetwork,
        facts: &ClusterFacts,
    ) -> Result<Vec<String>, PlanError> {
        self.overlay_network(steps, kubelet, pods)?;
        // A recreated network has a new router MAC, which flannel must announce.
        let restart_on = [HNS_NETWORK];
        let daemon = flannel::daemon_steps(steps, kubelet, facts, &restart_on)?;
        // Before the runtime can request the address of a pod.
        source_vip_lease(steps, kubelet, pods)?;
        Ok(daemon.into_iter().chain([SOURCE_VIP.to_owned()]).collect())
    }

    fn linux_steps(
        &self,
        steps: &mut Steps,
        cluster: &Cluster,
        _: &Host,
        _: &ClusterFacts,
    ) -> Result<(), PlanError> {
        if cluster.spec.existing.is_none() {
            return Ok(());
        }
        flannel::bridge_netfilter(steps)?;
        self.delete_old_device(steps)
    }

    fn host_process_objects(&self, cluster: &Cluster, server: &Server) -> Vec<Value> {
        host_process::flannel::objects(cluster, server)
    }
}

impl FlannelOverlay {
    /// Created before the daemon starts, which adopts it: casement removes what it created,
    /// with everything inside. The vSwitch exists already, so the connection stays up.
    fn overlay_network(
        &self,
        steps: &mut Steps,
        kubelet: &Kubelet<'_>,
        pods: PodNetwork,
    ) -> Result<(), PlanError> {
        let Some(spec) = self.hns_network(kubelet.cluster, Deferred::Known(pods)) else {
            return Ok(());
        };
        let network = hns::network(spec, kubelet.host)?;
        steps.add(HNS_NETWORK, &[], Resource::HnsNetwork(network))
    }

    /// flannel creates a device for a new VNI and leaves the old one behind, with dead
    /// routes.
    fn delete_old_device(&self, steps: &mut Steps) -> Result<(), PlanError> {
        if self.vxlan.vni.get() == LINUX_VNI {
            return Ok(());
        }
        let device = format!("flannel.{LINUX_VNI}");
        let ip = |arguments: [&str; 3]| Command {
            program: "ip".to_owned(),
            arguments: arguments
                .into_iter()
                .chain([device.as_str()])
                .map(str::to_owned)
                .collect(),
        };
        let check = Check {
            name: format!("flannel's old device {device} is deleted"),
            ask: ip(["link", "show", "dev"]),
            wanted: Answer::Contains("does not exist".to_owned()),
            act: ip(["link", "delete", "dev"]),
            undo: None,
            folder: path("/")?,
            timeout_seconds: 20,
        };
        steps.add("old-overlay", &[], Resource::Check(check))
    }
}

/// Reserves kube-proxy's source address, so that `host-local` does not assign it to a pod.
/// kube-proxy creates the endpoint itself, with the host's MAC.
fn source_vip_lease(
    steps: &mut Steps,
    kubelet: &Kubelet<'_>,
    pods: PodNetwork,
) -> Result<(), PlanError> {
    let address = pods.host().to_string();
    let network = kubelet.cluster.spec.network.hns_network.as_str();
    let path = kubelet
        .paths
        .below(WINDOWS_CNI_LEASES, &[network, &address]);
    let text = "kube-proxy\r\nsource-vip".to_owned();
    file(steps, SOURCE_VIP, &[], &path, text)
}
