//! The served kinds, with their k8s-openapi types.

use k8s_openapi::api::{
    apps::v1 as apps, certificates::v1 as certificates, coordination::v1 as coordination,
    core::v1 as core, discovery::v1 as discovery, node::v1 as node, rbac::v1 as rbac,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

pub(super) struct Kind {
    /// Empty for the core group.
    pub(super) group: &'static str,
    pub(super) version: &'static str,
    pub(super) kind: &'static str,
    pub(super) plural: &'static str,
    pub(super) short_names: &'static [&'static str],
    pub(super) namespaced: bool,
    /// Whether `/status` is a subresource.
    pub(super) status: bool,
    /// Whether a change of `spec` increments `metadata.generation`.
    pub(super) generation: bool,
    /// Fields allowed in field selectors besides name and namespace.
    pub(super) fields: &'static [&'static str],
    decoder: fn(Value) -> Result<Value, serde_json::Error>,
}

impl Kind {
    /// For example `apps/v1`.
    pub(super) fn api_version(&self) -> String {
        match self.group {
            "" => self.version.to_owned(),
            group => format!("{group}/{}", self.version),
        }
    }

    /// For example `daemonsets.apps`, as in error messages.
    pub(super) fn resource(&self) -> String {
        match self.group {
            "" => self.plural.to_owned(),
            group => format!("{}.{group}", self.plural),
        }
    }

    pub(super) fn singular(&self) -> String {
        self.kind.to_lowercase()
    }

    /// Converts the object through its type: a wrong field type is an error, unknown fields
    /// are dropped.
    pub(super) fn decode(&self, object: Value) -> Result<Value, serde_json::Error> {
        (self.decoder)(object)
    }
}

pub(super) fn find(group: &str, plural: &str) -> Option<&'static Kind> {
    KINDS
        .iter()
        .find(|kind| kind.group == group && kind.plural == plural)
}

/// Kind names are unique among the served kinds.
pub(super) fn by_name(name: &str) -> Option<&'static Kind> {
    KINDS.iter().find(|kind| kind.kind == name)
}

fn round_trip<T: DeserializeOwned + Serialize>(object: Value) -> Result<Value, serde_json::Error> {
    serde_json::to_value(serde_json::from_value::<T>(object)?)
}

const RBAC: &str = "rbac.authorization.k8s.io";

const fn namespaced_kind(
    group: &'static str,
    kind: &'static str,
    plural: &'static str,
    decoder: fn(Value) -> Result<Value, serde_json::Error>,
) -> Kind {
    Kind {
        group,
        version: "v1",
        kind,
        plural,
        short_names: &[],
        namespaced: true,
        status: false,
        generation: false,
        fields: &[],
        decoder,
    }
}

/// A custom resource of Calico, whose fields are not validated.
const fn custom(kind: &'static str, plural: &'static str) -> Kind {
    Kind {
        namespaced: false,
        generation: true,
        ..namespaced_kind("crd.projectcalico.org", kind, plural, Ok)
    }
}

