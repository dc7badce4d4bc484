//! What the machine must have, asked before anything is done.

use std::path::Path;

use crate::command::package_of;
use crate::problem::{Problem, Result};
use crate::up::Wanted;
use crate::wine;

/// Everything that the wanted lab needs of the machine, told in one go.
pub fn machine(wanted: &Wanted) -> Result<()> {
    root()?;
    #[rustfmt::skip]
    let tools = [
        "ip", "ss", "iptables", "unshare", "nsenter", "setpriv", "setsid", "mount", "ssh-keygen",
        "sshd",
    ];
    let mut missing: Vec<&str> = tools.into_iter().filter(|tool| !on_path(tool)).collect();
    if wanted.windows_hosts > 0 && !Path::new(wine::loader()).exists() {
        missing.push("wine");
    }
    if missing.is_empty() {
        return Ok(());
    }
    let mut packages: Vec<&str> = missing.iter().filter_map(|tool| package_of(tool)).collect();
    packages.sort_unstable();
    packages.dedup();
    let mut remedy = format!("apt-get install {}", packages.join(" "));
    if missing == ["wine"] {
        remedy += "\n`casement lab up --level kube` gives a control plane without Windows hosts";
    }
    Err(Problem::new(
        "CAS-LAB-002",
        "programs that the lab stands on are missing",
        remedy,
    )
    .seen("missing", missing.join(", ")))
}

/// Namespaces, bridges and mounts are root's to make.
pub fn root() -> Result<()> {
    if rustix::process::geteuid().is_root() {
        return Ok(());
    }
    Err(Problem::new(
        "CAS-LAB-001",
        "the lab needs root",
        "sudo casement lab …; it makes network namespaces, a bridge and mounts,\n\
         writes only below XDG_STATE_HOME and XDG_CACHE_HOME, and `lab down` takes all of it back",
    )
    .seen(
        "you are",
        format!("user {}", rustix::process::geteuid().as_raw()),
    ))
}

fn on_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path);
    // sbin is not on everybody's PATH.
    let more = ["/usr/sbin", "/sbin"].map(Into::into);
    folders
        .chain(more)
        .any(|folder| folder.join(program).is_file())
}
