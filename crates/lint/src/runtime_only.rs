//! What neither a cluster file nor other files can tell.

/// A known failure that only a look at hosts, registries or clusters can find.
#[derive(Debug, Clone, Copy)]
pub struct Observed {
    /// The entry in the list of known failures.
    pub answers: &'static str,
    /// What would have to be looked at.
    pub needs: &'static str,
}

/// Left to `casement doctor`.
pub const OBSERVED: &[Observed] = &[
    Observed {
        answers: "L026",
        needs: "the update level of each Windows host: DSR needs 17763.1554",
    },
    Observed {
        answers: "L034",
        needs: "the registry: which operating systems an image has",
    },
    Observed {
        answers: "L047",
        needs: "the update level of each Windows host, against the known bad ones",
    },
    Observed {
        answers: "L048",
        needs: "the network adapters of each host",
    },
    Observed {
        answers: "L050",
        needs: "whether a host's address is static",
    },
    Observed {
        answers: "L052",
        needs: "the firewalls between the hosts",
    },
    Observed {
        answers: "L087",
        needs: "whether a Linux host runs on VMware, and the offloads of its VXLAN device",
    },
    Observed {
        answers: "L088",
        needs: "what the hypervisor lets a machine send: other MAC addresses than its own",
    },
    Observed {
        answers: "L089",
        needs: "what the cluster and its hosts have now, against another mode or network in the file",
    },
];
