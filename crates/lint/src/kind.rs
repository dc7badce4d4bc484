//! Detects the kind of a foreign document by its content.

use casement_source::foreign::Value;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A Kubernetes object.
    Object,
    /// A list of CNI plugins, or a single plugin.
    Cni,
    Kubelet,
    KubeProxy,
    /// flannel's `net-conf.json`.
    NetConf,
    /// containerd's `config.toml`.
    Containerd,
    Kubeadm,
    /// A script of shell commands.
    Script,
    Unknown,
}

pub(crate) fn kind(document: &Value<'_>) -> Kind {
    let script = [".cmd", ".bat", ".ps1", ".sh", ".txt"];
    if document.is_list()
        && script
            .iter()
            .any(|ending| document.file().to_ascii_lowercase().ends_with(ending))
    {
        return Kind::Script;
    }
    let version = document.get("apiVersion");
    if let Some(version) = version.as_ref().and_then(Value::text)
        && document.get("kind").is_some()
    {
        let group = version.split('/').next().unwrap_or_default();
        return match group {
            "kubelet.config.k8s.io" => Kind::Kubelet,
            "kubeproxy.config.k8s.io" => Kind::KubeProxy,
            "kubeadm.k8s.io" => Kind::Kubeadm,
            _ => Kind::Object,
        };
    }
    let has = |name: &str| document.get(name).is_some();
    let plugins = document.get("plugins");
    if plugins.as_ref().is_some_and(Value::is_list)
        || (has("type") && (has("cniVersion") || has("name")))
    {
        return Kind::Cni;
    }
    let any = |name: &str| document.get_any_case(name).is_some();
    if any("Network") || any("Backend") {
        return Kind::NetConf;
    }
    let is_toml = document.file().to_ascii_lowercase().ends_with(".toml");
    if is_toml
        && ["plugins", "grpc", "root", "state", "version"]
            .into_iter()
            .any(has)
    {
        return Kind::Containerd;
    }
    Kind::Unknown
}
