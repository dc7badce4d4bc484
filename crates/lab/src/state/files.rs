//! The files that `up` writes for the user: credentials, `ssh_config` and a spec.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use crate::control_plane::binaries;
use crate::control_plane::{POD_CIDR, SERVICE_CIDR};
use crate::problem::{AtPath, Result};
use crate::state::record::{HostKind, Record};
use crate::up::registry_name;

/// Written last, when the lab is complete.
const LAST: &str = "cluster.yaml";

pub fn are_written(lab: &Path) -> bool {
    lab.join(LAST).exists()
}

pub fn write(lab: &Path, record: &Record) -> Result<()> {
    if record.has_control_plane() {
        for (from, to) in [
            ("shared/admin.conf", "admin.conf"),
            ("shared/registry-ca.crt", "registry-ca.crt"),
        ] {
            let (from, to) = (lab.join(from), lab.join(to));
            fs::copy(&from, &to).at("copy", &from)?;
        }
    }
    for (name, text) in [
        ("ssh_config", ssh_configuration(lab, record)),
        (LAST, cluster_file(record)),
    ] {
        let path = lab.join(name);
        fs::write(&path, text).at("write", &path)?;
    }
    Ok(())
}

/// For `ssh -F …/ssh_config win1 ver`.
fn ssh_configuration(lab: &Path, record: &Record) -> String {
    let mut text = String::new();
    for host in &record.hosts {
        let user = match host.kind {
            HostKind::ControlPlane => continue,
            HostKind::Linux => "root",
            HostKind::Windows(_) => "Administrator",
        };
        text += &format!(
            "Host {}\n  HostName {}\n  User {user}\n  IdentityFile \"{}\"\n  \
             UserKnownHostsFile \"{}\"\n  IdentitiesOnly yes\n  StrictHostKeyChecking yes\n",
            host.name,
            record.address(host),
            lab.join("id_ed25519").display(),
            lab.join("known_hosts").display(),
        );
    }
    text
}

/// A cluster spec with the hosts that this lab has.
fn cluster_file(record: &Record) -> String {
    let mut text = format!(
        "# Written by `casement lab up`; removed by `casement lab down`.\n\
         apiVersion: casement.dev/v1alpha1\nkind: Cluster\nmetadata:\n  name: {}\nspec:\n",
        record.name
    );
    // Writing to a String cannot fail.
    let _ = kubernetes(&mut text, record);
    let _ = hosts(&mut text, record);
    let _ = access(&mut text, record);
    text
}

fn kubernetes(text: &mut String, record: &Record) -> std::fmt::Result {
    let version = binaries::KUBERNETES.trim_start_matches('v');
    writeln!(text, "  kubernetes:\n    version: {version}")?;
    writeln!(
        text,
        "    podCidr: {POD_CIDR}\n    serviceCidr: {SERVICE_CIDR}"
    )?;
    if record.has_control_plane() {
        writeln!(text, "  existing:\n    kubeconfig: ./admin.conf")?;
    }
    writeln!(text, "  network:\n    mode: l3-routes")
}

fn hosts(text: &mut String, record: &Record) -> std::fmt::Result {
    writeln!(text, "  hosts:")?;
    for host in &record.hosts {
        let address = record.address(host);
        let (os, more) = match host.kind {
            HostKind::ControlPlane => continue,
            HostKind::Linux => (
                "linux".to_owned(),
                ", managed: true, access: {ssh: {user: root}}",
            ),
            HostKind::Windows(release) => (format!("windows-{}", release.year()), ""),
        };
        let name = &host.name;
        writeln!(
            text,
            "    - {{name: {name}, address: {address}, os: {os}, roles: [worker]{more}}}"
        )?;
    }
    Ok(())
}

fn access(text: &mut String, record: &Record) -> std::fmt::Result {
    writeln!(text, "  access:\n    ssh:\n      user: Administrator")?;
    writeln!(
        text,
        "      key: ./id_ed25519\n      knownHosts: ./known_hosts"
    )?;
    if let Some(binaries) = record
        .binaries
        .as_ref()
        .filter(|_| record.has_control_plane())
    {
        let registry = registry_name(record);
        writeln!(
            text,
            "  images:\n    registry: {registry}\n    ca: ./registry-ca.crt"
        )?;
        writeln!(text, "  artifacts:\n    overrides:")?;
        for name in [
            "kubelet",
            "kubeadm",
            "kube-proxy",
            "containerd",
            "ctr",
            "win-bridge",
            "host-local",
        ] {
            let path = binaries.join("windows").join(format!("{name}.exe"));
            writeln!(text, "      {name}: {}", path.display())?;
        }
        if let Some(windows) = &record.windows {
            let shim = windows.join("containerd-shim-runhcs-v1.exe");
            writeln!(text, "      containerd-shim-runhcs-v1: {}", shim.display())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::record::{CONTROL_PLANE, Host};

    fn record(kind: HostKind) -> Record {
        let host = Host {
            name: CONTROL_PLANE.to_owned(),
            kind,
            number: 10,
            boots: 1,
        };
        Record {
            name: "default".to_owned(),
            slot: 0,
            hosts: vec![host],
            binaries: None,
            windows: None,
            template: None,
        }
    }

    #[test]
    fn files_are_written_only_if_all_of_them_are() {
        let dir = tempfile::tempdir().unwrap();
        assert!(!are_written(dir.path()));
        // Without the kubeconfig of the control plane.
        assert!(write(dir.path(), &record(HostKind::ControlPlane)).is_err());
        assert!(!are_written(dir.path()));
        write(dir.path(), &record(HostKind::Linux)).unwrap();
        assert!(are_written(dir.path()));
        assert!(dir.path().join("ssh_config").exists());
    }
}
