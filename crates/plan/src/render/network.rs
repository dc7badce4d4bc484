//! `render flannel`, `cni`, `hns` and `routes`.

use casement_net::Deferred;
use casement_net::flannel::objects::{ConfigMapPatch, DaemonSetPatch};
use casement_net::hns::{
    AddRemoteSubnets, AttachToHost, Endpoint, EndpointSpec, EndpointV1, Network, NetworkSpec,
    NetworkV1, RemoteSubnet,
};
use casement_net::routes::{Commands, RouteTable};
use casement_spec::Cluster;

use super::{HostFiles, Named, document, lines};
use crate::release::is_docker_only;
use crate::steps::PlanError;
use crate::{hns, modes, pods};

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

    /// The documents that the agent sends to HNS.
    pub(super) fn hns(&self) -> Result<Vec<Named>, PlanError> {
        if !self.windows() {
            return Ok(Vec::new());
        }
        let cluster = self.kubelet.cluster;
        let networks = hns::networks(cluster, self.pods);
        let networks = networks.iter().map(|network| self.network(network));
        let mut files = networks.collect::<Result<Vec<_>, _>>()?;
        if let Some(endpoint) = modes::of(cluster).hns_endpoint(cluster, self.pods) {
            files.extend(self.endpoint(&endpoint));
        }
        Ok(files)
    }

    fn network(&self, spec: &NetworkSpec) -> Result<Named, PlanError> {
        let (cluster, host) = (self.kubelet.cluster, self.kubelet.host);
        let name = format!("{}.json", spec.name);
        if !is_docker_only(host.os) {
            return Ok(document(&name, &Network::from(spec)));
        }
        let first = NetworkV1::try_from(spec).map_err(|_| PlanError::NoOverlay {
            host: host.name.to_string(),
            os: host.os,
            mode: cluster.spec.network.mode(),
        })?;
        Ok(document(&name, &first))
    }

    /// The endpoint of the host, and the request that attaches it.
    fn endpoint(&self, spec: &EndpointSpec) -> [Named; 2] {
        let name = format!("{}.json", spec.name);
        let endpoint = if is_docker_only(self.kubelet.host.os) {
            document(&name, &EndpointV1::from(spec))
        } else {
            document(&name, &Endpoint::from(spec))
        };
        let attach = format!("{}-attach.json", spec.name);
        [
            endpoint,
            document(&attach, &AttachToHost::DEFAULT_COMPARTMENT),
        ]
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
        let subnets = table.routes.iter().map(|route| RemoteSubnet {
            destination: route.destination,
            vni: vxlan.vni.get(),
            node: route.address,
            router_mac: Deferred::AfterJoin,
        });
        let request = AddRemoteSubnets::new(subnets);
        Some(document("remote-subnets.json", &request))
    }
}
