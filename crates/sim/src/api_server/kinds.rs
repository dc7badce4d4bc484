//! The kinds that are served, and the shape of each as Kubernetes' own types
//! have it.

use k8s_openapi::api::{
    apps::v1 as apps, certificates::v1 as certificates, coordination::v1 as coordination,
    core::v1 as core, discovery::v1 as discovery, node::v1 as node, rbac::v1 as rbac,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// What the server knows of a kind.
pub(super) struct Kind {
    /// The API group; empty for the core.
    pub(super) group: &'static str,
    pub(super) version: &'static str,
    pub(super) kind: &'static str,
    pub(super) plural: &'static str,
    pub(super) short: &'static [&'static str],
    pub(super) namespaced: bool,
    /// Whether `/status` is apart from the rest.
    pub(super) status: bool,
    /// Whether a change of `spec` counts `metadata.generation` up.
    pub(super) generation: bool,
    /// Fields that a field selector may name, beyond name and namespace.
    pub(super) fields: &'static [&'static str],
    through: fn(Value) -> Result<Value, serde_json::Error>,
}

impl Kind {
    /// `apps/v1`.
    pub(super) fn api_version(&self) -> String {
        match self.group {
            "" => self.version.to_owned(),
            group => format!("{group}/{}", self.version),
        }
    }

    /// `daemonsets.apps`, as errors name it.
    pub(super) fn resource(&self) -> String {
        match self.group {
            "" => self.plural.to_owned(),
            group => format!("{}.{group}", self.plural),
        }
    }

    pub(super) fn singular(&self) -> String {
        self.kind.to_lowercase()
    }

    /// The object as its type has it: fields of the wrong type are an error,
    /// fields that the type does not know are gone.
    pub(super) fn decode(&self, object: Value) -> Result<Value, serde_json::Error> {
        (self.through)(object)
    }
}

/// The kind of a group and a plural.
pub(super) fn find(group: &str, plural: &str) -> Option<&'static Kind> {
    KINDS
        .iter()
        .find(|kind| kind.group == group && kind.plural == plural)
}

/// The kind by its own name; names are unique among those served.
pub(super) fn named(name: &str) -> Option<&'static Kind> {
    KINDS.iter().find(|kind| kind.kind == name)
}

fn through<T: DeserializeOwned + Serialize>(object: Value) -> Result<Value, serde_json::Error> {
    serde_json::to_value(serde_json::from_value::<T>(object)?)
}

const RBAC: &str = "rbac.authorization.k8s.io";

const fn plain(
    group: &'static str,
    kind: &'static str,
    plural: &'static str,
    through: fn(Value) -> Result<Value, serde_json::Error>,
) -> Kind {
    Kind {
        group,
        version: "v1",
        kind,
        plural,
        short: &[],
        namespaced: true,
        status: false,
        generation: false,
        fields: &[],
        through,
    }
}

/// A kind of Calico's, as its CustomResourceDefinitions have it. Its fields are
/// nobody's to check.
const fn custom(kind: &'static str, plural: &'static str) -> Kind {
    Kind {
        namespaced: false,
        generation: true,
        ..plain("crd.projectcalico.org", kind, plural, Ok)
    }
}

