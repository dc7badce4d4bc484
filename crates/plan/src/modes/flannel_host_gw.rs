//! `flannel-host-gw`: flannel routes the pod networks between hosts of one segment.

use casement_net::Deferred;
use casement_net::cni::{Conflist, Plugin, WindowsPods};
use casement_net::flannel::{Backend, NetConf};
use casement_net::hns::NetworkType;
use casement_net::pod_network::PodNetwork;
use casement_net::routes::Carrier;
use casement_spec::{Cluster, Host, NetworkAgent, NetworkMode, Program};
use serde_json::Value;

use super::{Mode, Unsupported, flannel};
use crate::facts::ClusterFacts;
use crate::host_process::{self, Server};
use crate::kubelet::Kubelet;
use crate::node_paths::WINDOWS_CNI_LEASES;
use crate::steps::{PlanError, Steps};
use crate::unsupported::OTHER_MODES;

pub(super) struct FlannelHostGw {
    pub(super) agent: NetworkAgent,
}

impl Mode for FlannelHostGw {
    fn carrier(&self) -> Carrier {
        Carrier::FlannelHostGw
    }

    fn net_conf(&self, cluster: &Cluster) -> Option<NetConf> {
        let name = cluster.spec.network.hns_network.as_str();
        let pods = cluster.spec.kubernetes.pod_cidr.net();
        Some(NetConf::new(pods, Backend::host_gw(name)))
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
            NetworkAgent::Flannel => windows.flannel_bridge(),
            NetworkAgent::Casement => windows.bridge(pods, WINDOWS_CNI_LEASES),
        }
    }

    fn linux_conflist(&self, cluster: &Cluster, _: Deferred<PodNetwork>) -> Option<String> {
        flannel::linux_conflist(cluster)
    }

    fn external_network(&self) -> Option<NetworkType> {
        Some(NetworkType::L2Bridge)
    }

    fn plugins(&self) -> Vec<Program> {
        flannel::plugins(self.agent, Program::WinBridge)
    }

    fn agent_programs(&self) -> Vec<Program> {
        vec![flannel::agent_program(self.agent)]
    }

    fn windows_steps(
        &self,
        steps: &mut Steps,
        kubelet: &Kubelet<'_>,
        _: PodNetwork,
        facts: &ClusterFacts,
    ) -> Result<Vec<String>, PlanError> {
        let daemon = flannel::daemon_steps(steps, kubelet, facts, &[])?;
        Ok(daemon.into_iter().collect())
    }

    fn linux_steps(
        &self,
        steps: &mut Steps,
        cluster: &Cluster,
        _: &Host,
        _: &ClusterFacts,
    ) -> Result<(), PlanError> {
        match cluster.spec.existing {
            Some(_) => flannel::bridge_netfilter(steps),
            None => Ok(()),
        }
    }

    fn host_process_objects(&self, cluster: &Cluster, server: &Server) -> Vec<Value> {
        host_process::flannel::objects(cluster, server)
    }

    fn unsupported(&self, _: &Cluster) -> Option<Unsupported> {
        Some(("mode", NetworkMode::FlannelHostGw.to_string(), OTHER_MODES))
    }
}
