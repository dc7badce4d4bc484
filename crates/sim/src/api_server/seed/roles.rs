//! The roles and bindings that a join leans on, as kubeadm and Kubernetes itself
//! make them.

use serde_json::{Value, json};

use super::Seed;

const GROUP: &str = "rbac.authorization.k8s.io";
const NEW_NODES: &str = "system:bootstrappers:kubeadm:default-node-token";
const NODES: &str = "system:nodes";

pub(super) fn all(seed: &Seed) -> Vec<Value> {
    let mut all = spaces();
    all.extend(kubernetes());
    all.extend(nodes());
    all.extend(kubeadm());
    if seed.approves_kubelets {
        let role = "system:certificates.k8s.io:certificatesigningrequests:nodeclient";
        all.push(wide_binding(
            "kubeadm:node-autoapprove-bootstrap",
            role,
            &[group(NEW_NODES)],
        ));
        let role = "system:certificates.k8s.io:certificatesigningrequests:selfnodeclient";
        let name = "kubeadm:node-autoapprove-certificate-rotation";
        all.push(wide_binding(name, role, &[group(NODES)]));
    }
    all
}

fn spaces() -> Vec<Value> {
    ["default", "kube-node-lease", "kube-public", "kube-system"]
        .map(|name| json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}))
        .to_vec()
}

/// What every cluster has.
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
    let known = group("system:authenticated");
    let unknown = group("system:unauthenticated");
    vec![
        wide_role("cluster-admin", vec![everything, every_path]),
        wide_binding("cluster-admin", "cluster-admin", &[group("system:masters")]),
        wide_binding(
            "kubeadm:cluster-admins",
            "cluster-admin",
            &[group("kubeadm:cluster-admins")],
        ),
        wide_role(
            "system:discovery",
            vec![json!({"nonResourceURLs": paths, "verbs": ["get"]})],
        ),
        wide_binding(
            "system:discovery",
            "system:discovery",
            std::slice::from_ref(&known),
        ),
        wide_role("system:basic-user", vec![reviews, self_review]),
        wide_binding(
            "system:basic-user",
            "system:basic-user",
            std::slice::from_ref(&known),
        ),
        wide_role(
            "system:public-info-viewer",
            vec![json!({"nonResourceURLs": health, "verbs": ["get"]})],
        ),
        wide_binding(
            "system:public-info-viewer",
            "system:public-info-viewer",
            &[known, unknown],
        ),
    ]
}

/// What nodes may do. The role `system:node` is bound to all nodes here, for want of
/// an authorizer that knows which node needs what.
fn nodes() -> Vec<Value> {
    let requests = |resource: &str, verbs: &[&str]| json!({"apiGroups": ["certificates.k8s.io"], "resources": [resource], "verbs": verbs});
    let core = |resources: &[&str], verbs: &[&str]| json!({"apiGroups": [""], "resources": resources, "verbs": verbs});
    let look = ["get", "list", "watch"];
    let leases = json!({
        "apiGroups": ["coordination.k8s.io"], "resources": ["leases"],
        "verbs": ["create", "delete", "get", "patch", "update"],
    });
    let classes = json!({
        "apiGroups": ["node.k8s.io"], "resources": ["runtimeclasses"], "verbs": look,
    });
    let slices = json!({
        "apiGroups": ["discovery.k8s.io"], "resources": ["endpointslices"], "verbs": look,
    });
    let events = json!({
        "apiGroups": ["", "events.k8s.io"], "resources": ["events"],
        "verbs": ["create", "patch", "update"],
    });
    let node = vec![
        // A real kubelet sees its own Node and no other; whoever wants more of them
        // has to be given it.
        core(&["nodes"], &["create", "get", "patch", "update"]),
        core(&["nodes/status", "pods/status"], &["patch", "update"]),
        core(&["pods"], &["create", "delete", "get", "list", "watch"]),
        core(&["configmaps", "secrets", "services"], &look),
        core(&["serviceaccounts/token"], &["create"]),
        requests(
            "certificatesigningrequests",
            &["create", "get", "list", "watch"],
        ),
        leases,
        classes,
        events.clone(),
    ];
    let proxy = vec![
        core(&["endpoints", "services", "nodes"], &look),
        slices,
        events,
    ];
    let kind = "certificatesigningrequests";
    let ask = requests(kind, &["create", "get", "list", "watch"]);
    let role_of = |part: &str| format!("system:certificates.k8s.io:{kind}:{part}");
    let client = requests("certificatesigningrequests/nodeclient", &["create"]);
    let own = requests("certificatesigningrequests/selfnodeclient", &["create"]);
    vec![
        wide_role("system:node", node),
        wide_binding("casement-lab:nodes", "system:node", &[group(NODES)]),
        wide_role("system:node-proxier", proxy),
        wide_binding(
            "kubeadm:node-proxier",
            "system:node-proxier",
            &[json!({"kind": "ServiceAccount", "name": "kube-proxy", "namespace": "kube-system"})],
        ),
        wide_role("system:node-bootstrapper", vec![ask]),
        wide_role(&role_of("nodeclient"), vec![client]),
        wide_role(&role_of("selfnodeclient"), vec![own]),
    ]
}

/// What kubeadm gives to nodes that join.
fn kubeadm() -> Vec<Value> {
    let map = |name: &str| {
        json!({
            "apiGroups": [""], "resources": ["configmaps"], "resourceNames": [name],
            "verbs": ["get"],
        })
    };
    let nodes = json!({"apiGroups": [""], "resources": ["nodes"], "verbs": ["get"]});
    let joining = [group(NEW_NODES), group(NODES)];
    let anonymous = json!({"apiGroup": GROUP, "kind": "User", "name": "system:anonymous"});
    let mut all = vec![
        wide_binding(
            "kubeadm:kubelet-bootstrap",
            "system:node-bootstrapper",
            &[group(NEW_NODES)],
        ),
        wide_role("kubeadm:get-nodes", vec![nodes]),
        wide_binding(
            "kubeadm:get-nodes",
            "kubeadm:get-nodes",
            &[group(NEW_NODES)],
        ),
    ];
    let public = "kubeadm:bootstrap-signer-clusterinfo";
    for (space, name, map_name, subjects) in [
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
        let metadata = json!({"name": name, "namespace": space});
        all.push(json!({
            "apiVersion": format!("{GROUP}/v1"), "kind": "Role", "metadata": metadata,
            "rules": [map(map_name)],
        }));
        all.push(json!({
            "apiVersion": format!("{GROUP}/v1"), "kind": "RoleBinding", "metadata": metadata,
            "roleRef": {"apiGroup": GROUP, "kind": "Role", "name": name},
            "subjects": subjects,
        }));
    }
    all
}

fn group(name: &str) -> Value {
    json!({"apiGroup": GROUP, "kind": "Group", "name": name})
}

fn wide_role(name: &str, rules: Vec<Value>) -> Value {
    json!({
        "apiVersion": format!("{GROUP}/v1"), "kind": "ClusterRole", "metadata": {"name": name},
        "rules": rules,
    })
}

fn wide_binding(name: &str, role: &str, subjects: &[Value]) -> Value {
    json!({
        "apiVersion": format!("{GROUP}/v1"), "kind": "ClusterRoleBinding",
        "metadata": {"name": name}, "subjects": subjects,
        "roleRef": {"apiGroup": GROUP, "kind": "ClusterRole", "name": role},
    })
}
