//! The Linux host: a namespace with OpenSSH, so that there is a neighbour.

use std::net::Ipv4Addr;
use std::path::Path;

use crate::command;
use crate::exec;
use crate::host::furnish::inside;
use crate::host::init::Household;
use crate::host::neighbour;
use crate::host::ssh::{self, Login};
use crate::problem::{Problem, Result};
use crate::state::record::{CONTROL_PLANE, Host, HostKind, Record};

/// Starts what a Linux host has.
pub fn start(_host: &Host, household: &mut Household) -> Result<()> {
    let login = Login {
        user: "root",
        home: "/root",
        shell: "/bin/bash",
        sftp: "internal-sftp".to_owned(),
    };
    ssh::make_user(&login)?;
    ssh::serve(&login, household)
}

/// Gives the Linux host the gateway of the pod network that its Node was given,
/// so that a route to it leads somewhere.
pub fn give_pod_network(lab: &Path, record: &Record) -> Result<()> {
    let Some(host) = record.hosts.iter().find(|h| h.kind == HostKind::Linux) else {
        return Ok(());
    };
    let control_plane = exec::running(lab, CONTROL_PLANE)?;
    let kubectl = || {
        let program = format!("{}/linux/kubectl", inside::PARTS);
        control_plane.command(&program, ["--kubeconfig", "/etc/kubernetes/admin.conf"])
    };
    let cidr = neighbour::pod_cidr(kubectl, &host.name).ok_or_else(|| {
        Problem::new(
            "CAS-LAB-042",
            format!(
                "the Node `{}` was given no pod network within 20 s",
                host.name
            ),
            "see log/neighbour.log and log/kube-controller-manager.log of the control plane",
        )
    })?;
    let gateway = gateway_of(&cidr).ok_or_else(|| {
        let what = format!("`{cidr}` is no IPv4 network");
        Problem::new("CAS-LAB-042", what, "see the control plane's logs")
    })?;
    let linux = exec::running(lab, &host.name)?;
    let ip = |words: &[&str]| command::run(&mut linux.command("ip", words));
    if ip(&["link", "show", "cni0"]).is_err() {
        ip(&["link", "add", "cni0", "type", "bridge"])?;
    }
    ip(&["address", "replace", &gateway, "dev", "cni0"])?;
    ip(&["link", "set", "cni0", "up"])?;
    command::run(&mut linux.command("sysctl", ["-qw", "net.ipv4.ip_forward=1"]))
}

/// `10.244.3.0/24` → `10.244.3.1/24`.
fn gateway_of(cidr: &str) -> Option<String> {
    let (network, length) = cidr.split_once('/')?;
    let network: Ipv4Addr = network.parse().ok()?;
    let first = Ipv4Addr::from(u32::from(network).checked_add(1)?);
    Some(format!("{first}/{length}"))
}
