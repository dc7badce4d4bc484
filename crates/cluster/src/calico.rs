//! Reads the Calico settings that Windows nodes depend on.
//!
//! They are never changed: pools and affinity affect every pod of the cluster, so
//! their owner has to decide when.

use kube::api::{Api, ApiResource, DynamicObject, ListParams};
use kube::core::GroupVersionKind;
use serde_json::Value;

use crate::client::ClusterClient;
use crate::error::ClusterError;

/// Where Calico keeps its settings when Kubernetes is its datastore.
pub(crate) const GROUP: &str = "crd.projectcalico.org";
/// Felix's defaults.
const VNI: u32 = 4096;
const PORT: u16 = 4789;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CalicoFacts {
    /// Enabled IPv4 pools; empty if Calico uses another datastore.
    pub pools: Vec<CalicoPool>,
    /// Whether a node's address block is exclusive to that node.
    pub strict_affinity: bool,
    pub vni: u32,
    /// The UDP port of the VXLAN.
    pub port: u16,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CalicoPool {
    pub name: String,
    pub cidr: String,
    /// `Never`, `CrossSubnet` or `Always`.
    pub ipip: String,
    /// `Never`, `CrossSubnet` or `Always`.
    pub vxlan: String,
    /// Whether a node selector limits it to some nodes.
    pub some_nodes: bool,
}

impl ClusterClient {
    /// Reads the settings, whether or not Calico's daemons run.
    pub async fn calico(&self) -> Result<CalicoFacts, ClusterError> {
        let (pools, affinity, felix) = tokio::try_join!(
            self.calico_pools(),
            self.calico_default("IPAMConfig", "ipamconfigs"),
            self.calico_default("FelixConfiguration", "felixconfigurations"),
        )?;
        let number = |name: &str| felix[name].as_u64();
        Ok(CalicoFacts {
            pools,
            strict_affinity: affinity["strictAffinity"].as_bool().unwrap_or(false),
            vni: number("vxlanVNI")
                .and_then(|vni| vni.try_into().ok())
                .unwrap_or(VNI),
            port: number("vxlanPort")
                .and_then(|port| port.try_into().ok())
                .unwrap_or(PORT),
        })
    }

    async fn calico_pools(&self) -> Result<Vec<CalicoPool>, ClusterError> {
        let pools = self.calico_api("IPPool", "ippools");
        let list = match pools.list(&ListParams::default()).await {
            Ok(list) => list.items,
            // The CRD does not exist.
            Err(kube::Error::Api(status)) if status.code == 404 => Vec::new(),
            Err(error) => return Err(self.failed("list IPPools of Calico")(error)),
        };
        let pools = list.iter().map(|pool| (pool, &pool.data["spec"]));
        let used = pools.filter(|(_, spec)| {
            let v4 = spec["cidr"].as_str().is_some_and(|cidr| cidr.contains('.'));
            v4 && spec["disabled"] != true
        });
        let used = used.map(|(pool, spec)| {
            let text = |name: &str| spec[name].as_str().unwrap_or_default().to_owned();
            let mode = |name: &str| match text(name) {
                empty if empty.is_empty() => "Never".to_owned(),
                mode => mode,
            };
            CalicoPool {
                name: pool.metadata.name.clone().unwrap_or_default(),
                cidr: text("cidr"),
                ipip: mode("ipipMode"),
                vxlan: mode("vxlanMode"),
                some_nodes: !matches!(text("nodeSelector").trim(), "" | "all()"),
            }
        });
        Ok(used.collect())
    }

    /// The `spec` of the object `default`; null if it does not exist.
    async fn calico_default(&self, kind: &str, plural: &str) -> Result<Value, ClusterError> {
        match self.calico_api(kind, plural).get("default").await {
            Ok(object) => Ok(object.data["spec"].clone()),
            // The object or the CRD does not exist.
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(Value::Null),
            Err(error) => {
                let what = format!("read {kind} default of Calico");
                Err(self.failed(what)(error))
            }
        }
    }

    fn calico_api(&self, kind: &str, plural: &str) -> Api<DynamicObject> {
        let kind = GroupVersionKind::gvk(GROUP, "v1", kind);
        let resource = ApiResource::from_gvk_with_plural(&kind, plural);
        Api::all_with(self.client.clone(), &resource)
    }
}
