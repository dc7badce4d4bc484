//! Renders every file, flag and network document of a host as text.
//!
//! Uses the same functions as the documents of a plan; values that are known only after the
//! join have a placeholder.

use casement_net::Deferred;
use casement_net::pod_network::PodNetwork;
use casement_spec::{Cluster, Host};

use crate::facts::ClusterFacts;
use crate::kubelet::Kubelet;
use crate::node_paths::NodePaths;
use crate::release::Release;
use crate::steps::PlanError;

mod environment;
mod network;
mod node;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Flannel,
    Cni,
    Hns,
    Routes,
    Kubelet,
    KubeProxy,
    Containerd,
    /// In the order of their start.
    Services,
    Firewall,
    Defender,
    Env,
    Kubeadm,
}

impl Kind {
    /// In the order of `render all`.
    pub const NAMED: [(&'static str, Self); 12] = [
        ("flannel", Self::Flannel),
        ("cni", Self::Cni),
        ("hns", Self::Hns),
        ("routes", Self::Routes),
        ("kubelet", Self::Kubelet),
        ("kube-proxy", Self::KubeProxy),
        ("containerd", Self::Containerd),
        ("services", Self::Services),
        ("firewall", Self::Firewall),
        ("defender", Self::Defender),
        ("env", Self::Env),
        ("kubeadm", Self::Kubeadm),
    ];

    pub fn name(self) -> &'static str {
        let mut named = Self::NAMED.iter();
        let own = named.find(|(_, kind)| *kind == self);
        own.map_or("", |(name, _)| name)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rendered {
    /// Relative: `windows01/cni/…`, `cluster/…`.
    pub path: String,
    pub text: String,
}

/// The files of one host, or of the cluster and all its hosts, in a deterministic order.
///
/// # Errors
/// The spec has unsupported values, such as an unknown Kubernetes version.
pub fn render(
    cluster: &Cluster,
    kinds: &[Kind],
    host: Option<&Host>,
    facts: &ClusterFacts,
) -> Result<Vec<Rendered>, PlanError> {
    let release = Release::of(cluster)?;
    let mut files = Vec::new();
    if host.is_none() && kinds.contains(&Kind::Flannel) {
        let cluster_files = network::flannel_objects(cluster);
        files.extend(in_folder("cluster", Kind::Flannel, cluster_files));
    }
    let all = cluster.spec.hosts.iter();
    let chosen = all.filter(|one| host.is_none_or(|host| host.name == one.name));
    let pods: std::collections::BTreeMap<&str, ipnet::Ipv4Net> = facts
        .nodes
        .iter()
        .filter_map(|node| Some((node.name.as_str(), node.pods?)))
        .collect();
    for one in chosen {
        release.check(one)?;
        let paths = NodePaths::of(cluster, one, release);
        let own = pods.get(one.name.as_str()).copied();
        let host_files = HostFiles {
            kubelet: Kubelet {
                cluster,
                host: one,
                release,
                paths: &paths,
            },
            pods: own.map(PodNetwork::new).transpose()?.into(),
            facts,
            single: host.is_some(),
        };
        for kind in kinds {
            files.extend(in_folder(
                one.name.as_str(),
                *kind,
                host_files.files(*kind)?,
            ));
        }
    }
    Ok(files)
}

/// File name and text.
type Named = (String, String);

fn in_folder(folder: &str, kind: Kind, files: Vec<Named>) -> impl Iterator<Item = Rendered> {
    files.into_iter().map(move |(name, text)| Rendered {
        path: format!("{folder}/{}/{name}", kind.name()),
        text,
    })
}

/// One host with everything that its files depend on.
struct HostFiles<'a> {
    kubelet: Kubelet<'a>,
    pods: Deferred<PodNetwork>,
    facts: &'a ClusterFacts,
    /// Whether only this host is rendered.
    single: bool,
}

impl HostFiles<'_> {
    fn files(&self, kind: Kind) -> Result<Vec<Named>, PlanError> {
        Ok(match kind {
            Kind::Flannel => self.flannel(),
            Kind::Cni => self.cni(),
            Kind::Hns => self.hns()?,
            Kind::Routes => self.routes(),
            Kind::Kubelet => self.kubelet(),
            Kind::KubeProxy => self.kube_proxy(),
            Kind::Containerd => self.containerd(),
            Kind::Services => self.services()?,
            Kind::Firewall => self.firewall(),
            Kind::Defender => self.defender(),
            Kind::Env => self.env()?,
            Kind::Kubeadm => self.kubeadm()?,
        })
    }

    fn windows(&self) -> bool {
        self.kubelet.host.os.is_windows()
    }
}

fn document<T: serde::Serialize>(name: &str, document: &T) -> Named {
    (name.to_owned(), casement_net::text(document))
}

/// With the line ending of the operating system.
fn lines(name: &str, lines: &[String], windows: bool) -> Named {
    let end = if windows { "\r\n" } else { "\n" };
    let text = lines.iter().map(|line| format!("{line}{end}")).collect();
    (name.to_owned(), text)
}
