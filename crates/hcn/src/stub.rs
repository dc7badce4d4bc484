//! Other platforms: the same interface, and every library is missing.

use crate::error::HcnError;
use crate::guid::Guid;
use crate::kind::Kind;

/// Never constructed: loading fails.
pub(crate) enum ComputeNetwork {}

/// Never constructed: opening needs a library.
pub(crate) enum Handle {}

/// Never constructed: loading fails.
pub(crate) enum Vmcompute {}

impl ComputeNetwork {
    pub(crate) fn load() -> Result<Self, HcnError> {
        Err(HcnError::MissingLibrary {
            library: "computenetwork.dll",
        })
    }

    pub(crate) fn enumerate(&self, _kind: Kind, _query: &str) -> Result<String, HcnError> {
        match *self {}
    }

    pub(crate) fn create(&self, _kind: Kind, _settings: &str) -> Result<Handle, HcnError> {
        match *self {}
    }

    pub(crate) fn create_endpoint(
        &self,
        _network: &Handle,
        _settings: &str,
    ) -> Result<Handle, HcnError> {
        match *self {}
    }

    pub(crate) fn open(&self, _kind: Kind, _id: Guid) -> Result<Handle, HcnError> {
        match *self {}
    }

    pub(crate) fn query(&self, _object: &Handle, _query: &str) -> Result<String, HcnError> {
        match *self {}
    }

    pub(crate) fn modify(&self, _object: &Handle, _settings: &str) -> Result<(), HcnError> {
        match *self {}
    }

    pub(crate) fn delete(&self, _kind: Kind, _id: Guid) -> Result<(), HcnError> {
        match *self {}
    }
}

impl Vmcompute {
    pub(crate) fn load() -> Result<Self, HcnError> {
        Err(HcnError::MissingLibrary {
            library: "vmcompute.dll",
        })
    }

    pub(crate) fn call(&self, _method: &str, _path: &str, _body: &str) -> Result<String, HcnError> {
        match *self {}
    }
}

pub(crate) fn destroy_layer(_path: &str) -> Result<(), HcnError> {
    Err(HcnError::MissingLibrary {
        library: "vmcompute.dll",
    })
}
