//! flannel's daemon on Linux nodes, as far as others see it: at its start it reads
//! its configuration, and tells the overlay's number on its Node.

use serde_json::{Value, json};

use super::text;
use crate::programs::client::Client;

const DATA: &str = "flannel.alpha.coreos.com/backend-data";
/// On Linux, where nothing is said.
const LINUX_VNI: u64 = 1;

/// Whether a pod is one of flannel's.
pub(super) fn is_one(pod: &Value) -> bool {
    pod["metadata"]["labels"]["app"] == "flannel"
}

/// What a daemon does before its pod is ready.
pub(super) async fn begin(admin: &Client, pod: &Value, node: &Value) -> Result<(), String> {
    let space = text(pod, "/metadata/namespace");
    let path = format!("/api/v1/namespaces/{space}/configmaps/kube-flannel-cfg");
    let map = admin.get(&path).await?;
    let conf = map["data"]["net-conf.json"].as_str().unwrap_or_default();
    let conf: Value = serde_json::from_str(conf).map_err(|error| error.to_string())?;
    let vni = conf["Backend"]["VNI"].as_u64().unwrap_or(LINUX_VNI);
    let held = node["metadata"]["annotations"][DATA].as_str();
    let held = held.and_then(|text| serde_json::from_str::<Value>(text).ok());
    let held = held.unwrap_or_default();
    if held["VNI"] == vni {
        return Ok(());
    }
    // Its device keeps its address, whatever its number.
    let mac = held["VtepMAC"].as_str().unwrap_or("02:00:00:00:00:ff");
    let data = format!("{{\"VNI\":{vni},\"VtepMAC\":\"{mac}\"}}");
    let path = format!("/api/v1/nodes/{}", text(node, "/metadata/name"));
    let patch = json!({"metadata": {"annotations": {DATA: data}}});
    admin.send("PATCH", &path, &patch).await.map(drop)
}
