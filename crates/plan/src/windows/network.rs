//! Stage network: everything that needs the pod network of the node.

use casement_net::Deferred;
use casement_net::pod_network::PodNetwork;
use casement_resource::service_names::KUBE_PROXY;
use casement_resource::step_ids::{CNI, PROXY_CONFIG};
use casement_resource::{Kubeconfig, NodeDocument, Resource, Run, Stage};
use casement_spec::{Cluster, Host, WindowsComponents};

use super::repair;
use crate::facts::ClusterFacts;
use crate::kube_proxy::KubeProxy;
use crate::kubelet::Kubelet;
use crate::node_paths::NodePaths;
use crate::release::Release;
use crate::services::{self, file, service};
use crate::steps::{PlanError, Steps, path};
use crate::{modes, pods};

pub fn network(
    cluster: &Cluster,
    host: &Host,
    facts: &ClusterFacts,
) -> Result<NodeDocument, PlanError> {
    let release = Release::of(cluster)?;
    release.check(host)?;
    let paths = NodePaths::of(cluster, host, release);
    let kubelet = Kubelet {
        cluster,
        host,
        release,
        paths: &paths,
    };
    let name = host.name.as_str();
    let Deferred::Known(pods) = pods::of_host(host, facts)? else {
        return Err(PlanError::NoPodNetwork(name.to_owned()));
    };
    let mut steps = Steps::default();
    // The same step as in stage prepare. kubeadm has started the kubelet since then, so a
    // stopped one is drift.
    let definition = services::kubelet(&kubelet)?;
    service(&mut steps, &[], definition, Run::Running, &[])?;
    let mode = modes::of(cluster);
    let network = mode.windows_steps(&mut steps, &kubelet, pods, facts)?;
    let network: Vec<&str> = network.iter().map(String::as_str).collect();
    if mode.writes_windows_conflist() {
        let conflist = pods::conflist(cluster, host, release, Deferred::Known(pods), facts);
        let path = paths.below(paths.cni_configuration, &[mode.conflist_name(host)]);
        // Last: the kubelet reports the node as ready when this file exists.
        file(
            &mut steps,
            CNI,
            &network,
            &path,
            conflist.unwrap_or_default(),
        )?;
    }
    if cluster.spec.windows.components == WindowsComponents::Services {
        kube_proxy(&mut steps, &kubelet, facts, pods, &network)?;
    }
    let document = steps.finish(name, Stage::Network)?;
    Ok(document.with_repair(repair(cluster)))
}

/// A kubeconfig with the kubelet's own client certificate.
pub(crate) fn node_identity(
    steps: &mut Steps,
    kubelet: &Kubelet<'_>,
    facts: &ClusterFacts,
    program: &str,
) -> Result<(), PlanError> {
    let paths = kubelet.paths;
    let file_name = format!("{program}.kubeconfig");
    let certificate = paths.in_kubelet(&["pki", "kubelet-client-current.pem"]);
    let identity = Kubeconfig {
        path: path(&paths.below(&paths.programs, &[&file_name]))?,
        server: format!("https://{}", facts.api_server),
        ca: facts.ca.clone(),
        client_certificate: path(&certificate)?,
    };
    let id = format!("{program}-kubeconfig");
    let id = id.strip_prefix("kube-").unwrap_or(&id);
    steps.add(id, &[], Resource::Kubeconfig(identity))
}

fn kube_proxy(
    steps: &mut Steps,
    kubelet: &Kubelet<'_>,
    facts: &ClusterFacts,
    pods: PodNetwork,
    network: &[&str],
) -> Result<(), PlanError> {
    let (cluster, paths) = (kubelet.cluster, kubelet.paths);
    node_identity(steps, kubelet, facts, KUBE_PROXY)?;
    let kubeconfig = paths.below(&paths.programs, &["kube-proxy.kubeconfig"]);
    let vip = Deferred::Known(pods.host());
    let proxy = KubeProxy::new(cluster, kubelet.host, kubelet.release, vip, &kubeconfig);
    let configuration = paths.below(&paths.programs, &["kube-proxy.json"]);
    file(steps, PROXY_CONFIG, &[], &configuration, proxy.text())?;
    let mut after = vec![PROXY_CONFIG, "proxy-kubeconfig"];
    let restart_on = after.clone();
    after.extend(network);
    let definition = services::kube_proxy(kubelet)?;
    service(steps, &after, definition, Run::Running, &restart_on)
}