/// Every kind, ordered by group and plural as discovery lists them.
pub(super) static KINDS: &[Kind] = &[
    Kind {
        short: &["cm"],
        ..plain("", "ConfigMap", "configmaps", through::<core::ConfigMap>)
    },
    Kind {
        short: &["ep"],
        ..plain("", "Endpoints", "endpoints", through::<core::Endpoints>)
    },
    Kind {
        short: &["ev"],
        fields: &[
            "involvedObject.kind",
            "involvedObject.namespace",
            "involvedObject.name",
            "involvedObject.uid",
            "reason",
            "type",
        ],
        ..plain("", "Event", "events", through::<core::Event>)
    },
    Kind {
        short: &["ns"],
        namespaced: false,
        status: true,
        fields: &["status.phase"],
        ..plain("", "Namespace", "namespaces", through::<core::Namespace>)
    },
    Kind {
        short: &["no"],
        namespaced: false,
        status: true,
        fields: &["spec.unschedulable"],
        ..plain("", "Node", "nodes", through::<core::Node>)
    },
    Kind {
        short: &["po"],
        status: true,
        generation: true,
        fields: &[
            "spec.nodeName",
            "spec.serviceAccountName",
            "status.phase",
            "status.podIP",
        ],
        ..plain("", "Pod", "pods", through::<core::Pod>)
    },
    Kind {
        fields: &["type"],
        ..plain("", "Secret", "secrets", through::<core::Secret>)
    },
    Kind {
        short: &["sa"],
        ..plain(
            "",
            "ServiceAccount",
            "serviceaccounts",
            through::<core::ServiceAccount>,
        )
    },
    Kind {
        short: &["svc"],
        status: true,
        fields: &["spec.clusterIP", "spec.type"],
        ..plain("", "Service", "services", through::<core::Service>)
    },
    Kind {
        short: &["ds"],
        status: true,
        generation: true,
        ..plain(
            "apps",
            "DaemonSet",
            "daemonsets",
            through::<apps::DaemonSet>,
        )
    },
    Kind {
        short: &["deploy"],
        status: true,
        generation: true,
        ..plain(
            "apps",
            "Deployment",
            "deployments",
            through::<apps::Deployment>,
        )
    },
    Kind {
        short: &["rs"],
        status: true,
        generation: true,
        ..plain(
            "apps",
            "ReplicaSet",
            "replicasets",
            through::<apps::ReplicaSet>,
        )
    },
    Kind {
        short: &["csr"],
        namespaced: false,
        status: true,
        fields: &["spec.signerName"],
        ..plain(
            "certificates.k8s.io",
            "CertificateSigningRequest",
            "certificatesigningrequests",
            through::<certificates::CertificateSigningRequest>,
        )
    },
    plain(
        "coordination.k8s.io",
        "Lease",
        "leases",
        through::<coordination::Lease>,
    ),
    custom("FelixConfiguration", "felixconfigurations"),
    custom("IPAMConfig", "ipamconfigs"),
    custom("IPPool", "ippools"),
    plain(
        "discovery.k8s.io",
        "EndpointSlice",
        "endpointslices",
        through::<discovery::EndpointSlice>,
    ),
    Kind {
        namespaced: false,
        ..plain(
            "node.k8s.io",
            "RuntimeClass",
            "runtimeclasses",
            through::<node::RuntimeClass>,
        )
    },
    Kind {
        namespaced: false,
        ..plain(
            RBAC,
            "ClusterRoleBinding",
            "clusterrolebindings",
            through::<rbac::ClusterRoleBinding>,
        )
    },
    Kind {
        namespaced: false,
        ..plain(
            RBAC,
            "ClusterRole",
            "clusterroles",
            through::<rbac::ClusterRole>,
        )
    },
    plain(
        RBAC,
        "RoleBinding",
        "rolebindings",
        through::<rbac::RoleBinding>,
    ),
    plain(RBAC, "Role", "roles", through::<rbac::Role>),
];

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn names_of_kinds_are_unique() {
        for kind in KINDS {
            let same = KINDS.iter().filter(|other| other.kind == kind.kind);
            assert_eq!(same.count(), 1, "{}", kind.kind);
            assert!(std::ptr::eq(find(kind.group, kind.plural).unwrap(), kind));
        }
    }

    #[test]
    fn a_type_drops_what_it_does_not_know_and_refuses_what_is_wrong() {
        let kind = named("ConfigMap").unwrap();
        let read = kind
            .decode(json!({"metadata": {"name": "x"}, "dato": {}}))
            .unwrap();
        let wanted = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}});
        assert_eq!(read, wanted);
        assert!(kind.decode(json!({"data": {"x": 1}})).is_err());
        assert!(kind.decode(json!({"kind": "Secret"})).is_err());
    }
}
