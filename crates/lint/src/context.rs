//! The input of rules: all documents, sorted by kind.

use std::collections::BTreeMap;
use std::net::IpAddr;

use casement_catalog::windows_of_os;
use casement_diag::{Diagnostic, FieldPath, Source};
use casement_source::SourceMap;
use casement_source::foreign::{Foreign, Value};
use casement_spec::{Cluster, Host, HostName, HostOs, Named as _};
use ipnet::IpNet;

use crate::cni::Cni;
use crate::kind::{Kind, kind};
use crate::pod::Pod;
use crate::statement::Statement;

/// A cluster file that was loaded without errors.
#[derive(Debug, Clone, Copy)]
pub struct SpecFile<'a> {
    pub cluster: &'a Cluster,
    pub map: &'a SourceMap,
}

#[derive(Debug, Clone, Copy)]
pub struct Input<'a> {
    pub spec: Option<SpecFile<'a>>,
    /// Files of other tools.
    pub files: &'a [Foreign],
}

impl<'a> Input<'a> {
    /// The texts that findings refer to, the cluster file first.
    pub fn sources(&self) -> Vec<&'a dyn Source> {
        let spec = self.spec.iter().map(|spec| spec.map as &dyn Source);
        let files = self.files.iter().map(|file| file.map() as &dyn Source);
        spec.chain(files).collect()
    }
}

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
    /// Lines of scripts.
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
            // A text embedded in a ConfigMap may be anything.
            Kind::Unknown if document.path().is_root() => self.unknown.push(document),
            Kind::Unknown => {}
        }
    }

    pub(crate) fn of_kind<'c>(&'c self, name: &'c str) -> impl Iterator<Item = &'c Value<'a>> {
        let is = move |object: &&Value<'a>| {
            object
                .get("kind")
                .is_some_and(|kind| kind.text() == Some(name))
        };
        self.objects.iter().filter(is)
    }

    pub(crate) fn kubeadm_kind<'c>(&'c self, name: &'c str) -> impl Iterator<Item = &'c Value<'a>> {
        let is = move |document: &&Value<'a>| {
            document
                .get("kind")
                .is_some_and(|kind| kind.text() == Some(name))
        };
        self.kubeadm.iter().filter(is)
    }

    /// Whether there are Windows nodes. Without a cluster file they are assumed.
    pub(crate) fn has_windows(&self) -> bool {
        self.spec
            .is_none_or(|spec| spec.cluster.windows_hosts().next().is_some())
    }

    /// The minor version of Kubernetes, if a file specifies it.
    pub(crate) fn minor(&self) -> Option<(u64, u64)> {
        if let Some(spec) = self.spec {
            return Some(spec.cluster.spec.kubernetes.version.minor());
        }
        let mut documents = self.kubeadm_kind("ClusterConfiguration");
        documents.find_map(|document| minor(document.get("kubernetesVersion")?.text()?))
    }

    /// All statements of the pod network, the cluster file first.
    pub(crate) fn pod_networks(&self) -> Vec<Statement> {
        let mut statements = Vec::new();
        statements.extend(self.spec_statement("kubernetes.podCidr", |c| {
            c.spec.kubernetes.pod_cidr.to_string()
        }));
        for document in self.kubeadm_kind("ClusterConfiguration") {
            let value = document.at("networking.podSubnet");
            statements.extend(value.and_then(|v| Statement::new("kubeadm's `podSubnet`", &v)));
        }
        for document in &self.net_confs {
            let value = document.get_any_case("Network");
            statements.extend(value.and_then(|v| Statement::new("flannel's `Network`", &v)));
        }
        for document in &self.proxies {
            let value = document.get("clusterCIDR");
            statements.extend(value.and_then(|v| Statement::new("kube-proxy's `clusterCIDR`", &v)));
        }
        statements
    }

    /// All statements of the service network, the cluster file first.
    pub(crate) fn service_networks(&self) -> Vec<Statement> {
        let mut statements = Vec::new();
        let service = |c: &Cluster| c.spec.kubernetes.service_cidr.to_string();
        statements.extend(self.spec_statement("kubernetes.serviceCidr", service));
        for document in self.kubeadm_kind("ClusterConfiguration") {
            let value = document.at("networking.serviceSubnet");
            statements.extend(value.and_then(|v| Statement::new("kubeadm's `serviceSubnet`", &v)));
        }
        statements
    }

    /// The hosts of the cluster file and their addresses.
    pub(crate) fn hosts(&self) -> Vec<(String, IpAddr)> {
        let hosts = self.spec.iter().flat_map(|spec| &spec.cluster.spec.hosts);
        hosts
            .map(|host| (host.name.to_string(), IpAddr::V4(host.address)))
            .collect()
    }

    /// Adds a label at the host with this address.
    pub(crate) fn host_label(&self, finding: Diagnostic, address: IpAddr) -> Diagnostic {
        let Some(spec) = self.spec else {
            return finding;
        };
        let at = self.hosts().iter().position(|(_, other)| *other == address);
        let hosts = FieldPath::root().field("spec").field("hosts");
        let path = hosts.index(at.unwrap_or_default()).field("address");
        finding.label_in(spec.map.name(), path, "this host")
    }

    /// The Windows builds in the cluster file, each with its hosts: `windows01`, or
    /// `windows01 (and 3 more)`.
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

    /// Whether all Windows nodes in the cluster file have an `os=windows` taint.
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

    /// Whether the cluster file selects an overlay.
    pub(crate) fn is_overlay(&self) -> bool {
        self.spec
            .is_some_and(|spec| spec.cluster.spec.network.mode().is_vxlan())
    }

    /// The Windows hosts of each release, with their index in the file.
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

    pub(crate) fn spec_pause(&self) -> Option<Statement> {
        let pause = self.spec?.cluster.spec.images.pause.as_ref()?;
        self.spec_statement("images.pause", |_| pause.to_string())
    }

    pub(crate) fn spec_dns(&self) -> Option<Statement> {
        self.spec_statement("kubernetes.dnsIp", |c| c.spec.kubernetes.dns().to_string())
    }

    /// `None` if the cluster file does not set it: an existing cluster may use
    /// another domain than the default.
    pub(crate) fn spec_domain(&self) -> Option<Statement> {
        let domain = self.spec?.cluster.spec.kubernetes.cluster_domain.as_ref()?;
        self.spec_statement("kubernetes.clusterDomain", |_| domain.to_string())
    }

    pub(crate) fn spec_hns_network(&self) -> Option<Statement> {
        self.spec_statement("network.hnsNetwork", |c| {
            c.spec.network.hns_network.to_string()
        })
    }

    /// The path of a field in `spec`, with names separated by dots.
    pub(crate) fn spec_path(&self, field: &str) -> FieldPath {
        let spec = FieldPath::root().field("spec");
        field.split('.').fold(spec, |path, name| path.field(name))
    }

    pub(crate) fn host_path(&self, index: usize) -> FieldPath {
        self.spec_path("hosts").index(index)
    }

    /// Adds a label at a field of the cluster file, if there is a cluster file.
    pub(crate) fn spec_label(&self, finding: Diagnostic, field: &str, text: &str) -> Diagnostic {
        match self.spec {
            Some(spec) => finding.label_in(spec.map.name(), self.spec_path(field), text),
            None => finding,
        }
    }

    pub(crate) fn spec_statement(
        &self,
        field: &str,
        value: impl Fn(&Cluster) -> String,
    ) -> Option<Statement> {
        let spec = self.spec?;
        let path = self.spec_path(field);
        Some(Statement {
            subject: format!("`{field}`"),
            value: value(spec.cluster),
            file: spec.map.name().to_owned(),
            path,
            literal: true,
        })
    }
}

pub(crate) fn build(os: HostOs) -> Option<u32> {
    windows_of_os(os.name()).map(|release| release.build)
}

/// Major and minor version of a text such as `v1.36.3`.
pub(crate) fn minor(text: &str) -> Option<(u64, u64)> {
    let mut numbers = text.strip_prefix('v').unwrap_or(text).split('.');
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

/// The networks in a text: one per address family, separated by commas.
pub(crate) fn networks(text: &str) -> Vec<IpNet> {
    text.split(',')
        .filter_map(|part| part.trim().parse().ok())
        .collect()
}

/// Whether both texts describe the same networks.
pub(crate) fn same_networks(one: &str, other: &str) -> bool {
    one == other || (!networks(one).is_empty() && networks(one) == networks(other))
}
