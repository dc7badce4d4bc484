//! The roles and bindings that a join needs, as created by kubeadm and Kubernetes itself.

use serde_json::{Value, json};

use super::Seed;

const RBAC_GROUP: &str = "rbac.authorization.k8s.io";
const BOOTSTRAPPERS: &str = "system:bootstrappers:kubeadm:default-node-token";
const NODES: &str = "system:nodes";

pub(super) fn all(seed: &Seed) -> Vec<Value> {
    let mut all = namespaces();
    all.extend(kubernetes());
    all.extend(nodes());
    all.extend(kubeadm());
    if seed.auto_approve_kubelets {
        let role = "system:certificates.k8s.io:certificatesigningrequests:nodeclient";
        all.push(cluster_role_binding(
            "kubeadm:node-autoapprove-bootstrap",
            role,
            &[group(BOOTSTRAPPERS)],
        ));
        let role = "system:certificates.k8s.io:certificatesigningrequests:selfnodeclient";
        let name = "kubeadm:node-autoapprove-certificate-rotation";
        all.push(cluster_role_binding(name, role, &[group(NODES)]));
    }
    all
}

fn namespaces() -> Vec<Value> {
    ["default", "kube-node-lease", "kube-public", "kube-system"]
        .map(|name| json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}))
        .to_vec()
}

