//! Allocation of pod networks to nodes.

use casement_diag::{Diagnostic, FieldPath, Part};
use casement_spec::CidrAllocation;

use crate::codes;
use crate::partial::{PartialCluster, PartialHost};
use crate::reader::Reader;

/// Either the file or the cluster allocates pod networks, never both.
pub(super) fn pod_networks(
    hosts: &[PartialHost],
    partial: &PartialCluster,
    reader: &mut Reader<'_>,
) {
    let Some(allocation) = partial.allocation else {
        return;
    };
    let field = FieldPath::root()
        .field("spec")
        .field("kubernetes")
        .field("cidrAllocation");
    if allocation == CidrAllocation::Hosts && partial.existing {
        let message = "`cidrAllocation: hosts` cannot be used with `existing`";
        let finding = Diagnostic::error(field, message)
            .code(codes::EXCLUSIVE)
            .label_at(
                FieldPath::root().field("spec").field("existing"),
                Part::Key,
                "existing cluster",
            );
        reader.add(finding.help("remove it; the cluster allocates pod networks"));
        return;
    }
    for host in hosts {
        let finding = match (&host.pod_cidr, allocation) {
            (Some(path), CidrAllocation::Controller) => {
                let message = format!(
                    "`podCidr` of {} is set, but the cluster allocates pod networks",
                    host.title()
                );
                let finding = Diagnostic::error(path.clone(), message).at(Part::Key);
                finding.help("remove it, or set `kubernetes: {cidrAllocation: hosts}`")
            }
            (None, CidrAllocation::Hosts) => {
                let message = format!("{} has no `podCidr`", host.title());
                let finding = Diagnostic::error(host.path.clone(), message)
                    .label(field.clone(), "requires one per host");
                finding.help("add a part of the pod network, such as `podCidr: 10.244.3.0/24`")
            }
            _ => continue,
        };
        reader.add(finding.code(codes::FIELD_DEPENDENCY));
    }
}
