//! `calico-vxlan`: Calico's own agent creates the network on every host; on Windows it runs
//! in HostProcess containers.

use std::net::IpAddr;

use casement_net::Deferred;
use casement_net::cni::{Calico, Conflist, Plugin, WindowsPods};
use casement_net::pod_network::PodNetwork;
use casement_net::routes::Carrier;
use casement_spec::{Cluster, Host, NetworkMode, Program, Vxlan, WindowsComponents};
use serde_json::Value;

use super::{Mode, Unsupported};
use crate::facts::ClusterFacts;
use crate::host_process::{self, Server};
use crate::kubelet::Kubelet;
use crate::steps::{PlanError, Steps};
use crate::unsupported::OTHER_MODES;

pub(super) struct CalicoVxlan {
    pub(super) vxlan: Vxlan,
}

impl Mode for CalicoVxlan {
    fn carrier(&self) -> Carrier {
        Carrier::CalicoVxlan {
            vni: self.vxlan.vni.get(),
        }
    }

    fn conflist_name(&self, _: &Host) -> &'static str {
        "10-calico.conflist"
    }

    fn windows_conflist(
        &self,
        windows: &WindowsPods<'_>,
        _: Deferred<PodNetwork>,
        cluster: &Cluster,
        host: &Host,
    ) -> Conflist<Plugin> {
        let kubernetes = &cluster.spec.kubernetes;
        let services = kubernetes.service_cidr.net();
        let dns = match kubernetes.dns() {
            IpAddr::V4(dns) => dns,
            // Windows pods use DNS over IPv4; kubeadm assigns the tenth address in each
            // family.
            IpAddr::V6(_) => u32::from(services.network()).saturating_add(10).into(),
        };
        let (vni, domain) = (self.vxlan.vni.get(), kubernetes.domain());
        windows.calico(Calico::vxlan(
            vni,
            host.name.as_str(),
            services,
            dns,
            domain.as_str(),
        ))
    }

    /// Calico's DaemonSet installs its own plugins.
    fn plugins(&self) -> Vec<Program> {
        Vec::new()
    }

    fn writes_windows_conflist(&self) -> bool {
        false
    }

    fn windows_steps(
        &self,
        _: &mut Steps,
        _: &Kubelet<'_>,
        _: PodNetwork,
        _: &ClusterFacts,
    ) -> Result<Vec<String>, PlanError> {
        Ok(Vec::new())
    }

    fn host_process_objects(&self, cluster: &Cluster, server: &Server) -> Vec<Value> {
        host_process::calico::objects(cluster, server)
    }

    fn kube_proxy_flavor(&self) -> &'static str {
        "calico"
    }

    fn unsupported(&self, cluster: &Cluster) -> Option<Unsupported> {
        let services = cluster.spec.windows.components == WindowsComponents::Services;
        services.then(|| ("mode", NetworkMode::CalicoVxlan.to_string(), OTHER_MODES))
    }
}
