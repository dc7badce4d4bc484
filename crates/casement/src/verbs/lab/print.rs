//! What `casement lab` prints.

use std::path::Path;

use casement_lab::problem::{self, Result};
use casement_lab::state::record::Record;
use casement_lab::status::HostStatus;
use casement_lab::up::Up;

/// The end of `lab up`: where things are, and what to try.
pub fn up(up: &Up) {
    let folder = up.folder.display();
    let named = match up.record.name.as_str() {
        "default" => String::new(),
        name => format!(" --name {name}"),
    };
    println!("{}", if up.already { "Already up:" } else { "Up:" });
    println!("  {folder}/cluster.yaml");
    if up.record.has_control_plane() {
        println!("  {folder}/admin.conf");
    }
    println!("  {folder}/ssh_config (with id_ed25519 and known_hosts)");
    println!("Try:");
    if let Some(host) = up
        .record
        .hosts
        .iter()
        .find(|host| host.name.starts_with("win"))
    {
        println!("  casement lab{named} exec {} -- cmd /c ver", host.name);
        println!("  ssh -F {folder}/ssh_config {} ver", host.name);
    }
    if up.record.has_control_plane() {
        println!("  casement lab{named} exec control-plane -- kubectl get nodes -o wide");
    }
    println!("  casement lab{named} down");
}

/// The hosts of a lab.
pub fn status(folder: &Path, record: &Record, hosts: &[HostStatus], json: bool) -> Result<()> {
    if json {
        let document = serde_json::json!({
            "name": record.name,
            "folder": folder,
            "hosts": hosts,
        });
        let text = serde_json::to_string_pretty(&document)
            .map_err(|error| problem::file("write", folder, &error.into()))?;
        println!("{text}");
        return Ok(());
    }
    println!(
        "{:<14} {:<15} {:<9} {:<5} SYSTEM",
        "HOST", "ADDRESS", "STATE", "BOOTS"
    );
    for host in hosts {
        println!(
            "{:<14} {:<15} {:<9} {:<5} {}",
            host.name,
            host.address.to_string(),
            host.state,
            host.boots,
            host.system
        );
        for program in &host.ended {
            println!("{:<14} {program} ended: see log/{program}.log", "");
        }
    }
    println!("Files are in {}", folder.display());
    Ok(())
}
