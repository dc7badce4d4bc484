//! What a file may say, and `apply` cannot do yet.
//!
//! Reading, linting and rendering take every field. Before a host is touched,
//! [`not_yet`] names those that nothing would act on: to ignore one in silence
//! would be a lie. An entry goes when the work behind it is there.

#[path = "unsupported/access.rs"]
mod access;
#[path = "not_yet/host.rs"]
mod host;

use std::fmt::Display;

use casement_diag::{Code, Diagnostic, FieldPath, Part};
use casement_spec::host_process::{images_to_name, is_image};
use casement_spec::{
    CidrAllocation, Cluster, ClusterSpec, ImageRef, JoinMethod, Kubernetes, NetworkAgent,
    NetworkMode, Runtime, RuntimeKind, WindowsComponents, WindowsUpdate,
};

/// A field that casement does not act on yet.
const FIELD: Code = Code::new("CAS-SPEC-101");
/// A value that casement does not act on yet.
const VALUE: Code = Code::new("CAS-SPEC-102");
/// A control plane would have to be made.
const CONTROL_PLANE: Code = Code::new("CAS-SPEC-103");
/// A version of Kubernetes that nodes cannot be made of yet.
const VERSION: Code = Code::new("CAS-SPEC-104");
/// The one minor version that nodes can be made of.
const MINOR: (u64, u64) = (1, 36);

const LEAVE_OUT: &str = "leave it out";

/// Everything that `apply` refuses, in the order of the document.
///
/// `written` says whether a person wrote a field: one that nothing acts on is
/// refused even where it says what is the default anyway.
pub fn not_yet(cluster: &Cluster, written: &dyn Fn(&FieldPath) -> bool) -> Vec<Diagnostic> {
    let mut refusals = Refusals {
        written,
        found: Vec::new(),
    };
    let at = FieldPath::root().field("spec");
    let spec = &cluster.spec;
    kubernetes(&mut refusals, &at.field("kubernetes"), &spec.kubernetes);
    if spec.existing.is_none() {
        let message = "`existing` is missing: making a control plane is not supported yet";
        let finding = Diagnostic::error(at.clone(), message).code(CONTROL_PLANE);
        refusals.found.push(
            finding
                .at(Part::Key)
                .help("name a kubeadm cluster that runs: `existing: {kubeconfig: ./admin.conf}`"),
        );
    }
    if spec.join.method != JoinMethod::Kubeadm {
        let field = at.field("join").field("method");
        let help = "leave it out: nodes join with kubeadm";
        refusals.value(field, spec.join.method, help);
    }
    network(&mut refusals, &at.field("network"), spec);
    for (index, host) in spec.hosts.iter().enumerate() {
        host::host(&mut refusals, &at.field("hosts").index(index), host);
    }
    access::all(&mut refusals, &at.field("access"), &spec.access);
    runtime(&mut refusals, &at.field("runtime"), &spec.runtime);
    windows(&mut refusals, &at.field("windows"), cluster);
    images(&mut refusals, &at.field("images"), cluster);
    if spec.machines.is_some() {
        let help = "leave it out: `hosts` lists machines that are there already";
        refusals.field(at.field("machines"), None, help);
    }
    refusals.found
}

/// What was found so far.
struct Refusals<'a> {
    written: &'a dyn Fn(&FieldPath) -> bool,
    found: Vec<Diagnostic>,
}

impl Refusals<'_> {
    /// A field that nothing acts on, whatever it says.
    fn field(&mut self, path: FieldPath, value: Option<&dyn Display>, help: &str) {
        let message = message(&path, value);
        let finding = Diagnostic::error(path, message).code(FIELD);
        self.found.push(finding.at(Part::Key).help(help));
    }

    /// The same for a field with a default: it counts when it was written.
    fn field_if_written(&mut self, path: FieldPath, value: &dyn Display, other: bool, help: &str) {
        if other || (self.written)(&path) {
            self.field(path, Some(value), help);
        }
    }

    /// The same for a field that is there or not.
    fn field_if_given<T: Display>(&mut self, path: FieldPath, value: Option<&T>, help: &str) {
        if let Some(value) = value {
            self.field(path, Some(value), help);
        }
    }

    /// The same for a field that holds several things, which are not repeated.
    fn field_if(&mut self, path: FieldPath, there: bool, help: &str) {
        if there {
            self.field(path, None, help);
        }
    }

    /// A field that is acted on, but not with this value.
    fn value(&mut self, path: FieldPath, value: impl Display, help: &str) {
        let message = message(&path, Some(&value));
        let finding = Diagnostic::error(path, message).code(VALUE);
        self.found.push(finding.help(help));
    }
}

/// The field as people say it: everything is in `spec`.
fn message(path: &FieldPath, value: Option<&dyn Display>) -> String {
    let path = path.to_string();
    let name = path.strip_prefix("spec.").unwrap_or(&path);
    match value.map(ToString::to_string) {
        Some(value) if value.chars().count() <= 60 => {
            format!("`{name}: {value}` is not supported yet")
        }
        _ => format!("`{name}` is not supported yet"),
    }
}

