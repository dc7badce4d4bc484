//! From an inventory to a cluster file.
//!
//! Knows the groups of kubespray, old and new, and of kubernetes-for-windows,
//! and the variables of both. What it does not know it lists.

mod access;
mod hosts;
#[path = "inventory_draft/variables.rs"]
mod known;
mod network;
mod roles;
mod settings;

use super::ansible::Inventory;
use super::draft::{self, Draft, Notes};
use known::Known;

/// A cluster file with what an inventory says; `name` is what the inventory is
/// called in the file.
pub fn from_inventory(name: &str, inventory: &Inventory) -> Draft {
    let mut notes = Notes::default();
    let mut known = Known::new(inventory);
    let hosts = hosts::gather(&mut known, &mut notes);
    let from = [
        format!("Made by `casement init` from `{name}`; comments say what came from where."),
        "`casement lint` says what is wrong with it, `casement plan` what it would change."
            .to_owned(),
    ];
    let (cluster, comment) = cluster_name(name);
    let mut sheet = draft::begin(&cluster, comment, &from);
    let windows = hosts.iter().any(|host| host.windows);
    settings::kubernetes(&mut sheet, &mut known, &mut notes);
    sheet.blank();
    sheet.comment("The inventory describes a cluster that Ansible made. Without `existing` casement makes the control plane itself.");
    sheet.open("existing", "");
    sheet.text(
        "kubeconfig",
        "./admin.conf",
        "/etc/kubernetes/admin.conf of a control plane",
    );
    sheet.close();
    sheet.blank();
    network::write(&mut sheet, &mut known, windows, &mut notes);
    settings::runtime(&mut sheet, &mut known, &mut notes);
    settings::proxy(&mut sheet, &mut known, &mut notes);
    let shared = access::Shared::of(&hosts);
    sheet.blank();
    hosts::write(&mut sheet, &hosts, &shared);
    access::write(&mut sheet, &shared, &mut known, &mut notes);
    known.leftovers(&mut notes);
    draft::end(sheet, notes)
}

/// The file's own name where it says something.
fn cluster_name(file: &str) -> (String, &'static str) {
    let base = file.rsplit(['/', '\\']).next().unwrap_or_default();
    let stem = base.split('.').next().unwrap_or_default();
    let usual = ["hosts", "inventory", "host", "kubernetes", "cluster"];
    let own = stem.parse::<casement_spec::ClusterName>();
    match own.ok().filter(|name| !usual.contains(&name.as_str())) {
        Some(name) => (name.as_str().to_owned(), "from the inventory's name"),
        None => (
            "imported".to_owned(),
            "no inventory has one; any name will do",
        ),
    }
}
