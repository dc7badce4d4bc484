//! What rules are given: everything, sorted by what it is.

use std::collections::BTreeMap;
use std::net::IpAddr;

use casement_diag::{Diagnostic, FieldPath, Source};
use casement_source::SourceMap;
use casement_source::foreign::{Foreign, Value};
use casement_spec::{Cluster, Host, HostName, HostOs};
use ipnet::IpNet;

use crate::cni::Cni;
use crate::kind::{Kind, kind};
use crate::pod::Pod;
use crate::said::Said;

/// A cluster file that was read without an error.
#[derive(Debug, Clone, Copy)]
pub struct SpecFile<'a> {
    /// What it says.
    pub cluster: &'a Cluster,
    /// Where it says so.
    pub map: &'a SourceMap,
}

/// What is linted.
#[derive(Debug, Clone, Copy)]
pub struct Input<'a> {
    /// The cluster file, where one is given.
    pub spec: Option<SpecFile<'a>>,
    /// The files of other tools.
    pub files: &'a [Foreign],
}

impl<'a> Input<'a> {
    /// The texts that findings point into, the cluster file first.
    pub fn sources(&self) -> Vec<&'a dyn Source> {
        let spec = self.spec.iter().map(|spec| spec.map as &dyn Source);
        let files = self.files.iter().map(|file| file.map() as &dyn Source);
        spec.chain(files).collect()
    }
}

/// What is linted, sorted.
#[derive(Debug)]
pub(crate) struct Context<'a> {
    pub(crate) spec: Option<SpecFile<'a>>,
    pub(crate) files: &'a [Foreign],
    pub(crate) objects: Vec<Value<'a>>,
    pub(crate) pods: Vec<Pod<'a>>,
    pub(crate) cni: Vec<Cni<'a>>,
    pub(crate) kubelets: Vec<Value<'a>>,
    pub(crate) proxies: Vec<Value<'a>>,
    pub(crate) net_confs: Vec<Value<'a>>,
    pub(crate) containerds: Vec<Value<'a>>,
    pub(crate) kubeadm: Vec<Value<'a>>,
    /// The lines of scripts.
    pub(crate) commands: Vec<Value<'a>>,
    pub(crate) unknown: Vec<Value<'a>>,
}

impl<'a> Context<'a> {
    pub(crate) fn new(input: &Input<'a>) -> Self {
        let mut context = Self {
            spec: input.spec,
            files: input.files,
            objects: Vec::new(),
            pods: Vec::new(),
            cni: Vec::new(),
            kubelets: Vec::new(),
            proxies: Vec::new(),
            net_confs: Vec::new(),
            containerds: Vec::new(),
            kubeadm: Vec::new(),
            commands: Vec::new(),
            unknown: Vec::new(),
        };
        for file in input.files {
            for document in file.documents() {
                context.sort(document);
            }
        }
        let pods = context
            .objects
            .iter()
            .filter_map(|o| Pod::new(o, &context.objects));
        context.pods = pods.collect();
        context
    }

    fn sort(&mut self, document: Value<'a>) {
        match kind(&document) {
            Kind::Object
                if document
                    .get("kind")
                    .is_some_and(|kind| kind.text() == Some("List")) =>
            {
                let items = document.get("items").map(|items| items.items());
                self.objects.extend(items.unwrap_or_default());
            }
            Kind::Object => self.objects.push(document),
            Kind::Cni => self.cni.push(Cni::new(document)),
            Kind::Kubelet => self.kubelets.push(document),
            Kind::KubeProxy => self.proxies.push(document),
            Kind::NetConf => self.net_confs.push(document),
            Kind::Containerd => self.containerds.push(document),
            Kind::Kubeadm => self.kubeadm.push(document),
            Kind::Script => self.commands.extend(document.items()),
            // A text within a ConfigMap may be anything.
            Kind::Unknown if document.path().is_root() => self.unknown.push(document),
            Kind::Unknown => {}
        }
    }

