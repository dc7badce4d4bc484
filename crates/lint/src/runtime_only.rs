//! Known failures that cannot be detected in files.

/// A known failure that only an inspection of hosts, registries or the cluster can
/// find.
#[derive(Debug, Clone, Copy)]
pub struct RuntimeOnly {
    /// The entry in the list of known failures.
    pub covers: &'static str,
    /// What has to be inspected.
    pub needs: &'static str,
}

/// Checked by `casement doctor`.
pub const RUNTIME_ONLY: &[RuntimeOnly] = &[
    RuntimeOnly {
        covers: "L026",
        needs: "the update level of each Windows host: DSR needs 17763.1554",
    },
    RuntimeOnly {
        covers: "L034",
        needs: "the registry: the operating systems that an image supports",
    },
    RuntimeOnly {
        covers: "L047",
        needs: "the update level of each Windows host, compared with updates with known faults",
    },
    RuntimeOnly {
        covers: "L048",
        needs: "the network adapters of each host",
    },
    RuntimeOnly {
        covers: "L050",
        needs: "whether the address of a host is static",
    },
    RuntimeOnly {
        covers: "L052",
        needs: "the firewalls between the hosts",
    },
    RuntimeOnly {
        covers: "L087",
        needs: "whether a Linux host runs on VMware, and the offload settings of its VXLAN device",
    },
    RuntimeOnly {
        covers: "L088",
        needs: "whether the hypervisor allows a machine to send from other MAC addresses",
    },
    RuntimeOnly {
        covers: "L089",
        needs: "the current mode and network of the cluster and its hosts, compared with the file",
    },
];
