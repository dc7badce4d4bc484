//! The annotations that flannel's daemon writes on its Node.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

const PREFIX: &str = "flannel.alpha.coreos.com/";

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FlannelLease {
    /// `vxlan` or `host-gw`.
    pub backend: String,
    /// None if the backend has no VNI.
    pub vni: Option<u32>,
    /// The tunnel endpoint.
    pub public_ip: String,
}

impl FlannelLease {
    /// None unless flannel's subnet manager set its annotation.
    pub(crate) fn of(annotations: Option<&BTreeMap<String, String>>) -> Option<Self> {
        let annotations = annotations?;
        let get = |name: &str| annotations.get(&format!("{PREFIX}{name}"));
        if get("kube-subnet-manager").is_none_or(|value| value != "true") {
            return None;
        }
        let data = get("backend-data").and_then(|text| serde_json::from_str::<Value>(text).ok());
        let vni = data.and_then(|data| data.get("VNI")?.as_u64());
        Some(Self {
            backend: get("backend-type").cloned().unwrap_or_default(),
            vni: vni.and_then(|vni| u32::try_from(vni).ok()),
            public_ip: get("public-ip").cloned().unwrap_or_default(),
        })
    }
}
