//! `kubernetes`, `existing` and `join`.

use std::collections::BTreeMap;
use std::net::IpAddr;

use casement_diag::{Diagnostic, FieldPath};
use casement_spec::{
    Cidr, Cidr6, CidrAllocation, Cidrs, Existing, FeatureGate, Join, JoinMethod, Kubernetes,
    defaults,
};

use super::{if_given, or_default};
use crate::codes;
use crate::mapping::{Given, Mapping};
use crate::node::Data;
use crate::partial::{FieldValue, PartialCluster};
use crate::reader::{FieldNode, Reader, short_path};
use crate::shapes;

pub(super) fn kubernetes(
    reader: &mut Reader<'_>,
    at: &FieldNode<'_>,
    partial: &mut PartialCluster,
) -> Option<Kubernetes> {
    let mapping = Mapping::read(reader, at, &shapes::KUBERNETES)?;
    partial.version = mapping.required("version").and_then(|at| {
        Some(FieldValue {
            value: reader.parse(&at, "a version", "1.36.3")?,
            path: at.path,
            explicit: true,
        })
    });
    partial.pods = cidrs_or_default(reader, &mapping, "podCidr", defaults::pod_cidr());
    partial.services = cidrs_or_default(reader, &mapping, "serviceCidr", defaults::service_cidr());
    let endpoint = if_given(mapping.get("endpoint"), |at| {
        reader.parse(&at, "a host and a port", "10.3.0.1:6443")
    });
    let cluster_domain = if_given(mapping.get("clusterDomain"), |at| {
        reader.parse(&at, "a domain", "cluster.local")
    });
    let dns_ip = if_given(mapping.get("dnsIp"), |at| ip(reader, &at));
    let feature_gates = or_default(
        mapping.get("featureGates"),
        |at| gates(reader, &at),
        BTreeMap::new,
    );
    let cidr_allocation = or_default(
        mapping.get("cidrAllocation"),
        |at| reader.named(&at, "CIDR allocation mode"),
        || CidrAllocation::Controller,
    );
    partial.allocation = cidr_allocation;
    Some(Kubernetes {
        version: partial.version.as_ref()?.value.clone(),
        pod_cidr: partial.pods.as_ref()?.value,
        service_cidr: partial.services.as_ref()?.value,
        endpoint: endpoint?,
        cluster_domain: cluster_domain?,
        dns_ip: dns_ip?,
        feature_gates: feature_gates?,
        cidr_allocation: cidr_allocation?,
    })
}

fn cidrs_or_default(
    reader: &mut Reader<'_>,
    mapping: &Mapping<'_>,
    name: &str,
    default: Cidrs,
) -> Option<FieldValue<Cidrs>> {
    match mapping.get(name) {
        Given::Value(at) => Some(FieldValue {
            value: cidrs(reader, &at, default)?,
            path: at.path,
            explicit: true,
        }),
        Given::Absent => Some(FieldValue {
            value: default,
            path: FieldPath::root()
                .field("spec")
                .field("kubernetes")
                .field(name),
            explicit: false,
        }),
    }
}

/// An IPv4 network, or a list of one network per IP family.
pub(super) fn cidrs(reader: &mut Reader<'_>, at: &FieldNode<'_>, example: Cidrs) -> Option<Cidrs> {
    let items = match &at.node.data {
        Data::List(items) => items.as_slice(),
        _ => std::slice::from_ref(at.node),
    };
    let listed = matches!(at.node.data, Data::List(_));
    let (mut v4, mut v6, mut v6_first) = (None, None, false);
    let mut valid = true;
    for (index, node) in items.iter().enumerate() {
        let path = if listed {
            at.path.index(index)
        } else {
            at.path.clone()
        };
        let at = FieldNode { node, path };
        let text = reader.text(&at, "a network such as 10.244.0.0/16")?;
        let duplicate = if text.contains(':') {
            v6_first = v4.is_none();
            let network = reader.parse::<Cidr6>(&at, "a network", "fd00:244::/56");
            valid &= network.is_some();
            v6.replace(network?).is_some()
        } else {
            let network = reader.parse::<Cidr>(&at, "a network", &example.v4().to_string());
            valid &= network.is_some();
            v4.replace(network?).is_some()
        };
        if duplicate {
            let message = format!("`{text}` is the second network of its IP family");
            let finding = Diagnostic::error(at.path, message).code(codes::BAD_VALUE);
            reader.add(finding.help("set one IPv4 network, and for dual stack one IPv6 network"));
            valid = false;
        }
    }
    let Some(v4) = v4 else {
        let name = short_path(&at.path);
        let finding = Diagnostic::error(at.path.clone(), format!("`{name}` has no IPv4 network"))
            .code(codes::BAD_VALUE)
            .note("Windows nodes require IPv4");
        let field = at.path.last_field().unwrap_or_default();
        reader.add(finding.help(format!("use a value such as `{field}: {example}`")));
        return None;
    };
    let cidrs = match v6 {
        Some(v6) => Cidrs::dual_stack(v4, v6, v6_first),
        None => v4.into(),
    };
    valid.then_some(cidrs)
}

fn ip(reader: &mut Reader<'_>, at: &FieldNode<'_>) -> Option<IpAddr> {
    let text = reader.text(at, "an address")?;
    if let Ok(address) = text.parse() {
        return Some(address);
    }
    let message = format!("{} is not a valid IP address", at.node.described());
    let finding = Diagnostic::error(at.path.clone(), message).code(codes::BAD_VALUE);
    reader.add(finding.help("use a value such as `10.96.0.10`"));
    None
}

fn gates(reader: &mut Reader<'_>, at: &FieldNode<'_>) -> Option<BTreeMap<FeatureGate, bool>> {
    reader.parse_keys(at, "a mapping of feature gates", "WinDSR", |reader, at| {
        reader.boolean(at)
    })
}

pub(super) fn existing(reader: &mut Reader<'_>, at: &FieldNode<'_>) -> Option<Existing> {
    let mapping = Mapping::read(reader, at, &shapes::EXISTING)?;
    let kubeconfig = reader.file(&mapping.required("kubeconfig")?)?;
    Some(Existing { kubeconfig })
}

pub(super) fn join(reader: &mut Reader<'_>, at: &FieldNode<'_>) -> Option<Join> {
    let mapping = Mapping::read(reader, at, &shapes::JOIN)?;
    let method = or_default(
        mapping.get("method"),
        |at| reader.named::<JoinMethod>(&at, "join method"),
        || Join::default().method,
    );
    Some(Join { method: method? })
}
