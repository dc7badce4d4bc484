//! Unsupported fields of a host.

use casement_diag::{Diagnostic, FieldPath};
use casement_spec::{Host, Role, defaults};

use crate::release::is_docker_only;

use super::{Findings, REMOVE, VALUE, access};

pub(super) fn host(found: &mut Findings<'_>, at: &FieldPath, host: &Host) {
    if is_docker_only(host.os) {
        let help = "use `windows-2019`, `windows-2022` or `windows-2025`";
        found.value(at.field("os"), host.os, help);
    }
    roles(found, at, host);
    by_system(found, at, host);
    let interface = "remove it; the interface with the host's address is used";
    found.field_if_set(at.field("interface"), host.interface.as_ref(), interface);
    access::host(found, &at.field("access"), &host.access);
    let pods = "remove it; the cluster assigns pod networks to nodes";
    found.field_if_set(at.field("podCidr"), host.pod_cidr.as_ref(), pods);
    let is_set = !host.kubelet_args.is_empty();
    found.field_if(at.field("kubeletArgs"), is_set, REMOVE);
    let state = if host.os.is_windows() {
        "remove it; casement always uses %ProgramData%\\casement"
    } else {
        "remove it; casement always uses /var/lib/casement"
    };
    let folder = host.state_dir.as_ref().map(|folder| folder.as_str());
    found.field_if_set(at.field("stateDir"), folder.as_ref(), state);
}

/// Points at the whole list: the order of the parsed roles may differ from the file.
fn roles(found: &mut Findings<'_>, at: &FieldPath, host: &Host) {
    for role in host.roles.iter().filter(|role| **role != Role::Worker) {
        let message = format!("the role `{role}` is not supported yet");
        let finding = Diagnostic::error(at.field("roles"), message).code(VALUE);
        found.diagnostics.push(
            finding.help(
                "use `worker`, and remove control-plane hosts from `hosts`; `existing` names the control plane",
            ),
        );
    }
}

/// Fields that are supported for hosts of the other operating system only.
fn by_system(found: &mut Findings<'_>, at: &FieldPath, host: &Host) {
    let mut report = |name: &str, system: &str, help: &str| {
        let path = at.field(name);
        let message = super::message(&path, None);
        let message = message.replace("` is", &format!("` on a {system} host is"));
        let finding = Diagnostic::error(path, message).code(VALUE);
        found.diagnostics.push(finding.help(help));
    };
    if host.os.is_windows() {
        if !host.managed {
            let help = "remove the host from the file if casement must not change it";
            report("managed", "Windows", help);
        }
        return;
    }
    if host.hostname.is_some() {
        let help = "remove it; the host keeps its host name, the Node is named `name`";
        report("hostname", "Linux", help);
    }
    let help = "remove it, and set it with `kubectl` on Linux nodes";
    if !host.labels.is_empty() {
        report("labels", "Linux", help);
    }
    if host.taints != defaults::taints(host.os.family()) {
        report("taints", "Linux", help);
    }
}
