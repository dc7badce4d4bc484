//! `render flannel`, `cni`, `hns` and `routes`.

use casement_net::Deferred;
use casement_net::cni::Dialect;
use casement_net::flannel::objects::{ConfigMapPatch, DaemonSetPatch};
use casement_net::hns::{
    Endpoint, EndpointV1, Modify, Network, NetworkPolicy, NetworkSpec, NetworkV1,
    RemoteSubnetRoute, Request,
};
use casement_net::routes::{Commands, RouteTable};
use casement_spec::Cluster;

use super::{HostFiles, Named, document, lines};
use crate::release::is_docker_only;
use crate::{modes, pods};

pub(super) fn flannel_objects(cluster: &Cluster) -> Vec<Named> {
    let (Some(net_conf), Some(cni_conf)) = (pods::net_conf(cluster), pods::cni_conf(cluster))
    else {
        return Vec::new();
    };
    vec![
        document("net-conf.json", &net_conf),
        document("cni-conf.json", &cni_conf),
        document(
            "kube-flannel-cfg.patch.json",
            &ConfigMapPatch::new(&net_conf, &cni_conf),
        ),
        document("kube-flannel-ds.patch.json", &DaemonSetPatch::linux_only()),
    ]
}

impl HostFiles<'_> {
    pub(super) fn flannel(&self) -> Vec<Named> {
        let cluster = self.kubelet.cluster;
        // On Linux it comes from the ConfigMap; without a host it is the same for all.
        let shown = self.windows() || self.single;
        let net_conf = pods::net_conf(cluster).filter(|_| shown);
        let net_conf = net_conf.map(|net_conf| document("net-conf.json", &net_conf));
        net_conf.into_iter().collect()
    }

    pub(super) fn cni(&self) -> Vec<Named> {
        let (cluster, host) = (self.kubelet.cluster, self.kubelet.host);
        let text = pods::conflist(cluster, host, self.kubelet.release, self.pods, self.facts);
        let name = modes::of(cluster).conflist_name(host).to_owned();
        text.map(|text| (name, text)).into_iter().collect()
    }

    pub(super) fn hns(&self) -> Vec<Named> {
        if !self.windows() {
            return Vec::new();
        }
        let cluster = self.kubelet.cluster;
        let networks = pods::hns_networks(cluster, self.kubelet.host, self.pods);
        let mut files: Vec<Named> = networks.iter().map(|one| self.network(one)).collect();
        if pods::has_bridge(cluster) {
            files.push(self.endpoint(cluster.spec.network.hns_network.as_str()));
        }
        files
    }

    fn network(&self, spec: &NetworkSpec) -> Named {
        let name = format!("{}.json", spec.name);
        if self.uses_hns_v1() {
            document(&name, &NetworkV1::from(spec))
        } else {
            document(&name, &Network::from(spec))
        }
    }

    fn endpoint(&self, network: &str) -> Named {
        let name = format!("{network}_ep.json");
        if self.uses_hns_v1() {
            document(&name, &EndpointV1::gateway(network, self.pods))
        } else {
            document(&name, &Endpoint::gateway(network, self.pods))
        }
    }

    /// The HNS v1 API is used by Docker, by flanneld's host-gw backend, and on Windows
    /// releases without the v2 API.
    fn uses_hns_v1(&self) -> bool {
        let (cluster, host) = (self.kubelet.cluster, self.kubelet.host);
        modes::of(cluster).needs_hns_v1()
            || is_docker_only(host.os)
            || pods::dialect(self.kubelet.release) == Dialect::Hns
    }

    pub(super) fn routes(&self) -> Vec<Named> {
        let (cluster, host) = (self.kubelet.cluster, self.kubelet.host);
        let table = pods::route_table(cluster, host, self.facts);
        let mut files = vec![document("routes.json", &table)];
        let interface = pods::interface(cluster, host);
        for commands in Commands::of(table.system) {
            let text = commands.lines(&table, interface);
            files.push(lines(commands.file_name(), &text, self.windows()));
        }
        files.extend(self.remote_subnets(&table));
        files
    }

    /// On a Windows overlay, HNS policies take the place of routes.
    fn remote_subnets(&self, table: &RouteTable) -> Option<Named> {
        let network = &self.kubelet.cluster.spec.network;
        let vxlan = network.backend.vxlan()?;
        if !self.windows() || !modes::of(self.kubelet.cluster).has_remote_subnets() {
            return None;
        }
        let policies = table.routes.iter().map(|route| {
            NetworkPolicy::RemoteSubnetRoute(RemoteSubnetRoute {
                destination_prefix: route.destination,
                isolation_id: vxlan.vni.get(),
                provider_address: route.address,
                distributed_router_mac_address: Deferred::AfterJoin,
            })
        });
        let request = Modify::policies(Request::Add, policies.collect());
        Some(document("remote-subnets.json", &request))
    }
}