fn kubernetes() -> Vec<Value> {
    let everything = json!({"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]});
    let every_path = json!({"nonResourceURLs": ["*"], "verbs": ["*"]});
    let health = ["/healthz", "/livez", "/readyz", "/version", "/version/"];
    let paths = [
        "/api",
        "/api/*",
        "/apis",
        "/apis/*",
        "/openapi",
        "/openapi/*",
    ];
    let paths: Vec<&str> = paths.iter().chain(&health).copied().collect();
    let reviews = json!({
        "apiGroups": ["authorization.k8s.io"], "verbs": ["create"],
        "resources": ["selfsubjectaccessreviews", "selfsubjectrulesreviews"],
    });
    let self_review = json!({
        "apiGroups": ["authentication.k8s.io"], "verbs": ["create"],
        "resources": ["selfsubjectreviews"],
    });
    let authenticated = group("system:authenticated");
    let unauthenticated = group("system:unauthenticated");
    vec![
        cluster_role("cluster-admin", vec![everything, every_path]),
        cluster_role_binding("cluster-admin", "cluster-admin", &[group("system:masters")]),
        cluster_role_binding(
            "kubeadm:cluster-admins",
            "cluster-admin",
            &[group("kubeadm:cluster-admins")],
        ),
        cluster_role(
            "system:discovery",
            vec![json!({"nonResourceURLs": paths, "verbs": ["get"]})],
        ),
        cluster_role_binding(
            "system:discovery",
            "system:discovery",
            std::slice::from_ref(&authenticated),
        ),
        cluster_role("system:basic-user", vec![reviews, self_review]),
        cluster_role_binding(
            "system:basic-user",
            "system:basic-user",
            std::slice::from_ref(&authenticated),
        ),
        cluster_role(
            "system:public-info-viewer",
            vec![json!({"nonResourceURLs": health, "verbs": ["get"]})],
        ),
        cluster_role_binding(
            "system:public-info-viewer",
            "system:public-info-viewer",
            &[authenticated, unauthenticated],
        ),
    ]
}

/// The role `system:node` is bound to all nodes here, because there is no Node authorizer.
fn nodes() -> Vec<Value> {
    let csr_rule = |resource: &str, verbs: &[&str]| json!({"apiGroups": ["certificates.k8s.io"], "resources": [resource], "verbs": verbs});
    let core = |resources: &[&str], verbs: &[&str]| json!({"apiGroups": [""], "resources": resources, "verbs": verbs});
    let read_verbs = ["get", "list", "watch"];
    let leases = json!({
        "apiGroups": ["coordination.k8s.io"], "resources": ["leases"],
        "verbs": ["create", "delete", "get", "patch", "update"],
    });
    let classes = json!({
        "apiGroups": ["node.k8s.io"], "resources": ["runtimeclasses"], "verbs": read_verbs,
    });
    let slices = json!({
        "apiGroups": ["discovery.k8s.io"], "resources": ["endpointslices"], "verbs": read_verbs,
    });
    let events = json!({
        "apiGroups": ["", "events.k8s.io"], "resources": ["events"],
        "verbs": ["create", "patch", "update"],
    });
    let node = vec![
        // A real kubelet can read only its own Node; a program that needs more needs its
        // own permissions.
        core(&["nodes"], &["create", "get", "patch", "update"]),
        core(&["nodes/status", "pods/status"], &["patch", "update"]),
        core(&["pods"], &["create", "delete", "get", "list", "watch"]),
        core(&["configmaps", "secrets", "services"], &read_verbs),
        core(&["serviceaccounts/token"], &["create"]),
        csr_rule(
            "certificatesigningrequests",
            &["create", "get", "list", "watch"],
        ),
        leases,
        classes,
        events.clone(),
    ];
    let proxy = vec![
        core(&["endpoints", "services", "nodes"], &read_verbs),
        slices,
        events,
    ];
    let kind = "certificatesigningrequests";
    let create_requests = csr_rule(kind, &["create", "get", "list", "watch"]);
    let role_of = |part: &str| format!("system:certificates.k8s.io:{kind}:{part}");
    let client = csr_rule("certificatesigningrequests/nodeclient", &["create"]);
    let own = csr_rule("certificatesigningrequests/selfnodeclient", &["create"]);
    vec![
        cluster_role("system:node", node),
        cluster_role_binding("casement-lab:nodes", "system:node", &[group(NODES)]),
        cluster_role("system:node-proxier", proxy),
        cluster_role_binding(
            "kubeadm:node-proxier",
            "system:node-proxier",
            &[json!({"kind": "ServiceAccount", "name": "kube-proxy", "namespace": "kube-system"})],
        ),
        cluster_role("system:node-bootstrapper", vec![create_requests]),
        cluster_role(&role_of("nodeclient"), vec![client]),
        cluster_role(&role_of("selfnodeclient"), vec![own]),
    ]
}

fn kubeadm() -> Vec<Value> {
    let map = |name: &str| {
        json!({
            "apiGroups": [""], "resources": ["configmaps"], "resourceNames": [name],
            "verbs": ["get"],
        })
    };
    let nodes = json!({"apiGroups": [""], "resources": ["nodes"], "verbs": ["get"]});
    let joining = [group(BOOTSTRAPPERS), group(NODES)];
    let anonymous = json!({"apiGroup": RBAC_GROUP, "kind": "User", "name": "system:anonymous"});
    let mut all = vec![
        cluster_role_binding(
            "kubeadm:kubelet-bootstrap",
            "system:node-bootstrapper",
            &[group(BOOTSTRAPPERS)],
        ),
        cluster_role("kubeadm:get-nodes", vec![nodes]),
        cluster_role_binding(
            "kubeadm:get-nodes",
            "kubeadm:get-nodes",
            &[group(BOOTSTRAPPERS)],
        ),
    ];
    let public = "kubeadm:bootstrap-signer-clusterinfo";
    for (namespace, name, map_name, subjects) in [
        (
            "kube-public",
            public,
            "cluster-info",
            [anonymous].as_slice(),
        ),
        (
            "kube-system",
            "kubeadm:nodes-kubeadm-config",
            "kubeadm-config",
            joining.as_slice(),
        ),
        (
            "kube-system",
            "kubeadm:kubelet-config",
            "kubelet-config",
            joining.as_slice(),
        ),
        (
            "kube-system",
            "kube-proxy",
            "kube-proxy",
            joining.get(..1).unwrap_or_default(),
        ),
    ] {
        let metadata = json!({"name": name, "namespace": namespace});
        all.push(json!({
            "apiVersion": format!("{RBAC_GROUP}/v1"), "kind": "Role", "metadata": metadata,
            "rules": [map(map_name)],
        }));
        all.push(json!({
            "apiVersion": format!("{RBAC_GROUP}/v1"), "kind": "RoleBinding", "metadata": metadata,
            "roleRef": {"apiGroup": RBAC_GROUP, "kind": "Role", "name": name},
            "subjects": subjects,
        }));
    }
    all
}

fn group(name: &str) -> Value {
    json!({"apiGroup": RBAC_GROUP, "kind": "Group", "name": name})
}

fn cluster_role(name: &str, rules: Vec<Value>) -> Value {
    json!({
        "apiVersion": format!("{RBAC_GROUP}/v1"), "kind": "ClusterRole", "metadata": {"name": name},
        "rules": rules,
    })
}

fn cluster_role_binding(name: &str, role: &str, subjects: &[Value]) -> Value {
    json!({
        "apiVersion": format!("{RBAC_GROUP}/v1"), "kind": "ClusterRoleBinding",
        "metadata": {"name": name}, "subjects": subjects,
        "roleRef": {"apiGroup": RBAC_GROUP, "kind": "ClusterRole", "name": role},
    })
}