    /// Objects of that kind.
    pub(crate) fn of_kind<'c>(&'c self, name: &'c str) -> impl Iterator<Item = &'c Value<'a>> {
        let is = move |object: &&Value<'a>| {
            object
                .get("kind")
                .is_some_and(|kind| kind.text() == Some(name))
        };
        self.objects.iter().filter(is)
    }

    /// kubeadm's documents of that kind.
    pub(crate) fn kubeadm_kind<'c>(&'c self, name: &'c str) -> impl Iterator<Item = &'c Value<'a>> {
        let is = move |document: &&Value<'a>| {
            document
                .get("kind")
                .is_some_and(|kind| kind.text() == Some(name))
        };
        self.kubeadm.iter().filter(is)
    }

    /// Whether there are Windows nodes. Without a cluster file there are: nobody
    /// else lints with casement.
    pub(crate) fn has_windows(&self) -> bool {
        self.spec
            .is_none_or(|spec| spec.cluster.windows_hosts().next().is_some())
    }

    /// The minor version of Kubernetes, where somebody says it.
    pub(crate) fn minor(&self) -> Option<(u64, u64)> {
        if let Some(spec) = self.spec {
            return Some(spec.cluster.spec.kubernetes.version.minor());
        }
        let mut said = self.kubeadm_kind("ClusterConfiguration");
        said.find_map(|document| minor(document.get("kubernetesVersion")?.text()?))
    }

    /// Who says what the pods' network is; the cluster file first.
    pub(crate) fn pod_networks(&self) -> Vec<Said> {
        let mut said = Vec::new();
        said.extend(self.spec_said("kubernetes.podCidr", |c| {
            c.spec.kubernetes.pod_cidr.to_string()
        }));
        for document in self.kubeadm_kind("ClusterConfiguration") {
            let value = document.at("networking.podSubnet");
            said.extend(value.and_then(|v| Said::by("kubeadm's `podSubnet`", &v)));
        }
        for document in &self.net_confs {
            let value = document.get_any_case("Network");
            said.extend(value.and_then(|v| Said::by("flannel's `Network`", &v)));
        }
        for document in &self.proxies {
            let value = document.get("clusterCIDR");
            said.extend(value.and_then(|v| Said::by("kube-proxy's `clusterCIDR`", &v)));
        }
        said
    }

    /// Who says what the services' network is; the cluster file first.
    pub(crate) fn service_networks(&self) -> Vec<Said> {
        let mut said = Vec::new();
        let service = |c: &Cluster| c.spec.kubernetes.service_cidr.to_string();
        said.extend(self.spec_said("kubernetes.serviceCidr", service));
        for document in self.kubeadm_kind("ClusterConfiguration") {
            let value = document.at("networking.serviceSubnet");
            said.extend(value.and_then(|v| Said::by("kubeadm's `serviceSubnet`", &v)));
        }
        said
    }

    /// The hosts of the cluster file, and where they are.
    pub(crate) fn hosts(&self) -> Vec<(String, IpAddr)> {
        let hosts = self.spec.iter().flat_map(|spec| &spec.cluster.spec.hosts);
        hosts
            .map(|host| (host.name.to_string(), IpAddr::V4(host.address)))
            .collect()
    }

    /// The finding with a label at the host that has this address.
    pub(crate) fn host_label(&self, finding: Diagnostic, address: IpAddr) -> Diagnostic {
        let Some(spec) = self.spec else {
            return finding;
        };
        let at = self.hosts().iter().position(|(_, other)| *other == address);
        let hosts = FieldPath::root().field("spec").field("hosts");
        let path = hosts.index(at.unwrap_or_default()).field("address");
        finding.label_in(spec.map.name(), path, "this host")
    }

    /// The builds of Windows that the cluster file tells, each with the hosts
    /// that have it: `windows01`, or `windows01 (and 3 more)`.
    pub(crate) fn windows_builds(&self) -> Vec<(String, u32)> {
        let mut builds: Vec<(&HostName, usize, u32)> = Vec::new();
        for host in self
            .spec
            .iter()
            .flat_map(|spec| spec.cluster.windows_hosts())
        {
            let Some(build) = build(host.os) else {
                continue;
            };
            match builds.iter_mut().find(|(_, _, known)| *known == build) {
                Some((_, more, _)) => *more += 1,
                None => builds.push((&host.name, 0, build)),
            }
        }
        let title = |name: &HostName, more| match more {
            0 => name.to_string(),
            more => format!("{name} (and {more} more)"),
        };
        builds
            .into_iter()
            .map(|(name, more, build)| (title(name, more), build))
            .collect()
    }

    /// Whether the cluster file keeps pods away from all of its Windows nodes,
    /// unless they ask for them.
    pub(crate) fn windows_is_tainted(&self) -> bool {
        self.spec.is_some_and(|spec| {
            let mut hosts = spec.cluster.windows_hosts();
            hosts.all(|host| {
                host.taints
                    .iter()
                    .any(|taint| taint.to_string().starts_with("os=windows:"))
            })
        })
    }

    /// Whether the cluster file asks for an overlay.
    pub(crate) fn is_overlay(&self) -> bool {
        self.spec
            .is_some_and(|spec| spec.cluster.spec.network.mode().is_vxlan())
    }

    /// The Windows hosts of each release, with their numbers in the file.
    pub(crate) fn windows_by_os(&self) -> BTreeMap<HostOs, Vec<(usize, &'a Host)>> {
        let mut all: BTreeMap<HostOs, Vec<_>> = BTreeMap::new();
        if let Some(spec) = self.spec {
            let hosts = spec.cluster.spec.hosts.iter().enumerate();
            for (index, host) in hosts.filter(|(_, host)| host.os.is_windows()) {
                all.entry(host.os).or_default().push((index, host));
            }
        }
        all
    }

    /// The pause image that the cluster file names.
    pub(crate) fn spec_pause(&self) -> Option<Said> {
        let pause = self.spec?.cluster.spec.images.pause.as_ref()?;
        self.spec_said("images.pause", |_| pause.to_string())
    }

    /// The DNS server that the cluster file means.
    pub(crate) fn spec_dns(&self) -> Option<Said> {
        self.spec_said("kubernetes.dnsIp", |c| c.spec.kubernetes.dns().to_string())
    }

    /// The cluster domain that the cluster file names; an existing cluster has its
    /// own otherwise.
    pub(crate) fn spec_domain(&self) -> Option<Said> {
        let domain = self.spec?.cluster.spec.kubernetes.cluster_domain.as_ref()?;
        self.spec_said("kubernetes.clusterDomain", |_| domain.to_string())
    }

    /// The HNS network that the cluster file means.
    pub(crate) fn spec_hns_network(&self) -> Option<Said> {
        self.spec_said("network.hnsNetwork", |c| {
            c.spec.network.hns_network.to_string()
        })
    }

    /// The path of a field of the cluster file, names separated by dots.
    pub(crate) fn spec_path(&self, field: &str) -> FieldPath {
        let spec = FieldPath::root().field("spec");
        field.split('.').fold(spec, |path, name| path.field(name))
    }

    /// The path of a host of the cluster file.
    pub(crate) fn host_path(&self, index: usize) -> FieldPath {
        self.spec_path("hosts").index(index)
    }

    /// The finding with a label at a field of the cluster file, if the file has
    /// it.
    pub(crate) fn spec_label(&self, finding: Diagnostic, field: &str, text: &str) -> Diagnostic {
        match self.spec {
            Some(spec) => finding.label_in(spec.map.name(), self.spec_path(field), text),
            None => finding,
        }
    }

    /// What a field of the cluster file says.
    pub(crate) fn spec_said(
        &self,
        field: &str,
        value: impl Fn(&Cluster) -> String,
    ) -> Option<Said> {
        let spec = self.spec?;
        let path = self.spec_path(field);
        Some(Said {
            who: format!("`{field}`"),
            value: value(spec.cluster),
            file: spec.map.name().to_owned(),
            path,
            written: true,
        })
    }
}

/// The build of a Windows Server.
pub(crate) fn build(os: HostOs) -> Option<u32> {
    match os {
        HostOs::Windows2016 => Some(14393),
        HostOs::Windows1709 => Some(16299),
        HostOs::Windows1803 => Some(17134),
        HostOs::Windows2019 => Some(17763),
        HostOs::Windows2022 => Some(20348),
        HostOs::Windows2025 => Some(26100),
        _ => None,
    }
}

/// The minor version in a text such as `v1.36.3`.
pub(crate) fn minor(text: &str) -> Option<(u64, u64)> {
    let mut numbers = text.strip_prefix('v').unwrap_or(text).split('.');
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

/// The networks in a text that may hold one for each address family.
pub(crate) fn networks(text: &str) -> Vec<IpNet> {
    text.split(',')
        .filter_map(|part| part.trim().parse().ok())
        .collect()
}

/// Whether the two are the same networks, however they are written.
pub(crate) fn same_networks(one: &str, other: &str) -> bool {
    one == other || (!networks(one).is_empty() && networks(one) == networks(other))
}
