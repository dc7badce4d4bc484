//! Ids of steps that crates besides the planner know. All others are known to `plan` only.
//!
//! A step keeps its id across documents, stages and releases: the journals of hosts have
//! it, and diagnoses find the step of a cause by it.

use std::fmt::Display;

/// containerd's configuration.
pub const CONTAINERD_CONFIG: &str = "containerd-config";
/// kube-proxy's configuration.
pub const PROXY_CONFIG: &str = "proxy-config";
/// The HNS network of the pods.
pub const HNS_NETWORK: &str = "hns-network";
/// The CNI configuration of the runtime.
pub const CNI: &str = "cni";

const ROUTE: &str = "route-";

/// A service that casement registers, or waits for.
#[must_use]
pub fn service(name: &str) -> String {
    format!("service-{name}")
}

/// The route to the pod network of another node.
pub fn route(network: impl Display) -> String {
    format!("{ROUTE}{network}")
}

#[must_use]
pub fn is_route(id: &str) -> bool {
    id.starts_with(ROUTE)
}

/// Whether a service runs. Only observed by `doctor`, not part of a plan.
#[must_use]
pub fn runs(service: &str) -> String {
    format!("runs-{service}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ResourceId;

    #[test]
    fn ids_are_valid() {
        let made = [service("kube-proxy"), route("10.244.1.0"), runs("kubelet")];
        let constants = [CONTAINERD_CONFIG, PROXY_CONFIG, HNS_NETWORK, CNI];
        for id in made.iter().map(String::as_str).chain(constants) {
            assert!(id.parse::<ResourceId>().is_ok(), "{id}");
        }
        assert!(is_route(&route("10.244.1.0")));
        assert!(!is_route(HNS_NETWORK));
    }
}
