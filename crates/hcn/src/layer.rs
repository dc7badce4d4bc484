//! Layers of containers, through `vmcompute.dll`: the same function that
//! containerd and Docker call.

use crate::error::HcnError;
use crate::platform;

/// Deletes a layer with all that is in it. Its files belong to the containers'
/// own accounts, and its disk may be mounted: only the host compute service can
/// do it.
///
/// # Errors
///
/// [`HcnError::Absent`] on a host without the feature `Containers`.
pub fn destroy_layer(path: &str) -> Result<(), HcnError> {
    platform::destroy_layer(path)
}
