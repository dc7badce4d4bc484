//! The plan as a cluster file.

use super::KubeInit;
use super::plan::{Plan, Size};
use crate::import::draft::{self, Draft, VERSION};
use crate::import::sheet::Sheet;

pub(super) fn draft(told: &KubeInit<'_>, plan: Plan) -> Draft {
    let from = [
        format!(
            "Made by `casement init` from the KubeInit spec `{}`.",
            told.spec.replace(char::is_control, " ")
        ),
        "`casement lint` says what is wrong with it.".to_owned(),
    ];
    let mut sheet = draft::begin(&plan.name, "", &from);
    sheet.open("kubernetes", "");
    sheet.text("version", VERSION, "KubeInit's own 1.26 is out of date");
    sheet.text("podCidr", "10.244.0.0/16", "as KubeInit has it");
    if let Some(service) = plan.nodes.iter().find(|node| node.role == "services") {
        let endpoint = format!("{}:6443", service.address);
        sheet.text(
            "endpoint",
            &endpoint,
            "KubeInit's HAProxy on the service node",
        );
    }
    sheet.close();
    sheet.blank();
    sheet.open("network", "");
    sheet.text(
        "mode",
        "flannel-overlay",
        "as KubeInit has it: VNI 4096, port 4789",
    );
    sheet.close();
    sheet.blank();
    hosts(&mut sheet, &plan);
    sheet.blank();
    machines(&mut sheet, &plan);
    sheet.blank();
    sheet.open("access", "");
    sheet.open("ssh", "");
    sheet.text("user", "root", "as KubeInit logs in, on Windows too");
    sheet.text("key", "~/.ssh/id_ed25519", "");
    sheet.close();
    sheet.close();
    draft::end(sheet, plan.notes)
}

fn hosts(sheet: &mut Sheet, plan: &Plan) {
    sheet.comment("Addresses as KubeInit gives them out: controllers, computes, and the service node from the top.");
    sheet.open("hosts", "");
    for node in &plan.nodes {
        sheet.item();
        sheet.text("name", &node.name, "");
        sheet.text("address", &node.address.to_string(), "");
        sheet.text("os", node.os, "");
        sheet.list("roles", &[node.role.to_owned()], "");
        sheet.close();
    }
    sheet.close();
}

fn machines(sheet: &mut Sheet, plan: &Plan) {
    sheet.open("machines", "");
    sheet.open("libvirt", "");
    sheet.open("hypervisors", "");
    for hypervisor in &plan.hypervisors {
        sheet.item();
        sheet.text("name", &hypervisor.name, "");
        sheet.text("address", &hypervisor.address, "");
        if let Some(user) = &hypervisor.user {
            sheet.open("access", "");
            sheet.open("ssh", "");
            sheet.text("user", user, "ssh_username");
            sheet.close();
            sheet.close();
        }
        sheet.close();
    }
    sheet.close();
    sheet.text("network", &plan.network, "");
    sheet.open("sizes", "");
    size(sheet, "control-plane", &plan.controllers);
    let windows = |windows: bool| {
        let mut workers = plan.nodes.iter().filter(|node| node.role == "worker");
        workers.any(|node| node.os.starts_with("windows") == windows)
    };
    if windows(true) {
        size(sheet, "windows-worker", &plan.computes);
    }
    if windows(false) {
        size(sheet, "linux-worker", &plan.computes);
    }
    sheet.close();
    sheet.close();
    sheet.close();
}

fn size(sheet: &mut Sheet, group: &str, size: &Size) {
    let Size { cpus, memory, disk } = size;
    sheet.raw(
        group,
        &format!("{{cpus: {cpus}, memory: {memory}, disk: {disk}}}"),
        "",
    );
}
