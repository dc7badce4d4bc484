//! Writes the layout as a cluster file.

use super::KubeInit;
use super::layout::{Layout, Size};
use crate::import::draft::{self, DEFAULT_VERSION, Draft};
use crate::import::yaml_writer::YamlWriter;

pub(super) fn draft(options: &KubeInit<'_>, layout: Layout) -> Draft {
    let from = [
        format!(
            "Created by `casement init` from the KubeInit spec `{}`.",
            options.spec.replace(char::is_control, " ")
        ),
        "Run `casement lint` to check it.".to_owned(),
    ];
    let mut yaml = draft::begin(&layout.name, "", &from);
    yaml.open("kubernetes", "");
    yaml.text(
        "version",
        DEFAULT_VERSION,
        "KubeInit installs 1.26, which is out of date",
    );
    yaml.text("podCidr", "10.244.0.0/16", "KubeInit default");
    if let Some(service) = layout.nodes.iter().find(|node| node.role == "services") {
        let endpoint = format!("{}:6443", service.address);
        yaml.text("endpoint", &endpoint, "HAProxy on the service node");
    }
    yaml.close();
    yaml.blank();
    yaml.open("network", "");
    yaml.text(
        "mode",
        "flannel-overlay",
        "KubeInit default: VNI 4096, port 4789",
    );
    yaml.close();
    yaml.blank();
    hosts(&mut yaml, &layout);
    yaml.blank();
    machines(&mut yaml, &layout);
    yaml.blank();
    yaml.open("access", "");
    yaml.open("ssh", "");
    yaml.text("user", "root", "KubeInit user, also on Windows");
    yaml.text("key", "~/.ssh/id_ed25519", "");
    yaml.close();
    yaml.close();
    draft::end(yaml, layout.notes)
}

fn hosts(yaml: &mut YamlWriter, layout: &Layout) {
    yaml.comment("Addresses as assigned by KubeInit: controllers, computes, and the service node from the end.");
    yaml.open("hosts", "");
    for node in &layout.nodes {
        yaml.item();
        yaml.text("name", &node.name, "");
        yaml.text("address", &node.address.to_string(), "");
        yaml.text("os", node.os, "");
        yaml.list("roles", &[node.role.to_owned()], "");
        yaml.close();
    }
    yaml.close();
}

fn machines(yaml: &mut YamlWriter, layout: &Layout) {
    yaml.open("machines", "");
    yaml.open("libvirt", "");
    yaml.open("hypervisors", "");
    for hypervisor in &layout.hypervisors {
        yaml.item();
        yaml.text("name", &hypervisor.name, "");
        yaml.text("address", &hypervisor.address, "");
        if let Some(user) = &hypervisor.user {
            yaml.open("access", "");
            yaml.open("ssh", "");
            yaml.text("user", user, "ssh_username");
            yaml.close();
            yaml.close();
        }
        yaml.close();
    }
    yaml.close();
    yaml.text("network", &layout.network, "");
    yaml.open("sizes", "");
    size(yaml, "control-plane", &layout.controllers);
    let windows = |windows: bool| {
        let mut workers = layout.nodes.iter().filter(|node| node.role == "worker");
        workers.any(|node| node.os.starts_with("windows") == windows)
    };
    if windows(true) {
        size(yaml, "windows-worker", &layout.computes);
    }
    if windows(false) {
        size(yaml, "linux-worker", &layout.computes);
    }
    yaml.close();
    yaml.close();
    yaml.close();
}

fn size(yaml: &mut YamlWriter, group: &str, size: &Size) {
    let Size { cpus, memory, disk } = size;
    yaml.raw(
        group,
        &format!("{{cpus: {cpus}, memory: {memory}, disk: {disk}}}"),
        "",
    );
}
