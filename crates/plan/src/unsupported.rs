//! Fields and values of the file that `apply` does not support yet.
//!
//! Reading, linting and rendering accept every field. Before `apply` connects to a host,
//! [`unsupported`] reports the fields that would have no effect, rather than ignoring them.

mod access;
mod host;

use std::fmt::Display;

use casement_diag::{Code, Diagnostic, FieldPath, Part};
use casement_spec::host_process::{is_image, missing_overrides};
use casement_spec::{
    CidrAllocation, Cluster, ImageRef, JoinMethod, Kubernetes, NetworkAgent, Runtime, RuntimeKind,
    WindowsComponents, WindowsUpdate,
};

use crate::modes;

/// Unsupported field.
const FIELD: Code = Code::new("CAS-SPEC-101");
/// Unsupported value of a supported field.
const VALUE: Code = Code::new("CAS-SPEC-102");
const CONTROL_PLANE: Code = Code::new("CAS-SPEC-103");
const VERSION: Code = Code::new("CAS-SPEC-104");
/// The Kubernetes release of nodes.
pub const SUPPORTED_MINOR: (u64, u64) = (1, 36);

const REMOVE: &str = "remove it";
/// Help for an unsupported network mode.
pub(crate) const OTHER_MODES: &str = "use `l3-routes`, which needs no daemon, or `flannel-overlay`";

/// In the order of the document.
///
/// `written` tells whether the file sets a field: an unsupported field is reported even if
/// it is set to its default.
pub fn unsupported(cluster: &Cluster, written: &dyn Fn(&FieldPath) -> bool) -> Vec<Diagnostic> {
    let mut found = Findings {
        written,
        diagnostics: Vec::new(),
    };
    let at = FieldPath::root().field("spec");
    let spec = &cluster.spec;
    kubernetes(&mut found, &at.field("kubernetes"), &spec.kubernetes);
    if spec.existing.is_none() {
        let message = "`existing` is missing: creating a control plane is not supported yet";
        let finding = Diagnostic::error(at.clone(), message).code(CONTROL_PLANE);
        found.diagnostics.push(
            finding
                .at(Part::Key)
                .help("name an existing kubeadm cluster: `existing: {kubeconfig: ./admin.conf}`"),
        );
    }
    if spec.join.method != JoinMethod::Kubeadm {
        let field = at.field("join").field("method");
        let help = "remove it; nodes join with kubeadm";
        found.value(field, spec.join.method, help);
    }
    network(&mut found, &at.field("network"), cluster);
    for (index, host) in spec.hosts.iter().enumerate() {
        host::host(&mut found, &at.field("hosts").index(index), host);
    }
    access::all(&mut found, &at.field("access"), &spec.access);
    runtime(&mut found, &at.field("runtime"), &spec.runtime);
    windows(&mut found, &at.field("windows"), cluster);
    images(&mut found, &at.field("images"), cluster);
    if spec.machines.is_some() {
        let help = "remove it, and list existing machines in `hosts`";
        found.field(at.field("machines"), None, help);
    }
    found.diagnostics
}

struct Findings<'a> {
    written: &'a dyn Fn(&FieldPath) -> bool,
    diagnostics: Vec<Diagnostic>,
}

impl Findings<'_> {
    fn field(&mut self, path: FieldPath, value: Option<&dyn Display>, help: &str) {
        let message = message(&path, value);
        let finding = Diagnostic::error(path, message).code(FIELD);
        self.diagnostics.push(finding.at(Part::Key).help(help));
    }

    /// For a field with a default: reported if the file sets it.
    fn field_if_written(&mut self, path: FieldPath, value: &dyn Display, other: bool, help: &str) {
        if other || (self.written)(&path) {
            self.field(path, Some(value), help);
        }
    }

    /// For an optional field.
    fn field_if_set<T: Display>(&mut self, path: FieldPath, value: Option<&T>, help: &str) {
        if let Some(value) = value {
            self.field(path, Some(value), help);
        }
    }

    /// For a list or mapping, whose content is not repeated in the message.
    fn field_if(&mut self, path: FieldPath, is_set: bool, help: &str) {
        if is_set {
            self.field(path, None, help);
        }
    }

    fn value(&mut self, path: FieldPath, value: impl Display, help: &str) {
        let message = message(&path, Some(&value));
        let finding = Diagnostic::error(path, message).code(VALUE);
        self.diagnostics.push(finding.help(help));
    }
}

/// Paths are shown without the leading `spec.`.
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