fn kubernetes(refusals: &mut Refusals<'_>, at: &FieldPath, spec: &Kubernetes) {
    if spec.version.minor() != MINOR {
        let message = format!("Kubernetes {} is not supported yet", spec.version);
        let finding = Diagnostic::error(at.field("version"), message).code(VERSION);
        refusals
            .found
            .push(finding.help("1.36 is: `version: 1.36.3`"));
    }
    for (name, cidrs) in [
        ("podCidr", spec.pod_cidr),
        ("serviceCidr", spec.service_cidr),
    ] {
        if cidrs.v6().is_some() {
            let help = format!("give one IPv4 network: `{name}: {}`", cidrs.v4());
            refusals.value(at.field(name), cidrs, &help);
        }
    }
    let endpoint = "leave it out: it is taken from `existing.kubeconfig`";
    refusals.field_if_given(at.field("endpoint"), spec.endpoint.as_ref(), endpoint);
    let taken = "leave it out: it is taken from the cluster";
    let domain = spec.cluster_domain.as_ref();
    refusals.field_if_given(at.field("clusterDomain"), domain, taken);
    refusals.field_if_given(at.field("dnsIp"), spec.dns_ip.as_ref(), taken);
    let gates = "leave it out: the cluster's hold";
    let there = !spec.feature_gates.is_empty();
    refusals.field_if(at.field("featureGates"), there, gates);
    if spec.cidr_allocation != CidrAllocation::Controller {
        let help = "leave it out: the cluster gives each node its pod network";
        refusals.value(at.field("cidrAllocation"), spec.cidr_allocation, help);
    }
}

fn network(refusals: &mut Refusals<'_>, at: &FieldPath, spec: &ClusterSpec) {
    let calico = spec.windows.components == WindowsComponents::HostProcess;
    let spec = &spec.network;
    let mode = spec.mode();
    let there = match mode {
        NetworkMode::L3Routes | NetworkMode::FlannelOverlay => true,
        // Its own containers make the network on Windows.
        NetworkMode::CalicoVxlan => calico,
        NetworkMode::FlannelHostGw => false,
    };
    if !there {
        let help = "`l3-routes` is: casement makes the routes, no daemon is needed; \
                    `flannel-overlay` is too";
        refusals.value(at.field("mode"), mode, help);
    } else if mode == NetworkMode::L3Routes && spec.hns_network.as_str() != "cbr0" {
        let help = "leave it out: it is `cbr0`";
        refusals.value(at.field("hnsNetwork"), &spec.hns_network, help);
    }
    if spec.backend.agent() == Some(NetworkAgent::Casement) {
        let help = "leave it out: flannel's own daemon runs on Windows";
        refusals.value(at.field("agent"), NetworkAgent::Casement, help);
    }
    let name = "leave it out: CNI on Linux is not touched";
    let other = spec.cni_name.as_str() != "cbr0";
    refusals.field_if_written(at.field("cniName"), &spec.cni_name, other, name);
    let mtu = "leave it out: the MTU of the host decides";
    refusals.field_if_given(at.field("mtu"), spec.mtu.as_ref(), mtu);
    let interface = "leave it out: it is the one that has the host's address";
    refusals.field_if_given(at.field("interface"), spec.interface.as_ref(), interface);
}

fn runtime(refusals: &mut Refusals<'_>, at: &FieldPath, spec: &Runtime) {
    let help = "leave it out: it is that of `artifacts.overrides.containerd`";
    refusals.field_if_given(at.field("version"), spec.version.as_ref(), help);
}

fn windows(refusals: &mut Refusals<'_>, at: &FieldPath, cluster: &Cluster) {
    let spec = &cluster.spec.windows;
    // Their conflists and routes are casement's, and need a service beside them.
    let routed = cluster.spec.network.mode() == NetworkMode::L3Routes;
    let open = routed || !images_to_name(cluster).is_empty();
    if spec.components == WindowsComponents::HostProcess && open {
        let help = "leave it out: they run as services; `calico-vxlan`, and `flannel-overlay` \
                    with images of one's own, may run in containers";
        refusals.value(at.field("components"), spec.components, help);
    }
    for (index, update) in spec.updates.iter().enumerate() {
        let known = !crate::windows::floors(&update.to_string()).is_empty();
        if matches!(update, WindowsUpdate::Kb(_)) && !known {
            let help = "name the `.msu` file that brings it: the catalog does not know which \
                        revision of Windows has it";
            refusals.value(at.field("updates").index(index), update, help);
        }
    }
}

fn images(refusals: &mut Refusals<'_>, at: &FieldPath, cluster: &Cluster) {
    let spec = &cluster.spec.images;
    // `ctr` takes a password as an argument only, where every user of the host sees it.
    let docker = cluster.spec.runtime.kind == RuntimeKind::Docker;
    let account = spec
        .registry
        .as_ref()
        .filter(|_| spec.credentials.is_some());
    let behind = |image: &ImageRef| {
        let registry = image.name().split('/').next();
        account.is_some_and(|account| registry == Some(account.host()))
    };
    for (index, image) in spec.prepull.iter().enumerate() {
        let image = spec.overrides.get(image).unwrap_or(image);
        if behind(image) && !docker {
            let help = "leave it out: pods pull it when they need it, with the account";
            refusals.value(at.field("prepull").index(index), image, help);
        }
    }
    // Hosts get the first, the components in containers the others; what is in the
    // cluster's own objects, nobody changes.
    let brought = |image: &ImageRef| {
        let pause = spec.pause.as_ref() == Some(image) || image.name().ends_with("/pause");
        pause || spec.prepull.contains(image)
    };
    let in_containers = cluster.spec.windows.components == WindowsComponents::HostProcess;
    let used = |image: &ImageRef| in_containers && is_image(image);
    let other = |image: &ImageRef| !brought(image) && !used(image);
    let help = "name only the pause image, those of `prepull` and of HostProcess components; \
                `registry` serves all";
    refusals.field_if(
        at.field("overrides"),
        spec.overrides.keys().any(other),
        help,
    );
}
