//! The cluster file for simulated hosts, as a user would write it.

use std::fmt::Write as _;

use super::{SimNetwork, SimOptions, windows_of};
use crate::api_server::Seed;
use crate::{SimHost, SimSystem};

const PROGRAMS: [&str; 6] = [
    "kubelet",
    "kubeadm",
    "kube-proxy",
    "containerd",
    "containerd-shim-runhcs-v1",
    "host-local",
];

pub(super) fn programs(network: &SimNetwork) -> impl Iterator<Item = &'static str> {
    let extra: &[&str] = match network {
        SimNetwork::Routes => &["win-bridge"],
        SimNetwork::Overlay(_) => &["flanneld", "flannel", "win-overlay"],
    };
    PROGRAMS.iter().chain(extra).copied()
}

pub(super) fn text(hosts: &[SimHost], seed: &Seed, options: &SimOptions) -> String {
    let mode = match options.network {
        SimNetwork::Routes => "l3-routes",
        SimNetwork::Overlay(_) => "flannel-overlay",
    };
    let mut text = format!(
        "# A cluster of simulated hosts, created by `casement demo`.\n\
         apiVersion: casement.dev/v1alpha1\nkind: Cluster\nmetadata:\n  name: demo\nspec:\n  \
         kubernetes:\n    version: {}\n    podCidr: {}\n    serviceCidr: {}\n  \
         existing:\n    kubeconfig: ./admin.conf\n  network:\n    mode: {mode}\n  hosts:\n",
        seed.kubernetes.trim_start_matches('v'),
        seed.pod_network,
        seed.service_network,
    );
    for (index, host) in hosts.iter().enumerate() {
        let (spec, port) = (host.spec(), host.port());
        let (name, address, managed) = (&spec.name, spec.address, options.linux_managed);
        // Writing to a String cannot fail.
        let _ = match spec.system {
            SimSystem::Linux => writeln!(
                text,
                "    - {{name: {name}, address: {address}, os: linux, roles: [worker], \
                 managed: {managed},\n       access: {{ssh: {{user: root, port: {port}}}}}}}"
            ),
            SimSystem::Windows => writeln!(
                text,
                "    - {{name: {name}, address: {address}, os: windows-{}, roles: [worker],\n       \
                 access: {{ssh: {{port: {port}}}}}}}",
                windows_of(index).0
            ),
        };
    }
    if !options.repair {
        text += "  windows:\n    repair: report\n";
    }
    text += "  access:\n    ssh:\n      user: Administrator\n      key: ./id_ed25519\n      \
             knownHosts: ./known_hosts\n  artifacts:\n    overrides:\n";
    for program in programs(&options.network) {
        text += &format!("      {program}: ./programs/{program}.exe\n");
    }
    text
}