fn kubernetes(found: &mut Findings<'_>, at: &FieldPath, spec: &Kubernetes) {
    if spec.version.minor() != SUPPORTED_MINOR {
        let message = format!("Kubernetes {} is not supported yet", spec.version);
        let finding = Diagnostic::error(at.field("version"), message).code(VERSION);
        found
            .diagnostics
            .push(finding.help("use 1.36: `version: 1.36.3`"));
    }
    for (name, cidrs) in [
        ("podCidr", spec.pod_cidr),
        ("serviceCidr", spec.service_cidr),
    ] {
        if cidrs.v6().is_some() {
            let help = format!("use one IPv4 network: `{name}: {}`", cidrs.v4());
            found.value(at.field(name), cidrs, &help);
        }
    }
    let endpoint = "remove it; it comes from `existing.kubeconfig`";
    found.field_if_set(at.field("endpoint"), spec.endpoint.as_ref(), endpoint);
    let from_cluster = "remove it; it comes from the cluster";
    let domain = spec.cluster_domain.as_ref();
    found.field_if_set(at.field("clusterDomain"), domain, from_cluster);
    found.field_if_set(at.field("dnsIp"), spec.dns_ip.as_ref(), from_cluster);
    let gates = "remove it; nodes use the feature gates of the cluster";
    let is_set = !spec.feature_gates.is_empty();
    found.field_if(at.field("featureGates"), is_set, gates);
    if spec.cidr_allocation != CidrAllocation::Controller {
        let help = "remove it; the cluster assigns pod networks to nodes";
        found.value(at.field("cidrAllocation"), spec.cidr_allocation, help);
    }
}

fn network(found: &mut Findings<'_>, at: &FieldPath, cluster: &Cluster) {
    if let Some((field, value, help)) = modes::of(cluster).unsupported(cluster) {
        found.value(at.field(field), value, help);
    }
    let spec = &cluster.spec.network;
    if spec.backend.agent() == Some(NetworkAgent::Casement) {
        let help = "remove it; flanneld runs on Windows hosts";
        found.value(at.field("agent"), NetworkAgent::Casement, help);
    }
    let name = "remove it; the CNI configuration of Linux hosts is not changed";
    let other = spec.cni_name.as_str() != "cbr0";
    found.field_if_written(at.field("cniName"), &spec.cni_name, other, name);
    let mtu = "remove it; it is derived from the MTU of the host";
    found.field_if_set(at.field("mtu"), spec.mtu.as_ref(), mtu);
    let interface = "remove it; the interface with the host's address is used";
    found.field_if_set(at.field("interface"), spec.interface.as_ref(), interface);
}

fn runtime(found: &mut Findings<'_>, at: &FieldPath, spec: &Runtime) {
    let help = "remove it; the version of `artifacts.overrides.containerd` is used";
    found.field_if_set(at.field("version"), spec.version.as_ref(), help);
}

fn windows(found: &mut Findings<'_>, at: &FieldPath, cluster: &Cluster) {
    let spec = &cluster.spec.windows;
    let in_services = !modes::of(cluster).supports_host_process();
    let unsupported = in_services || !missing_overrides(cluster).is_empty();
    if spec.components == WindowsComponents::HostProcess && unsupported {
        let help = "remove it to run them as services; `calico-vxlan`, and `flannel-overlay` \
                    with your own images, can run in containers";
        found.value(at.field("components"), spec.components, help);
    }
    for (index, update) in spec.updates.iter().enumerate() {
        let known = !crate::windows::floors(&update.to_string()).is_empty();
        if matches!(update, WindowsUpdate::Kb(_)) && !known {
            let help = "use the path of its `.msu` file: the catalog does not know which \
                        Windows revision contains it";
            found.value(at.field("updates").index(index), update, help);
        }
    }
}

fn images(found: &mut Findings<'_>, at: &FieldPath, cluster: &Cluster) {
    let spec = &cluster.spec.images;
    // `ctr` accepts a password only as an argument, which every user of the host can see.
    let docker = cluster.spec.runtime.kind == RuntimeKind::Docker;
    let account = spec
        .registry
        .as_ref()
        .filter(|_| spec.credentials.is_some());
    let needs_account = |image: &ImageRef| {
        let registry = image.name().split('/').next();
        account.is_some_and(|account| registry == Some(account.host()))
    };
    for (index, image) in spec.prepull.iter().enumerate() {
        let image = spec.overrides.get(image).unwrap_or(image);
        if needs_account(image) && !docker {
            let help = "remove it; pods pull it with the account when they need it";
            found.value(at.field("prepull").index(index), image, help);
        }
    }
    // Images in the cluster's own objects are not changed.
    let on_hosts = |image: &ImageRef| {
        let pause = spec.pause.as_ref() == Some(image) || image.name().ends_with("/pause");
        pause || spec.prepull.contains(image)
    };
    let in_containers = cluster.spec.windows.components == WindowsComponents::HostProcess;
    let used = |image: &ImageRef| in_containers && is_image(image);
    let other = |image: &ImageRef| !on_hosts(image) && !used(image);
    let help = "override only the pause image, images of `prepull` and of HostProcess components; \
                use `registry` for all others";
    found.field_if(
        at.field("overrides"),
        spec.overrides.keys().any(other),
        help,
    );
}
