//! Groups that determine the role of a host.

/// Current and older names of kubespray, and those of kubernetes-for-windows.
pub(super) const CONTROL_PLANE: [&str; 5] = [
    "kube_control_plane",
    "kube-control-plane",
    "kube_master",
    "kube-master",
    "master-ubuntu",
];
pub(super) const ETCD: [&str; 1] = ["etcd"];
pub(super) const WORKER: [&str; 4] = ["kube_node", "kube-node", "node-ubuntu", "node_ubuntu"];
pub(super) const WINDOWS: [&str; 5] = [
    "node-windows",
    "node_windows",
    "windows",
    "windows_nodes",
    "kube_node_windows",
];
pub(super) const BASTION: [&str; 1] = ["bastion"];
/// Groups that only contain other groups, or that always exist in Ansible.
pub(super) const CONTAINERS: [&str; 8] = [
    "all",
    "ungrouped",
    "k8s_cluster",
    "k8s-cluster",
    "k8s-cluster-local",
    "kube_cluster",
    "node",
    "all-ubuntu",
];
