//! Output of `casement lab`.

use std::path::Path;

use casement_lab::state::record::Record;
use casement_lab::status::HostStatus;
use casement_lab::up::Up;

use crate::json;

/// After `lab up`: the files, and commands to try.
pub fn up(up: &Up) {
    let dir = up.dir.display();
    let option = match up.record.name.as_str() {
        "default" => String::new(),
        name => format!(" --name {name}"),
    };
    println!(
        "{}",
        if up.already {
            "Already up. Files:"
        } else {
            "Up. Files:"
        }
    );
    println!("  {dir}/cluster.yaml");
    if up.record.has_control_plane() {
        println!("  {dir}/admin.conf");
    }
    println!("  {dir}/ssh_config (with id_ed25519 and known_hosts)");
    println!("Try:");
    if let Some(host) = up
        .record
        .hosts
        .iter()
        .find(|host| host.name.starts_with("win"))
    {
        println!("  casement lab{option} exec {} -- cmd /c ver", host.name);
        println!("  ssh -F {dir}/ssh_config {} ver", host.name);
    }
    if up.record.has_control_plane() {
        println!("  casement lab{option} exec control-plane -- kubectl get nodes -o wide");
    }
    println!("  casement lab{option} down");
}

pub fn status(dir: &Path, record: &Record, hosts: Vec<HostStatus>, json: bool) {
    if json {
        let document = json::Lab {
            name: record.name.to_string(),
            folder: dir.display().to_string(),
            hosts,
        };
        print!("{}", json::text(&document));
        return;
    }
    println!(
        "{:<14} {:<15} {:<9} {:<5} OS",
        "HOST", "ADDRESS", "STATUS", "BOOTS"
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
            println!("{:<14} {program} exited: see log/{program}.log", "");
        }
    }
    println!("Files: {}", dir.display());
}
