//! Output of `casement lab`.

use std::path::Path;

use casement_lab::state::record::Record;
use casement_lab::status::HostStatus;
use casement_lab::up::Up;

use crate::json;

/// After `lab up`: the files, and commands to try.
pub fn up(up: &Up) {
    print!("{}", up_text(up));
}

fn up_text(up: &Up) -> String {
    let dir = up.dir.display();
    let option = match up.record.name.as_str() {
        "default" => String::new(),
        name => format!(" --name {name}"),
    };
    let files = if up.already {
        "Already up. Files:"
    } else {
        "Up. Files:"
    };
    let mut lines = vec![files.to_owned(), format!("  {dir}/cluster.yaml")];
    if up.record.has_control_plane() {
        lines.push(format!("  {dir}/admin.conf"));
    }
    lines.push(format!(
        "  {dir}/ssh_config (with id_ed25519 and known_hosts)"
    ));
    lines.push("Try:".to_owned());
    let mut hosts = up.record.hosts.iter();
    if let Some(host) = hosts.find(|host| host.name.starts_with("win")) {
        lines.push(format!(
            "  casement lab{option} exec {} -- cmd /c ver",
            host.name
        ));
        lines.push(format!("  ssh -F {dir}/ssh_config {} ver", host.name));
    }
    if up.record.has_control_plane() {
        lines.push(format!(
            "  casement lab{option} exec control-plane -- kubectl get nodes -o wide"
        ));
    }
    lines.push(format!("  casement lab{option} down\n"));
    lines.join("\n")
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readme_shows_the_files_of_the_lab() {
        let up = Up {
            dir: "~/.local/state/casement/lab/default".into(),
            record: Record {
                name: "default".to_owned(),
                slot: 0,
                hosts: Vec::new(),
                binaries: None,
                windows: None,
                template: None,
            },
            already: false,
        };
        let text = up_text(&up);
        let first: Vec<&str> = text.lines().take(2).collect();
        let readme = include_str!("../../../../../README.md");
        let shown = format!("{}\n  …\n", first.join("\n"));
        assert!(readme.contains(&shown), "{shown}");
    }
}
