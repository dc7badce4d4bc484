//! The kinds `flannel`, `cni`, `hns` and `routes`.

use casement_net::Late;
use casement_net::cni::Dialect;
use casement_net::flannel::objects::{ConfigMapPatch, DaemonSetPatch};
use casement_net::hns::{
    Endpoint, FirstEndpoint, FirstNetwork, Modify, Network, NetworkPolicy, RemoteSubnetRoute,
    Request, Wanted,
};
use casement_net::routes::{Commands, RouteTable};
use casement_spec::{Backend, Cluster, HostOs, NetworkAgent, NetworkMode};

use super::{Named, Site, document, lines};
use crate::pods;

/// flannel's documents, and the patches of its objects.
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

impl Site<'_> {
    pub(super) fn flannel(&self) -> Vec<Named> {
        let cluster = self.kubelet.cluster;
        // On Linux the ConfigMap brings it; without a host all are the same.
        let shown = self.windows() || self.alone;
        let net_conf = pods::net_conf(cluster).filter(|_| shown);
        let net_conf = net_conf.map(|net_conf| document("net-conf.json", &net_conf));
        net_conf.into_iter().collect()
    }

    pub(super) fn cni(&self) -> Vec<Named> {
        let (cluster, host) = (self.kubelet.cluster, self.kubelet.host);
        let text = pods::conflist(cluster, host, self.kubelet.release, self.pods, self.facts);
        let name = pods::conflist_name(cluster, host).to_owned();
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

    fn network(&self, wanted: &Wanted) -> Named {
        let name = format!("{}.json", wanted.name);
        if self.first_interface() {
            document(&name, &FirstNetwork::from(wanted))
        } else {
            document(&name, &Network::from(wanted))
        }
    }

    fn endpoint(&self, network: &str) -> Named {
        let name = format!("{network}_ep.json");
        if self.first_interface() {
            document(&name, &FirstEndpoint::gateway(network, self.pods))
        } else {
            document(&name, &Endpoint::gateway(network, self.pods))
        }
    }

    /// Whether the networks are made through HNS's first interface: by Docker's
    /// path, by flanneld's `host-gw`, and on Windows that has no other.
    fn first_interface(&self) -> bool {
        let (cluster, host) = (self.kubelet.cluster, self.kubelet.host);
        let flannel = matches!(
            cluster.spec.network.backend,
            Backend::FlannelHostGw {
                agent: NetworkAgent::Flannel
            }
        );
        let old = matches!(
            host.os,
            HostOs::Windows2016 | HostOs::Windows1709 | HostOs::Windows1803
        );
        flannel || old || pods::dialect(self.kubelet.release) == Dialect::Hns
    }

    pub(super) fn routes(&self) -> Vec<Named> {
        let (cluster, host) = (self.kubelet.cluster, self.kubelet.host);
        let table = pods::table(cluster, host, self.facts);
        let mut files = vec![document("routes.json", &table)];
        let interface = pods::interface(cluster, host);
        for way in Commands::of(table.system) {
            let text = way.lines(&table, interface);
            files.push(lines(way.file_name(), &text, self.windows()));
        }
        files.extend(self.remote_subnets(&table));
        files
    }

    /// What stands in for routes on an overlay of Windows.
    fn remote_subnets(&self, table: &RouteTable) -> Option<Named> {
        let network = &self.kubelet.cluster.spec.network;
        let vxlan = network.backend.vxlan()?;
        if !self.windows() || network.mode() == NetworkMode::CalicoVxlan {
            return None;
        }
        let policies = table.routes.iter().map(|route| {
            NetworkPolicy::RemoteSubnetRoute(RemoteSubnetRoute {
                destination_prefix: route.destination,
                isolation_id: vxlan.vni.get(),
                provider_address: route.address,
                distributed_router_mac_address: Late::AfterJoin,
            })
        });
        let request = Modify::policies(Request::Add, policies.collect());
        Some(document("remote-subnets.json", &request))
    }
}
