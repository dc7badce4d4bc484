//! The Linux host: namespaces with OpenSSH, and a pod network for its Node.

use std::net::Ipv4Addr;
use std::path::Path;

use crate::command;
use crate::exec;
use crate::host::init::Supervisor;
use crate::host::linux_node;
use crate::host::rootfs::inside;
use crate::host::ssh::{self, Login};
use crate::problem::{Problem, Result};
use crate::state::record::{CONTROL_PLANE, Host, HostKind, Record};

pub fn start(_host: &Host, supervisor: &mut Supervisor) -> Result<()> {
    let login = Login {
        user: "root",
        home: "/root",
        shell: "/bin/bash",
        sftp: "internal-sftp".to_owned(),
    };
    ssh::make_user(&login)?;
    ssh::serve(&login, supervisor)
}

/// Creates a bridge with the gateway address of the Node's pod network, so that
/// routes of other nodes to this network work.
pub fn set_up_pod_network(lab: &Path, record: &Record) -> Result<()> {
    let Some(host) = record.hosts.iter().find(|h| h.kind == HostKind::Linux) else {
        return Ok(());
    };
    let control_plane = exec::running(lab, CONTROL_PLANE)?;
    let kubectl = || {
        let program = format!("{}/linux/kubectl", inside::BINARIES);
        control_plane.command(&program, ["--kubeconfig", "/etc/kubernetes/admin.conf"])
    };
    let cidr = linux_node::pod_cidr(kubectl, &host.name).ok_or_else(|| {
        Problem::new(
            "CAS-LAB-042",
            format!("Node `{}` got no pod network within 20 s", host.name),
            "see log/neighbour.log and log/kube-controller-manager.log of host control-plane",
        )
    })?;
    let gateway = gateway_of(&cidr).ok_or_else(|| {
        let what = format!("pod network `{cidr}` is not an IPv4 network");
        Problem::new("CAS-LAB-042", what, "see the logs of host control-plane")
    })?;
    let linux = exec::running(lab, &host.name)?;
    let ip = |arguments: &[&str]| command::run(&mut linux.command("ip", arguments));
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
