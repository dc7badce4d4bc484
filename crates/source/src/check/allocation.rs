//! Who gives nodes their pod networks.

use casement_diag::{Diagnostic, FieldPath, Part};
use casement_spec::CidrAllocation;

use crate::codes;
use crate::outline::{HostOutline, Outline};
use crate::reader::Reader;

/// Pod networks are given by the file or by the cluster, never by both.
pub(super) fn pod_networks(hosts: &[HostOutline], outline: &Outline, reader: &mut Reader<'_>) {
    let Some(allocation) = outline.allocation else {
        return;
    };
    let field = FieldPath::root()
        .field("spec")
        .field("kubernetes")
        .field("cidrAllocation");
    if allocation == CidrAllocation::Hosts && outline.existing {
        let message = "`cidrAllocation: hosts` is for clusters that casement makes";
        let finding = Diagnostic::error(field, message)
            .code(codes::EXCLUSIVE)
            .label_at(
                FieldPath::root().field("spec").field("existing"),
                Part::Key,
                "this one exists already",
            );
        reader.add(finding.help("leave it out: the cluster gives each node its pod network"));
        return;
    }
    for host in hosts {
        let finding = match (&host.pod_cidr, allocation) {
            (Some(path), CidrAllocation::Controller) => {
                let message = format!(
                    "`podCidr` of {} is there, but the cluster gives each node its pod network",
                    host.title()
                );
                let finding = Diagnostic::error(path.clone(), message).at(Part::Key);
                finding.help("leave it out, or write `kubernetes: {cidrAllocation: hosts}`")
            }
            (None, CidrAllocation::Hosts) => {
                let message = format!("{} has no `podCidr`", host.title());
                let finding = Diagnostic::error(host.path.clone(), message)
                    .label(field.clone(), "each host has its own");
                finding.help("add one that lies in the pod network: `podCidr: 10.244.3.0/24`")
            }
            _ => continue,
        };
        reader.add(finding.code(codes::LONELY_FIELD));
    }
}
