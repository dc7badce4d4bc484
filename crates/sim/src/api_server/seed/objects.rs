//! Objects created by kubeadm and flannel: configuration, DNS, kube-proxy.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::{Flannel, Seed};

/// The namespace in flannel's own manifest.
const FLANNEL_NAMESPACE: &str = "kube-flannel";

pub(super) fn all(seed: &Seed, address: &str, ca_pem: &str) -> Vec<Value> {
    let mut all = configuration(seed, address, ca_pem);
    all.extend(services(seed));
    all.extend(proxy(seed, address));
    all.push(dns(seed));
    if let Some(flannel) = &seed.flannel {
        all.extend(flannel_objects(seed, flannel));
    }
    all
}

fn config_map(namespace: &str, name: &str, data: Value) -> Value {
    let metadata = json!({"name": name, "namespace": namespace});
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})
}

fn service_account(namespace: &str, name: &str) -> Value {
    let metadata = json!({"name": name, "namespace": namespace});
    json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata})
}

fn configuration(seed: &Seed, address: &str, ca_pem: &str) -> Vec<Value> {
    let info = format!(
        "apiVersion: v1
clusters:
- cluster:
    certificate-authority-data: {ca}
    server: https://{address}
  name: \"\"
contexts: null
current-context: \"\"
kind: Config
preferences: {{}}
users: null
",
        ca = STANDARD.encode(ca_pem),
    );
    let cluster = format!(
        "apiVersion: kubeadm.k8s.io/v1beta4
clusterName: kubernetes
controlPlaneEndpoint: {address}
kind: ClusterConfiguration
kubernetesVersion: {version}
networking:
  dnsDomain: {domain}
  podSubnet: {pods}
  serviceSubnet: {services}
",
        version = seed.kubernetes,
        domain = seed.domain,
        pods = seed.pod_network,
        services = seed.service_network,
    );
    let kubelet = format!(
        "apiVersion: kubelet.config.k8s.io/v1beta1
cgroupDriver: systemd
clusterDNS:
- {dns}
clusterDomain: {domain}
kind: KubeletConfiguration
rotateCertificates: true
staticPodPath: /etc/kubernetes/manifests
",
        dns = seed.dns,
        domain = seed.domain,
    );
    vec![
        config_map("kube-public", "cluster-info", json!({"kubeconfig": info})),
        config_map(
            "kube-system",
            "kubeadm-config",
            json!({"ClusterConfiguration": cluster}),
        ),
        config_map("kube-system", "kubelet-config", json!({"kubelet": kubelet})),
    ]
}

fn services(seed: &Seed) -> Vec<Value> {
    let own = json!({
        "apiVersion": "v1", "kind": "Service",
        "metadata": {
            "name": "kubernetes", "namespace": "default",
            "labels": {"component": "apiserver", "provider": "kubernetes"},
        },
        "spec": {
            "clusterIP": seed.api_service_ip().to_string(),
            "ports": [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": 6443}],
        },
    });
    let port = |name: &str, port: u16, protocol: &str| json!({"name": name, "port": port, "protocol": protocol, "targetPort": port});
    let dns = json!({
        "apiVersion": "v1", "kind": "Service",
        "metadata": {
            "name": "kube-dns", "namespace": "kube-system",
            "labels": {"k8s-app": "kube-dns", "kubernetes.io/cluster-service": "true"},
        },
        "spec": {
            "clusterIP": seed.dns.to_string(), "selector": {"k8s-app": "kube-dns"},
            "ports": [port("dns", 53, "UDP"), port("dns-tcp", 53, "TCP")],
        },
    });
    vec![own, dns]
}

fn proxy(seed: &Seed, address: &str) -> Vec<Value> {
    let configuration = format!(
        "apiVersion: kubeproxy.config.k8s.io/v1alpha1
clusterCIDR: {pods}
kind: KubeProxyConfiguration
mode: \"\"
",
        pods = seed.pod_network,
    );
    let kubeconfig = format!(
        "apiVersion: v1
kind: Config
clusters:
- cluster:
    certificate-authority: /var/run/secrets/kubernetes.io/serviceaccount/ca.crt
    server: https://{address}
  name: default
contexts:
- context: {{cluster: default, namespace: default, user: default}}
  name: default
current-context: default
users:
- name: default
  user: {{tokenFile: /var/run/secrets/kubernetes.io/serviceaccount/token}}
"
    );
    let data = json!({"config.conf": configuration, "kubeconfig.conf": kubeconfig});
    let pod = json!({
        "nodeSelector": {"kubernetes.io/os": "linux"},
        "tolerations": [{"operator": "Exists"}],
        "hostNetwork": true,
        "serviceAccountName": "kube-proxy",
        "priorityClassName": "system-node-critical",
        "containers": [{
            "name": "kube-proxy",
            "image": format!("registry.k8s.io/kube-proxy:{}", seed.kubernetes),
            "command": ["/usr/local/bin/kube-proxy", "--config=/var/lib/kube-proxy/config.conf"],
            "securityContext": {"privileged": true},
            "volumeMounts": [{"name": "kube-proxy", "mountPath": "/var/lib/kube-proxy"}],
        }],
        "volumes": [{"name": "kube-proxy", "configMap": {"name": "kube-proxy"}}],
    });
    vec![
        config_map("kube-system", "kube-proxy", data),
        service_account("kube-system", "kube-proxy"),
        daemon_set(
            "kube-system",
            "kube-proxy",
            json!({"k8s-app": "kube-proxy"}),
            pod,
        ),
    ]
}

fn daemon_set(namespace: &str, name: &str, labels: Value, pod: Value) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "DaemonSet",
        "metadata": {"name": name, "namespace": namespace, "labels": labels},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod},
        },
    })
}

