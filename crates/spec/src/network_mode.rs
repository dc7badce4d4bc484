//! The network modes, with the properties that several crates need. What a mode means for a
//! plan is in `casement_plan`, one module per mode.

use crate::named::named;

named! {
    pub enum NetworkMode {
        FlannelOverlay = "flannel-overlay",
        FlannelHostGw = "flannel-host-gw",
        L3Routes = "l3-routes",
        CalicoVxlan = "calico-vxlan",
    }
}

struct Properties {
    vxlan: bool,
    cni: Option<&'static str>,
    cni_assigns_pod_cidrs: bool,
    windows_plugins: &'static [&'static str],
}

impl NetworkMode {
    const fn properties(self) -> Properties {
        match self {
            Self::FlannelOverlay => Properties {
                vxlan: true,
                cni: Some("flannel"),
                cni_assigns_pod_cidrs: false,
                windows_plugins: &["win-overlay", "host-local"],
            },
            Self::FlannelHostGw => Properties {
                vxlan: false,
                cni: Some("flannel"),
                cni_assigns_pod_cidrs: false,
                windows_plugins: &["win-bridge", "host-local"],
            },
            Self::L3Routes => Properties {
                vxlan: false,
                cni: None,
                cni_assigns_pod_cidrs: false,
                windows_plugins: &["win-bridge", "host-local"],
            },
            Self::CalicoVxlan => Properties {
                vxlan: true,
                cni: Some("Calico"),
                cni_assigns_pod_cidrs: true,
                windows_plugins: &[],
            },
        }
    }

    /// Whether the mode has a VNI and a port.
    pub const fn is_vxlan(self) -> bool {
        self.properties().vxlan
    }

    /// Whether hosts route the pod networks, so that they must share a network segment.
    pub const fn is_routed(self) -> bool {
        !self.is_vxlan()
    }

    /// Whether every node runs flannel or a compatible daemon.
    pub fn is_flannel(self) -> bool {
        self.cni() == Some("flannel")
    }

    /// Whether every node runs Calico.
    pub fn is_calico(self) -> bool {
        self.cni() == Some("Calico")
    }

    /// The CNI that the cluster must run; `None` for routes, which work beside any CNI that
    /// does not assign pod networks itself.
    pub const fn cni(self) -> Option<&'static str> {
        self.properties().cni
    }

    /// Whether the CNI assigns pod networks to nodes, instead of the controller manager.
    pub const fn cni_assigns_pod_cidrs(self) -> bool {
        self.properties().cni_assigns_pod_cidrs
    }

    /// The CNI plugins that Windows hosts need; Calico installs its own.
    pub const fn windows_plugins(self) -> &'static [&'static str] {
        self.properties().windows_plugins
    }
}
