//! What one host says.

use casement_diag::{Diagnostic, FieldPath};
use casement_spec::{Host, HostOs, Role, defaults};

use super::{LEAVE_OUT, Refusals, VALUE, access};

/// One host.
pub(super) fn host(refusals: &mut Refusals<'_>, at: &FieldPath, host: &Host) {
    let older = matches!(
        host.os,
        HostOs::Windows2016 | HostOs::Windows1709 | HostOs::Windows1803
    );
    if older {
        let help = "of the Windows Servers, `windows-2019`, `windows-2022` and `windows-2025` are";
        refusals.value(at.field("os"), host.os, help);
    }
    roles(refusals, at, host);
    on_this_system(refusals, at, host);
    let interface = "leave it out: it is the one that has the host's address";
    refusals.field_if_given(at.field("interface"), host.interface.as_ref(), interface);
    access::host(refusals, &at.field("access"), &host.access);
    let pods = "leave it out: the cluster gives each node its pod network";
    refusals.field_if_given(at.field("podCidr"), host.pod_cidr.as_ref(), pods);
    let there = !host.kubelet_args.is_empty();
    refusals.field_if(at.field("kubeletArgs"), there, LEAVE_OUT);
    let state = if host.os.is_windows() {
        "leave it out: it is %ProgramData%\\casement"
    } else {
        "leave it out: it is /var/lib/casement"
    };
    let folder = host.state_dir.as_ref().map(|folder| folder.as_str());
    refusals.field_if_given(at.field("stateDir"), folder.as_ref(), state);
}

/// A role has a place of its own in a list that may have been written in
/// another order; the list as a whole is pointed at.
fn roles(refusals: &mut Refusals<'_>, at: &FieldPath, host: &Host) {
    for role in host.roles.iter().filter(|role| **role != Role::Worker) {
        let message = format!("the role `{role}` is not supported yet");
        let finding = Diagnostic::error(at.field("roles"), message).code(VALUE);
        refusals.found.push(
            finding.help("`worker` is; leave out the control plane's hosts: `existing` names it"),
        );
    }
}

/// What one kind of host cannot be told yet.
fn on_this_system(refusals: &mut Refusals<'_>, at: &FieldPath, host: &Host) {
    let mut refuse = |name: &str, system: &str, help: &str| {
        let path = at.field(name);
        let said = super::message(&path, None);
        let said = said.replace("` is", &format!("` on a {system} host is"));
        let finding = Diagnostic::error(path, said).code(VALUE);
        refusals.found.push(finding.help(help));
    };
    if host.os.is_windows() {
        if !host.managed {
            let help = "take the host out of the list to leave it alone";
            refuse("managed", "Windows", help);
        }
        return;
    }
    if host.hostname.is_some() {
        let help = "leave it out: the host keeps its own, the Node is called `name`";
        refuse("hostname", "Linux", help);
    }
    let help = "use `kubectl` for Linux nodes of an existing cluster";
    if !host.labels.is_empty() {
        refuse("labels", "Linux", help);
    }
    if host.taints != defaults::taints(host.os.family()) {
        refuse("taints", "Linux", help);
    }
}
