//! Layers of containers.

use casement_resource::{Code, Failure, HostPath};

use super::Windows;
use crate::platform::Layers;

impl Layers for Windows {
    fn destroy_layer(&self, path: &HostPath) -> Result<(), Failure> {
        casement_hcn::destroy_layer(path.as_str()).map_err(|error| {
            let remedy = error
                .remedy()
                .unwrap_or("restart the host, which ends what uses the layer, then reset again");
            let what = format!("cannot delete the container layer `{path}`: {error}");
            Failure::new(Code::System, what, remedy)
        })
    }
}
