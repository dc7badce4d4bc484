//! Checks the requirements on this machine before anything is created.

use std::path::Path;

use crate::command::package_of;
use crate::problem::{Problem, Result};
use crate::up::LabOptions;
use crate::wine;

#[rustfmt::skip]
pub const TOOLS: [&str; 10] = [
    "ip", "ss", "iptables", "unshare", "nsenter", "setpriv", "setsid", "mount", "ssh-keygen",
    "sshd",
];

/// Reports all missing programs at once.
pub fn requirements(options: &LabOptions) -> Result<()> {
    root()?;
    let mut missing: Vec<&str> = TOOLS.into_iter().filter(|tool| !on_path(tool)).collect();
    if options.windows_hosts > 0 && !Path::new(wine::loader()).exists() {
        missing.push("wine");
    }
    if missing.is_empty() {
        return Ok(());
    }
    let mut packages: Vec<&str> = missing.iter().filter_map(|tool| package_of(tool)).collect();
    packages.sort_unstable();
    packages.dedup();
    let mut remedy = format!("run `apt-get install {}`", packages.join(" "));
    if missing == ["wine"] {
        remedy += "\n`casement lab up --level kube` starts a control plane without Windows hosts";
    }
    Err(Problem::new(
        "CAS-LAB-002",
        "programs that the lab needs are missing",
        remedy,
    )
    .detail("missing", missing.join(", ")))
}

/// Namespaces, bridges and mounts need root.
pub fn root() -> Result<()> {
    if rustix::process::geteuid().is_root() {
        return Ok(());
    }
    Err(Problem::new(
        "CAS-LAB-001",
        "`casement lab` needs root",
        "run it with sudo: it creates network namespaces, a bridge and mounts, and\n\
         writes only below XDG_STATE_HOME and XDG_CACHE_HOME; `casement lab down`\n\
         removes everything but the build cache",
    )
    .detail(
        "user",
        format!("uid {}", rustix::process::geteuid().as_raw()),
    ))
}

fn on_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let dirs = std::env::split_paths(&path);
    // Not every user has sbin in PATH.
    let more = ["/usr/sbin", "/sbin"].map(Into::into);
    dirs.chain(more).any(|dir| dir.join(program).is_file())
}
