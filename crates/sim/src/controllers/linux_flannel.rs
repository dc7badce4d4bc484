//! flannel's daemon on Linux nodes, as far as others see it: at start it reads its
//! configuration and publishes the VNI on its Node.

use serde_json::{Value, json};

use super::text;
use crate::programs::client::Client;

const BACKEND_DATA: &str = "flannel.alpha.coreos.com/backend-data";
/// flannel's default on Linux.
const DEFAULT_VNI: u64 = 1;

pub(super) fn is_flannel_pod(pod: &Value) -> bool {
    pod["metadata"]["labels"]["app"] == "flannel"
}

pub(super) async fn publish_vni(admin: &Client, pod: &Value, node: &Value) -> Result<(), String> {
    let namespace = text(pod, "/metadata/namespace");
    let path = format!("/api/v1/namespaces/{namespace}/configmaps/kube-flannel-cfg");
    let map = admin.get(&path).await?;
    let conf = map["data"]["net-conf.json"].as_str().unwrap_or_default();
    let conf: Value = serde_json::from_str(conf).map_err(|error| error.to_string())?;
    let vni = conf["Backend"]["VNI"].as_u64().unwrap_or(DEFAULT_VNI);
    let published = node["metadata"]["annotations"][BACKEND_DATA].as_str();
    let published = published.and_then(|text| serde_json::from_str::<Value>(text).ok());
    let published = published.unwrap_or_default();
    if published["VNI"] == vni {
        return Ok(());
    }
    // The VTEP keeps its MAC when the VNI changes.
    let mac = published["VtepMAC"].as_str().unwrap_or("02:00:00:00:00:ff");
    let data = format!("{{\"VNI\":{vni},\"VtepMAC\":\"{mac}\"}}");
    let path = format!("/api/v1/nodes/{}", text(node, "/metadata/name"));
    let patch = json!({"metadata": {"annotations": {BACKEND_DATA: data}}});
    admin.send("PATCH", &path, &patch).await.map(drop)
}
