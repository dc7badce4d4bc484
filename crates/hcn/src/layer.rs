//! Container layers, through `vmcompute.dll`: the same function that containerd and
//! Docker use.

use crate::error::HcnError;
use crate::platform;

/// Deletes a layer with its content. Only the host compute service can do this: the
/// files belong to container accounts, and the disk may be mounted.
///
/// # Errors
///
/// [`HcnError::MissingLibrary`] on a host without the feature `Containers`.
pub fn destroy_layer(path: &str) -> Result<(), HcnError> {
    platform::destroy_layer(path)
}
