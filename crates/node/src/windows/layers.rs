//! Container layers.

use casement_resource::{Code, Failure, HostPath};

use super::Windows;
use crate::platform::Layers;

impl Layers for Windows {
    fn destroy_layer(&self, path: &HostPath) -> Result<(), Failure> {
        casement_hcn::destroy_layer(path.as_str()).map_err(|error| {
            let help = error
                .help()
                .unwrap_or("reboot the host to stop everything that uses the layer, then run `casement reset` again");
            let message = format!("failed to delete the container layer `{path}`: {error}");
            Failure::new(Code::System, message, help)
        })
    }
}
