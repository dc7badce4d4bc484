//! The images that `windows.components: host-process` takes.

use crate::{Cluster, ImageRef, Images, NetworkMode, WindowsComponents};

/// kube-proxy, with a start script for the pod network. Calico's flavour is published
/// for every Kubernetes.
pub const KUBE_PROXY_IMAGE: &str = "docker.io/sigwindowstools/kube-proxy";
/// Nobody publishes one any more.
pub const FLANNEL_IMAGE: &str = "docker.io/sigwindowstools/flannel";
/// Calico's programs on a node.
pub const CALICO_NODE_IMAGE: &str = "docker.io/calico/node-windows";
/// Calico's plugin.
pub const CALICO_CNI_IMAGE: &str = "docker.io/calico/cni-windows";

/// Whether it is one of these, whatever its tag.
pub fn is_image(image: &ImageRef) -> bool {
    let all = [
        KUBE_PROXY_IMAGE,
        FLANNEL_IMAGE,
        CALICO_NODE_IMAGE,
        CALICO_CNI_IMAGE,
    ];
    let name = image.name();
    all.iter()
        .any(|known| *known == name || known.strip_prefix("docker.io/") == Some(name))
}

/// The images that `images.overrides` has to name, because nobody publishes one that
/// fits, and does not: each by the name under which it would.
pub fn images_to_name(cluster: &Cluster) -> Vec<&'static str> {
    let spec = &cluster.spec;
    if spec.windows.components != WindowsComponents::HostProcess {
        return Vec::new();
    }
    let needed = match spec.network.mode() {
        NetworkMode::CalicoVxlan => &[][..],
        NetworkMode::FlannelOverlay | NetworkMode::FlannelHostGw => {
            &[FLANNEL_IMAGE, KUBE_PROXY_IMAGE]
        }
        NetworkMode::L3Routes => &[KUBE_PROXY_IMAGE],
    };
    let needed = needed.iter().copied();
    needed
        .filter(|name| spec.images.instead_of(name).is_none())
        .collect()
}

impl Images {
    /// The image that is used in the place of the one with this name, whatever the
    /// tag of that.
    pub fn instead_of(&self, name: &str) -> Option<&ImageRef> {
        let bare = name.strip_prefix("docker.io/").unwrap_or(name);
        let mut fitting = self
            .overrides
            .iter()
            .filter(|(from, _)| from.name() == name || from.name() == bare);
        fitting.next().map(|(_, image)| image)
    }
}
