//! `spec`, but for hosts, how they are reached, and programs.

use std::collections::BTreeMap;

use casement_diag::{Diagnostic, FieldPath, Part};
use casement_spec::{
    Artifacts, Cidr, CidrAllocation, ClusterSpec, Existing, Images, Join, Kubernetes, Network,
    NetworkMode, Proxy, Runtime, Windows, defaults,
};

use super::{access, artifacts, host, if_given, or_default};
use crate::codes;
use crate::mapping::{Given, Mapping};
use crate::node::Data;
use crate::outline::{Outline, Placed};
use crate::reader::{At, Reader};
use crate::shapes;

/// Reads every part before it asks whether all of them are there.
pub(super) fn spec(
    reader: &mut Reader<'_>,
    spec: &Mapping<'_>,
    outline: &mut Outline,
) -> Option<ClusterSpec> {
    let kubernetes = spec
        .required("kubernetes")
        .and_then(|at| Mapping::read(reader, &at, &shapes::KUBERNETES))
        .and_then(|mapping| kubernetes(reader, &mapping, outline));
    let existing = existing(reader, spec);
    let network = spec.required("network").and_then(|at| network(reader, &at));
    let hosts = spec
        .required("hosts")
        .and_then(|at| host::hosts(reader, &at, outline));
    let access = or_default(
        spec.get("access"),
        |at| access::access(reader, &at),
        access::by_default,
    );
    let windows = or_default(
        spec.get("windows"),
        |at| windows(reader, &at),
        Windows::default,
    );
    let images = or_default(
        spec.get("images"),
        |at| images(reader, &at),
        Images::default,
    );
    let artifacts = or_default(
        spec.get("artifacts"),
        |at| artifacts::artifacts(reader, &at),
        Artifacts::default,
    );
    Some(ClusterSpec {
        kubernetes: kubernetes?,
        existing: Some(existing?),
        join: Join::default(),
        network: network?,
        hosts: hosts?,
        access: access?,
        windows: windows?,
        runtime: Runtime::default(),
        proxy: Proxy::default(),
        images: images?,
        artifacts: artifacts?,
        machines: None,
    })
}

fn kubernetes(
    reader: &mut Reader<'_>,
    mapping: &Mapping<'_>,
    outline: &mut Outline,
) -> Option<Kubernetes> {
    outline.version = mapping.required("version").and_then(|at| {
        Some(Placed {
            value: reader.parse(&at, "a version", "1.36.3")?,
            path: at.path,
            written: true,
        })
    });
    outline.pods = cidr(reader, mapping, "podCidr", defaults::pod_cidr().v4());
    outline.services = cidr(
        reader,
        mapping,
        "serviceCidr",
        defaults::service_cidr().v4(),
    );
    Some(Kubernetes {
        version: outline.version.as_ref()?.value.clone(),
        pod_cidr: outline.pods.as_ref()?.value.into(),
        service_cidr: outline.services.as_ref()?.value.into(),
        endpoint: None,
        cluster_domain: None,
        dns_ip: None,
        feature_gates: BTreeMap::new(),
        cidr_allocation: CidrAllocation::Controller,
    })
}

/// One network; a list is two stacks, of which there is one so far.
fn cidr(
    reader: &mut Reader<'_>,
    mapping: &Mapping<'_>,
    name: &str,
    default: Cidr,
) -> Option<Placed<Cidr>> {
    let mut at = match mapping.get(name) {
        Given::Value(at) => at,
        Given::Nothing => {
            return Some(Placed {
                value: default,
                path: FieldPath::root()
                    .field("spec")
                    .field("kubernetes")
                    .field(name),
                written: false,
            });
        }
    };
    if let Data::List(items) = &at.node.data {
        let [only] = items.as_slice() else {
            let finding = Diagnostic::error(
                at.path.clone(),
                format!(
                    "`{name}` with {} networks is not supported yet",
                    items.len()
                ),
            );
            let finding = finding.code(codes::VALUE_NOT_YET);
            reader.add(finding.help(format!("give one IPv4 network: `{name}: {default}`")));
            return None;
        };
        let path = at.path.index(0);
        at = At { node: only, path };
    }
    let text = reader.text(&at, "a network such as 10.244.0.0/16")?;
    match text.parse::<Cidr>() {
        Ok(value) => Some(Placed {
            value,
            path: at.path,
            written: true,
        }),
        Err(_) if text.contains(':') => {
            let message = format!("`{name}: {text}` is not supported yet");
            let finding = Diagnostic::error(at.path, message).code(codes::VALUE_NOT_YET);
            reader.add(finding.help(format!("give an IPv4 network: `{name}: {default}`")));
            None
        }
        Err(invalid) => {
            reader.invalid(&at, &invalid, &default.to_string());
            None
        }
    }
}

fn existing(reader: &mut Reader<'_>, spec: &Mapping<'_>) -> Option<Existing> {
    let at =
        match spec.get("existing") {
            Given::Value(at) => at,
            Given::Nothing => {
                let finding = Diagnostic::error(
                    FieldPath::root().field("spec"),
                    "`existing` is missing: making a control plane is not supported yet",
                );
                let finding = finding.code(codes::CONTROL_PLANE_NOT_YET).at(Part::Key);
                reader.add(finding.help(
                    "name a kubeadm cluster that runs: `existing: {kubeconfig: ./admin.conf}`",
                ));
                return None;
            }
        };
    let mapping = Mapping::read(reader, &at, &shapes::EXISTING)?;
    let kubeconfig = reader.file(&mapping.required("kubeconfig")?)?;
    Some(Existing { kubeconfig })
}

fn network(reader: &mut Reader<'_>, at: &At<'_>) -> Option<Network> {
    let mapping = Mapping::read(reader, at, &shapes::NETWORK)?;
    let at = mapping.required("mode")?;
    let mode = reader.named::<NetworkMode>(&at, "network mode")?;
    if mode != NetworkMode::L3Routes {
        let message = format!("`network.mode: {mode}` is not supported yet");
        let finding = Diagnostic::error(at.path, message).code(codes::VALUE_NOT_YET);
        reader.add(finding.help("`l3-routes` is: casement makes the routes, no daemon is needed"));
        return None;
    }
    Some(Network::of(mode))
}

fn windows(reader: &mut Reader<'_>, at: &At<'_>) -> Option<Windows> {
    let mapping = Mapping::read(reader, at, &shapes::WINDOWS)?;
    let base_dir = or_default(
        mapping.get("baseDir"),
        |at| reader.parse(&at, "a folder on Windows", r"C:\k"),
        defaults::base_dir,
    );
    Some(Windows {
        base_dir: base_dir?,
        ..Windows::default()
    })
}

fn images(reader: &mut Reader<'_>, at: &At<'_>) -> Option<Images> {
    let mapping = Mapping::read(reader, at, &shapes::IMAGES)?;
    let registry = if_given(mapping.get("registry"), |at| {
        reader.parse(&at, "a registry", "registry.example:5000")
    });
    let ca = if_given(mapping.get("ca"), |at| reader.file(&at));
    if let (Given::Value(at), Given::Nothing) = (mapping.get("ca"), mapping.get("registry")) {
        let message = "`images.ca` is there, but no `images.registry` whose it would be";
        let finding = Diagnostic::error(at.path, message).code(codes::LONELY_FIELD);
        reader.add(
            finding
                .at(Part::Key)
                .help("add `registry`, or leave `ca` out"),
        );
    }
    Some(Images {
        registry: registry?,
        ca: ca?,
        ..Images::default()
    })
}
