//! Checks the requirements on this machine before anything is created.

use crate::command::package_of;
use crate::problem::{Problem, Result};
use crate::up::LabOptions;
use crate::wine;

/// The programs that every lab runs.
#[rustfmt::skip]
pub const TOOLS: [&str; 17] = [
    "ip", "ss", "bridge", "iptables", "unshare", "nsenter", "setpriv", "setsid", "mount",
    "umount", "pivot_root", "hostname", "sysctl", "sh", "bash", "ssh-keygen", "sshd",
];

/// Reports all missing programs at once.
pub fn requirements(options: &LabOptions) -> Result<()> {
    root()?;
    let mut missing: Vec<&str> = TOOLS.into_iter().filter(|tool| !on_path(tool)).collect();
    if options.windows_hosts > 0 && !wine::is_installed() {
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

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};

    use super::*;

    #[test]
    fn every_tool_has_a_package() {
        for tool in TOOLS {
            assert!(package_of(tool).is_some(), "{tool}");
        }
    }

    /// Checked elsewhere, or part of the host that the command runs in.
    const OTHERS: [&str; 4] = ["go", "/run/cmd", "/usr/bin/env", "/usr/sbin/sshd"];

    #[test]
    fn every_command_is_checked() {
        let mut found = 0;
        for source in sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src")) {
            let text = fs::read_to_string(&source).unwrap();
            for call in ["command(\"", "killed_with_parent(\"", "commands.run(\""] {
                for (_, rest) in text.match_indices(call).map(|(at, _)| text.split_at(at)) {
                    let program = rest.split('"').nth(1).unwrap();
                    // This test quotes the calls.
                    if program.ends_with('\\') {
                        continue;
                    }
                    found += 1;
                    let checked = TOOLS.contains(&program) || OTHERS.contains(&program);
                    assert!(checked, "`{program}` in {}", source.display());
                }
            }
        }
        assert!(found > 15, "{found}");
    }

    fn sources(dir: &Path) -> Vec<PathBuf> {
        let paths = fs::read_dir(dir).unwrap().map(|it| it.unwrap().path());
        let (dirs, files): (Vec<_>, Vec<_>) = paths.partition(|path| path.is_dir());
        let nested = dirs.iter().flat_map(|dir| sources(dir));
        files.into_iter().chain(nested).collect()
    }
}