/// Ordered by group and plural, as discovery lists them.
pub(super) static KINDS: &[Kind] = &[
    Kind {
        short_names: &["cm"],
        ..namespaced_kind("", "ConfigMap", "configmaps", round_trip::<core::ConfigMap>)
    },
    Kind {
        short_names: &["ep"],
        ..namespaced_kind("", "Endpoints", "endpoints", round_trip::<core::Endpoints>)
    },
    Kind {
        short_names: &["ev"],
        fields: &[
            "involvedObject.kind",
            "involvedObject.namespace",
            "involvedObject.name",
            "involvedObject.uid",
            "reason",
            "type",
        ],
        ..namespaced_kind("", "Event", "events", round_trip::<core::Event>)
    },
    Kind {
        short_names: &["ns"],
        namespaced: false,
        status: true,
        fields: &["status.phase"],
        ..namespaced_kind("", "Namespace", "namespaces", round_trip::<core::Namespace>)
    },
    Kind {
        short_names: &["no"],
        namespaced: false,
        status: true,
        fields: &["spec.unschedulable"],
        ..namespaced_kind("", "Node", "nodes", round_trip::<core::Node>)
    },
    Kind {
        short_names: &["po"],
        status: true,
        generation: true,
        fields: &[
            "spec.nodeName",
            "spec.serviceAccountName",
            "status.phase",
            "status.podIP",
        ],
        ..namespaced_kind("", "Pod", "pods", round_trip::<core::Pod>)
    },
    Kind {
        fields: &["type"],
        ..namespaced_kind("", "Secret", "secrets", round_trip::<core::Secret>)
    },
    Kind {
        short_names: &["sa"],
        ..namespaced_kind(
            "",
            "ServiceAccount",
            "serviceaccounts",
            round_trip::<core::ServiceAccount>,
        )
    },
    Kind {
        short_names: &["svc"],
        status: true,
        fields: &["spec.clusterIP", "spec.type"],
        ..namespaced_kind("", "Service", "services", round_trip::<core::Service>)
    },
    Kind {
        short_names: &["ds"],
        status: true,
        generation: true,
        ..namespaced_kind(
            "apps",
            "DaemonSet",
            "daemonsets",
            round_trip::<apps::DaemonSet>,
        )
    },
    Kind {
        short_names: &["deploy"],
        status: true,
        generation: true,
        ..namespaced_kind(
            "apps",
            "Deployment",
            "deployments",
            round_trip::<apps::Deployment>,
        )
    },
    Kind {
        short_names: &["rs"],
        status: true,
        generation: true,
        ..namespaced_kind(
            "apps",
            "ReplicaSet",
            "replicasets",
            round_trip::<apps::ReplicaSet>,
        )
    },
    Kind {
        short_names: &["csr"],
        namespaced: false,
        status: true,
        fields: &["spec.signerName"],
        ..namespaced_kind(
            "certificates.k8s.io",
            "CertificateSigningRequest",
            "certificatesigningrequests",
            round_trip::<certificates::CertificateSigningRequest>,
        )
    },
    namespaced_kind(
        "coordination.k8s.io",
        "Lease",
        "leases",
        round_trip::<coordination::Lease>,
    ),
    custom("FelixConfiguration", "felixconfigurations"),
    custom("IPAMConfig", "ipamconfigs"),
    custom("IPPool", "ippools"),
    namespaced_kind(
        "discovery.k8s.io",
        "EndpointSlice",
        "endpointslices",
        round_trip::<discovery::EndpointSlice>,
    ),
    Kind {
        namespaced: false,
        ..namespaced_kind(
            "node.k8s.io",
            "RuntimeClass",
            "runtimeclasses",
            round_trip::<node::RuntimeClass>,
        )
    },
    Kind {
        namespaced: false,
        ..namespaced_kind(
            RBAC,
            "ClusterRoleBinding",
            "clusterrolebindings",
            round_trip::<rbac::ClusterRoleBinding>,
        )
    },
    Kind {
        namespaced: false,
        ..namespaced_kind(
            RBAC,
            "ClusterRole",
            "clusterroles",
            round_trip::<rbac::ClusterRole>,
        )
    },
    namespaced_kind(
        RBAC,
        "RoleBinding",
        "rolebindings",
        round_trip::<rbac::RoleBinding>,
    ),
    namespaced_kind(RBAC, "Role", "roles", round_trip::<rbac::Role>),
];

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn kind_names_are_unique() {
        for kind in KINDS {
            let same = KINDS.iter().filter(|other| other.kind == kind.kind);
            assert_eq!(same.count(), 1, "{}", kind.kind);
            assert!(std::ptr::eq(find(kind.group, kind.plural).unwrap(), kind));
        }
    }

    #[test]
    fn decode_drops_unknown_fields_and_rejects_wrong_types() {
        let kind = by_name("ConfigMap").unwrap();
        let read = kind
            .decode(json!({"metadata": {"name": "x"}, "dato": {}}))
            .unwrap();
        let expected = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}});
        assert_eq!(read, expected);
        assert!(kind.decode(json!({"data": {"x": 1}})).is_err());
        assert!(kind.decode(json!({"kind": "Secret"})).is_err());
    }
}
