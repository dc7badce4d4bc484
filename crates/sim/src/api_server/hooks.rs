//! Reactions to writes: what admission and controllers of a real cluster do at once, as far
//! as casement waits for it. They run no workloads; Pods are run by the kubelet model.

use std::sync::Arc;

use serde_json::{Value, json};

use super::csr;
use super::defaults::{fill, put, set_unowned};
use super::kinds::{self, Kind};
use super::managers::{self, Manager};
use super::pki::Pki;
use super::rbac::User;
use super::state::State;
use super::status_error::StatusError;
use super::store::Key;

/// Before a create: fields that its manager will own.
pub(super) fn before_create(user: &User, kind: &Kind, object: &mut Value) {
    match kind.kind {
        "CertificateSigningRequest" => csr::set_requestor(user, object),
        "DaemonSet" => set_template_generation(object, 1),
        _ => {}
    }
}

/// Before a create: fields that no manager owns.
pub(super) fn set_server_fields(
    state: &State,
    kind: &Kind,
    object: &mut Value,
) -> Result<(), StatusError> {
    match kind.kind {
        "Node" => add_not_ready_taint(object),
        "Service" => allocate_cluster_ip(state, object)?,
        _ => {}
    }
    set_unowned(kind, object);
    Ok(())
}

pub(super) fn update_generation(kind: &Kind, new: &mut Value, live: &Value) {
    if !kind.generation || new["spec"] == live["spec"] {
        return;
    }
    let generation = live["metadata"]["generation"].as_i64().unwrap_or(0) + 1;
    put(new, &["metadata", "generation"], json!(generation));
    if kind.kind == "DaemonSet" && new["spec"]["template"] != live["spec"]["template"] {
        set_template_generation(new, generation);
    }
}

pub(super) fn after_write(state: &mut State, pki: &Pki, kind: &Kind, key: &Key) {
    match kind.kind {
        "Node" => allocate_pod_cidr(state, key),
        "CertificateSigningRequest" => csr::approve_and_sign(state, pki, key),
        "Namespace" => create_namespace_defaults(state, pki, &key.name),
        _ => {}
    }
}

/// Removes an object, its dependents, and the pods on a Node.
pub(super) fn remove(state: &mut State, key: &Key, with_dependents: bool) {
    let Some(removed) = state.store.remove(key) else {
        return;
    };
    if !with_dependents {
        return;
    }
    let uid = removed["metadata"]["uid"].clone();
    let owned = |object: &Value| {
        let owners = object["metadata"]["ownerReferences"].as_array();
        owners
            .into_iter()
            .flatten()
            .any(|owner| owner["uid"] == uid)
    };
    let ran_on_node = |other: &Key, object: &Value| {
        key.plural == "nodes" && other.plural == "pods" && object["spec"]["nodeName"] == key.name
    };
    let dependents: Vec<Key> = state
        .store
        .everything()
        .filter(|(other, object)| owned(object) || ran_on_node(other, object))
        .map(|(other, _)| other.clone())
        .collect();
    for dependent in dependents {
        remove(state, &dependent, true);
    }
}

/// Changes an object as a controller, if it exists.
pub(super) fn edit(state: &mut State, key: &Key, subresource: &str, edit: impl FnOnce(&mut Value)) {
    let (Some(live), Some(kind)) = (
        state.store.get(key).cloned(),
        kinds::find(key.group, key.plural),
    ) else {
        return;
    };
    let mut new = Value::clone(&live);
    edit(&mut new);
    let manager = Manager {
        name: "kube-controller-manager".to_owned(),
        subresource: subresource.to_owned(),
        api_version: kind.api_version(),
    };
    managers::record_update(Some(&live), &mut new, &manager);
    if new != *live {
        state.store.put(key.clone(), new);
    }
}

/// A new node accepts no pods until its kubelet reports Ready.
fn add_not_ready_taint(object: &mut Value) {
    let taint = json!({"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"});
    fill(object, &["spec", "taints"], json!([]));
    if let Some(Value::Array(taints)) = object.pointer_mut("/spec/taints")
        && !taints.contains(&taint)
    {
        taints.push(taint);
    }
}

fn allocate_cluster_ip(state: &State, object: &mut Value) -> Result<(), StatusError> {
    if object["spec"]["type"] == "ExternalName" {
        return Ok(());
    }
    if object["spec"]["clusterIP"]
        .as_str()
        .unwrap_or_default()
        .is_empty()
    {
        let free = state.next_cluster_ip();
        let free = free.ok_or_else(|| StatusError::internal("the range of services is full"))?;
        put(object, &["spec", "clusterIP"], json!(free.to_string()));
    }
    let address = object["spec"]["clusterIP"].clone();
    fill(object, &["spec", "clusterIPs"], json!([address]));
    fill(object, &["spec", "ipFamilies"], json!(["IPv4"]));
    fill(object, &["spec", "ipFamilyPolicy"], json!("SingleStack"));
    allocate_node_ports(state, object)
}

/// Allocates a node port for each port of the Service, if its type has them.
fn allocate_node_ports(state: &State, object: &mut Value) -> Result<(), StatusError> {
    let kind = object["spec"]["type"].as_str().unwrap_or_default();
    match kind {
        "NodePort" => {}
        "LoadBalancer" => fill(
            object,
            &["spec", "allocateLoadBalancerNodePorts"],
            json!(true),
        ),
        _ => return Ok(()),
    }
    fill(object, &["spec", "externalTrafficPolicy"], json!("Cluster"));
    let mut free = state.free_node_ports().into_iter();
    let ports = object.pointer_mut("/spec/ports");
    for port in ports.and_then(Value::as_array_mut).into_iter().flatten() {
        if port["nodePort"].as_u64().unwrap_or(0) == 0 {
            let free = free.next();
            let free =
                free.ok_or_else(|| StatusError::internal("the range of node ports is full"))?;
            put(port, &["nodePort"], json!(free));
        }
    }
    Ok(())
}

fn set_template_generation(object: &mut Value, generation: i64) {
    let key = "deprecated.daemonset.template.generation";
    put(
        object,
        &["metadata", "annotations", key],
        json!(generation.to_string()),
    );
}

fn allocate_pod_cidr(state: &mut State, key: &Key) {
    if state
        .get("Node", "", &key.name)
        .is_none_or(|node| node["spec"]["podCIDR"].is_string())
    {
        return;
    }
    let Some(network) = state.next_pod_cidr() else {
        return;
    };
    edit(state, key, "", |node| {
        put(node, &["spec", "podCIDR"], json!(network.to_string()));
        put(node, &["spec", "podCIDRs"], json!([network.to_string()]));
    });
}

fn create_namespace_defaults(state: &mut State, pki: &Pki, namespace: &str) {
    let account = json!({"apiVersion": "v1", "kind": "ServiceAccount"});
    let ca = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "data": {"ca.crt": pki.ca_pem()},
    });
    for (kind, name, mut object) in [
        ("ServiceAccount", "default", account),
        ("ConfigMap", "kube-root-ca.crt", ca),
    ] {
        let Some(kind) = kinds::by_name(kind) else {
            continue;
        };
        let key = Key::new(kind, namespace, name);
        let uid = super::write::uid().unwrap_or_default();
        put(
            &mut object,
            &["metadata"],
            json!({
                "name": name, "namespace": namespace, "uid": uid,
                "creationTimestamp": super::time::now(),
            }),
        );
        if state.store.get(&key).is_none() {
            let _stored: Arc<Value> = state.store.put(key, object);
        }
    }
}