fn dns(seed: &Seed) -> Value {
    let labels = json!({"k8s-app": "kube-dns"});
    let container = json!({
        "name": "coredns", "image": "registry.k8s.io/coredns/coredns:v1.13.1",
        "args": ["-conf", "/etc/coredns/Corefile"],
        "ports": [{"name": "dns", "containerPort": 53, "protocol": "UDP"}],
        "env": [{"name": "CLUSTER_DOMAIN", "value": seed.domain}],
    });
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "coredns", "namespace": "kube-system", "labels": labels},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {
                "nodeSelector": {"kubernetes.io/os": "linux"},
                "containers": [container],
                "tolerations": [
                    {"key": "CriticalAddonsOnly", "operator": "Exists"},
                    {"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"},
                ],
            }},
        },
    })
}

fn flannel_objects(seed: &Seed, flannel: &Flannel) -> Vec<Value> {
    let mut backend = json!({"Type": "vxlan"});
    if let Some(fields) = backend.as_object_mut() {
        if flannel.vni != 1 {
            fields.insert("VNI".to_owned(), json!(flannel.vni));
        }
        if flannel.port != 8472 {
            fields.insert("Port".to_owned(), json!(flannel.port));
        }
    }
    let network = json!({
        "Network": seed.pod_network.to_string(), "EnableNFTables": false, "Backend": backend,
    });
    let plugins = json!([
        {"type": "flannel", "delegate": {"hairpinMode": true, "isDefaultGateway": true}},
        {"type": "portmap", "capabilities": {"portMappings": true}},
    ]);
    let conflist = json!({"name": "cbr0", "cniVersion": "0.3.1", "plugins": plugins});
    let pretty = |value: &Value| format!("{value:#}\n");
    let data = json!({"cni-conf.json": pretty(&conflist), "net-conf.json": pretty(&network)});
    let affinity = json!({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
        "nodeSelectorTerms": [{"matchExpressions": [
            {"key": "kubernetes.io/os", "operator": "In", "values": ["linux"]},
        ]}],
    }}});
    let pod = json!({
        "affinity": affinity,
        "hostNetwork": true,
        "priorityClassName": "system-node-critical",
        "serviceAccountName": "flannel",
        "tolerations": [{"operator": "Exists", "effect": "NoSchedule"}],
        "containers": [{
            "name": "kube-flannel", "image": "ghcr.io/flannel-io/flannel:v0.27.4",
            "command": ["/opt/bin/flanneld"], "args": ["--ip-masq", "--kube-subnet-mgr"],
            "volumeMounts": [{"name": "flannel-cfg", "mountPath": "/etc/kube-flannel/"}],
        }],
        "volumes": [{"name": "flannel-cfg", "configMap": {"name": "kube-flannel-cfg"}}],
    });
    let namespace = json!({
        "apiVersion": "v1", "kind": "Namespace",
        "metadata": {
            "name": FLANNEL_NAMESPACE,
            "labels": {"pod-security.kubernetes.io/enforce": "privileged"},
        },
    });
    let labels = json!({"app": "flannel", "tier": "node"});
    vec![
        namespace,
        service_account(FLANNEL_NAMESPACE, "flannel"),
        config_map(FLANNEL_NAMESPACE, "kube-flannel-cfg", data),
        daemon_set(FLANNEL_NAMESPACE, "kube-flannel-ds", labels, pod),
    ]
}
