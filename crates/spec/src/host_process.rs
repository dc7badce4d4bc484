//! The images used by `windows.components: host-process`.

use crate::{Cluster, ImageRef, Images, NetworkMode, WindowsComponents};

/// kube-proxy with a start script for the pod network. The Calico flavor is published
/// for every Kubernetes release.
pub const KUBE_PROXY_IMAGE: &str = "docker.io/sigwindowstools/kube-proxy";
/// No longer published.
pub const FLANNEL_IMAGE: &str = "docker.io/sigwindowstools/flannel";
pub const CALICO_NODE_IMAGE: &str = "docker.io/calico/node-windows";
pub const CALICO_CNI_IMAGE: &str = "docker.io/calico/cni-windows";

/// Ignores the tag.
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

/// The images that have no suitable published release and no entry in
/// `images.overrides`.
pub fn missing_overrides(cluster: &Cluster) -> Vec<&'static str> {
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
        .filter(|name| spec.images.override_for(name).is_none())
        .collect()
}

impl Images {
    /// The replacement for an image; the tag is ignored.
    pub fn override_for(&self, name: &str) -> Option<&ImageRef> {
        let bare = name.strip_prefix("docker.io/").unwrap_or(name);
        let mut matching = self
            .overrides
            .iter()
            .filter(|(from, _)| from.name() == name || from.name() == bare);
        matching.next().map(|(_, image)| image)
    }
}
