//! The hosts, and what they are for.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

use serde::Serialize;

use crate::named::named;
use crate::{HostAccess, HostName, LabelKey, LabelValue, Taint};

named! {
    /// The operating system of a host.
    pub enum HostOs {
        /// Windows Server 2022
        Windows2022 = "windows-2022",
        /// Windows Server 2019
        Windows2019 = "windows-2019",
        /// Windows Server 2025
        Windows2025 = "windows-2025",
        /// Windows Server, which one is found out
        Windows = "windows",
        /// Ubuntu 22.04
        Ubuntu2204 = "ubuntu-22.04",
        /// Ubuntu 24.04
        Ubuntu2404 = "ubuntu-24.04",
        /// Debian 12
        Debian12 = "debian-12",
        /// Debian 13
        Debian13 = "debian-13",
        /// Linux, which one is found out
        Linux = "linux",
    }
}

/// The two kinds of operating system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OsFamily {
    /// Any Windows Server.
    Windows,
    /// Any Linux.
    Linux,
}

impl HostOs {
    /// Which kind it is.
    pub fn family(self) -> OsFamily {
        match self {
            Self::Windows2019 | Self::Windows2022 | Self::Windows2025 | Self::Windows => {
                OsFamily::Windows
            }
            Self::Ubuntu2204 | Self::Ubuntu2404 | Self::Debian12 | Self::Debian13 | Self::Linux => {
                OsFamily::Linux
            }
        }
    }

    /// Whether it is any Windows.
    pub fn is_windows(self) -> bool {
        self.family() == OsFamily::Windows
    }
}

named! {
    /// What a host does in the cluster.
    pub enum Role {
        /// Runs the API server and its company.
        ControlPlane = "control-plane",
        /// Runs pods.
        Worker = "worker",
        /// Keeps the cluster's state.
        Etcd = "etcd",
        /// Serves what the cluster leans on: load balancer, registry, DNS.
        Services = "services",
    }
}

/// One host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Host {
    /// Its name, and the name of its Node.
    pub name: HostName,
    /// Where it is reached, and where its Node is.
    pub address: Ipv4Addr,
    /// What it runs.
    pub os: HostOs,
    /// What it does; never empty.
    pub roles: BTreeSet<Role>,
    /// Whether casement may change it.
    pub managed: bool,
    /// How it is reached, where that differs from the cluster's `access`.
    #[serde(skip_serializing_if = "HostAccess::is_empty")]
    pub access: HostAccess,
    /// Labels of its Node, beside those that Kubernetes sets.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<LabelKey, LabelValue>,
    /// All taints of its Node; given ones replace the default.
    pub taints: Vec<Taint>,
}
