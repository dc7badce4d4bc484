//! `casement-node inspect`: the facts of a host, for troubleshooting.

use casement_resource::Code;

use crate::platform::{Platform, Result};

/// Host facts and HNS objects; the HNS lists are empty on systems without HNS.
pub(crate) fn inspect(platform: &dyn Platform) -> Result<serde_json::Value> {
    let (networks, endpoints) = match (platform.hns_networks(), platform.hns_endpoints()) {
        (Ok(networks), Ok(endpoints)) => (networks, endpoints),
        (Err(failure), _) | (_, Err(failure)) if failure.code != Code::Unsupported => {
            return Err(failure);
        }
        _ => Default::default(),
    };
    Ok(serde_json::json!({
        "version": env!("CARGO_PKG_VERSION"),
        "facts": platform.facts()?,
        "hnsNetworks": networks,
        "hnsEndpoints": endpoints,
    }))
}
