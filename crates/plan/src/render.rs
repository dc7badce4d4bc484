//! Every file, flag and network document that a host would get, as text.
//!
//! Made by the functions that the plan's documents are made by; where a value is
//! known only after the join, the text says so in its place.

use casement_net::Late;
use casement_net::pod_network::PodNetwork;
use casement_spec::{Cluster, Host};

use crate::facts::ClusterFacts;
use crate::kubelet::Kubelet;
use crate::places::Places;
use crate::release::Release;
use crate::steps::PlanError;

#[path = "render/environment.rs"]
mod around;
mod network;
mod node;

/// What can be shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// flannel's documents, for the cluster and for Windows hosts.
    Flannel,
    /// The conflist of the container runtime.
    Cni,
    /// The networks of the Host Networking Service.
    Hns,
    /// The ways to the pods of all other hosts.
    Routes,
    /// The kubelet's configuration and flags.
    Kubelet,
    /// kube-proxy's configuration.
    KubeProxy,
    /// containerd's configuration.
    Containerd,
    /// The services, in the order of their start.
    Services,
    /// What may come in.
    Firewall,
    /// What Windows Defender leaves alone.
    Defender,
    /// Search path and variables.
    Env,
    /// kubeadm's join configuration.
    Kubeadm,
}

impl Kind {
    /// All of them with their names, in the order in which `all` shows them.
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

    /// Its name.
    pub fn name(self) -> &'static str {
        let mut named = Self::NAMED.iter();
        let own = named.find(|(_, kind)| *kind == self);
        own.map_or("", |(name, _)| name)
    }
}

/// A file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rendered {
    /// Below the folder that the person names: `windows01/cni/…`, `cluster/…`.
    pub path: String,
    /// What is in it.
    pub text: String,
}

/// The files of some kinds, for one host or for the cluster and all its hosts,
/// in an order that depends on the spec alone.
///
/// # Errors
/// When the spec asks for what cannot be, such as a version that is not covered.
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
        files.extend(placed("cluster", Kind::Flannel, cluster_files));
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
        let places = Places::of(cluster, one, release);
        let own = pods.get(one.name.as_str()).copied();
        let site = Site {
            kubelet: Kubelet {
                cluster,
                host: one,
                release,
                places: &places,
            },
            pods: own.map(PodNetwork::new).transpose()?.into(),
            facts,
            alone: host.is_some(),
        };
        for kind in kinds {
            files.extend(placed(one.name.as_str(), *kind, site.files(*kind)?));
        }
    }
    Ok(files)
}

/// A name and a text, before they have a folder.
type Named = (String, String);

fn placed(folder: &str, kind: Kind, files: Vec<Named>) -> impl Iterator<Item = Rendered> {
    files.into_iter().map(move |(name, text)| Rendered {
        path: format!("{folder}/{}/{name}", kind.name()),
        text,
    })
}

/// One host, with all that its files depend on.
struct Site<'a> {
    kubelet: Kubelet<'a>,
    pods: Late<PodNetwork>,
    facts: &'a ClusterFacts,
    /// Whether only this host was asked for.
    alone: bool,
}

impl Site<'_> {
    fn files(&self, kind: Kind) -> Result<Vec<Named>, PlanError> {
        Ok(match kind {
            Kind::Flannel => self.flannel(),
            Kind::Cni => self.cni(),
            Kind::Hns => self.hns(),
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

/// A document under a name.
fn document<T: serde::Serialize>(name: &str, document: &T) -> Named {
    (name.to_owned(), casement_net::text(document))
}

/// Lines under a name, each ended as the system that reads them ends lines.
fn lines(name: &str, lines: &[String], windows: bool) -> Named {
    let end = if windows { "\r\n" } else { "\n" };
    let text = lines.iter().map(|line| format!("{line}{end}")).collect();
    (name.to_owned(), text)
}
