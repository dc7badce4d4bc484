//! The valid parts of a document, input of the checks across fields.
//!
//! An error in one field must not hide errors in others, so these checks do not
//! require a complete document.

use std::net::Ipv4Addr;

use casement_diag::FieldPath;
use casement_spec::{CidrAllocation, Cidrs, HostName, HostOs, KubernetesVersion, Role};

#[derive(Debug, Clone)]
pub(crate) struct FieldValue<T> {
    pub(crate) value: T,
    pub(crate) path: FieldPath,
    /// False for a default.
    pub(crate) explicit: bool,
}

#[derive(Debug, Default)]
pub(crate) struct PartialCluster {
    pub(crate) version: Option<FieldValue<KubernetesVersion>>,
    pub(crate) pods: Option<FieldValue<Cidrs>>,
    pub(crate) services: Option<FieldValue<Cidrs>>,
    /// `None` if invalid.
    pub(crate) allocation: Option<CidrAllocation>,
    /// The document has `spec.existing`.
    pub(crate) existing: bool,
    /// `None` if the document has no list of hosts.
    pub(crate) hosts: Option<Vec<PartialHost>>,
}

#[derive(Debug)]
pub(crate) struct PartialHost {
    pub(crate) path: FieldPath,
    pub(crate) name: Option<HostName>,
    pub(crate) address: Option<Ipv4Addr>,
    pub(crate) os: Option<HostOs>,
    /// Path of `podCidr`, if set.
    pub(crate) pod_cidr: Option<FieldPath>,
    pub(crate) roles: Vec<FieldValue<Role>>,
}

impl PartialHost {
    /// The name, or the field path if there is no valid name.
    pub(crate) fn title(&self) -> String {
        match &self.name {
            Some(name) => name.to_string(),
            None => crate::reader::short_path(&self.path),
        }
    }

    pub(crate) fn runs_windows(&self) -> bool {
        self.os.is_some_and(HostOs::is_windows)
    }
}
