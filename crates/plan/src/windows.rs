//! What a Windows node is made of.

mod containerd;
mod join;
mod kube_proxy;
mod network;
pub mod places;
mod prepare;

pub use join::{BOOTSTRAP_TOKEN, join};
pub use network::{HNS_NETWORK, network};
pub use prepare::prepare;

use casement_spec::Cluster;

/// The folders below `windows.baseDir`.
fn base(cluster: &Cluster) -> &str {
    cluster.spec.windows.base_dir.as_str()
}

/// The folder of containerd's programs and configuration.
fn containerd_folder(cluster: &Cluster) -> String {
    format!(r"{}\containerd", base(cluster))
}
