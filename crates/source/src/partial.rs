//! As much of a document as could be read: what checks across fields look at.
//!
//! A mistake in one field must not hide what others say together, so nothing
//! here waits for the document to be whole.

use std::net::Ipv4Addr;

use casement_diag::FieldPath;
use casement_spec::{CidrAllocation, Cidrs, HostName, HostOs, KubernetesVersion, Role};

/// A value, where it stands, and whether a person wrote it there.
#[derive(Debug, Clone)]
pub(crate) struct Placed<T> {
    pub(crate) value: T,
    pub(crate) path: FieldPath,
    /// Otherwise it is the default.
    pub(crate) written: bool,
}

/// What could be read.
#[derive(Debug, Default)]
pub(crate) struct Outline {
    pub(crate) version: Option<Placed<KubernetesVersion>>,
    pub(crate) pods: Option<Placed<Cidrs>>,
    pub(crate) services: Option<Placed<Cidrs>>,
    /// Who gives nodes their pod networks; `None` if it could not be read.
    pub(crate) allocation: Option<CidrAllocation>,
    /// Whether a control plane exists already.
    pub(crate) existing: bool,
    /// `None` if there is no list of hosts at all.
    pub(crate) hosts: Option<Vec<HostOutline>>,
}

/// What could be read of a host.
#[derive(Debug)]
pub(crate) struct HostOutline {
    pub(crate) path: FieldPath,
    pub(crate) name: Option<HostName>,
    pub(crate) address: Option<Ipv4Addr>,
    pub(crate) os: Option<HostOs>,
    /// Where its pod network stands, if it has one.
    pub(crate) pod_cidr: Option<FieldPath>,
    /// Each with its own place.
    pub(crate) roles: Vec<Placed<Role>>,
}

impl HostOutline {
    /// Its name, or its place in the list.
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
