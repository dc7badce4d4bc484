//! Converts an inventory into a cluster file.
//!
//! Supports the groups and variables of kubespray, old and new, and of
//! kubernetes-for-windows. Everything else is listed as not imported.

mod access;
mod hosts;
mod network;
mod roles;
mod settings;
mod variables;

use super::ansible::Inventory;
use super::draft::{self, Draft, Notes};
use variables::Variables;

/// Converts an inventory; `name` is its file name.
pub fn from_inventory(name: &str, inventory: &Inventory) -> Draft {
    let mut notes = Notes::default();
    let mut variables = Variables::new(inventory);
    let hosts = hosts::collect_hosts(&mut variables, &mut notes);
    let from = [
        format!(
            "Created by `casement init` from `{name}`; comments show the source of each value."
        ),
        "Run `casement lint` to check it and `casement plan` to see what would change.".to_owned(),
    ];
    let (cluster, comment) = cluster_name(name);
    let mut yaml = draft::begin(&cluster, comment, &from);
    let windows = hosts.iter().any(|host| host.windows);
    settings::kubernetes(&mut yaml, &mut variables, &mut notes);
    yaml.blank();
    yaml.comment("The inventory describes a cluster created by Ansible. Without `existing`, casement creates a control plane.");
    yaml.open("existing", "");
    yaml.text(
        "kubeconfig",
        "./admin.conf",
        "copy /etc/kubernetes/admin.conf from a control-plane host",
    );
    yaml.close();
    yaml.blank();
    network::write(&mut yaml, &mut variables, windows, &mut notes);
    settings::runtime(&mut yaml, &mut variables, &mut notes);
    settings::proxy(&mut yaml, &mut variables, &mut notes);
    let shared = access::SharedLogins::new(&hosts);
    yaml.blank();
    hosts::write(&mut yaml, &hosts, &shared);
    access::write(&mut yaml, &shared, &mut variables, &mut notes);
    variables.report_unused(&mut notes);
    draft::end(yaml, notes)
}

/// The file name, unless it is generic.
fn cluster_name(file: &str) -> (String, &'static str) {
    let base = file.rsplit(['/', '\\']).next().unwrap_or_default();
    let stem = base.split('.').next().unwrap_or_default();
    let generic = ["hosts", "inventory", "host", "kubernetes", "cluster"];
    let parsed = stem.parse::<casement_spec::ClusterName>();
    match parsed.ok().filter(|name| !generic.contains(&name.as_str())) {
        Some(name) => (
            name.as_str().to_owned(),
            "from the file name of the inventory",
        ),
        None => (
            "imported".to_owned(),
            "not in the inventory; choose any name",
        ),
    }
}
