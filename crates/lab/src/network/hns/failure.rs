//! The HRESULTs that HNS answers with, and what Windows says for each.
//!
//! Callers match some of them by number and some by words, so both are part of
//! the contract.

use lab_wire::Failure;

macro_rules! failures {
    ($($(#[$doc:meta])* $name:ident = $code:literal, $text:literal;)*) => {
        $($(#[$doc])* pub fn $name() -> Failure {
            Failure { code: $code, text: $text.to_owned() }
        })*
    };
}

failures! {
    /// Nothing has this id: namespaces, load balancers, routes.
    element_not_found = 0x8007_0490, "Element not found.";
    /// No network has this id.
    network_not_found = 0x803B_0001, "The network was not found.";
    /// No endpoint has this id.
    endpoint_not_found = 0x803B_0002, "The endpoint was not found.";
    /// The network has no subnet from which an address could come.
    subnet_not_found = 0x803B_0005, "The network does not have a subnet for this endpoint.";
    /// The host has no network card of that name.
    adapter_not_found = 0x803B_0006, "An adapter was not found.";
    /// A policy to be removed is not there.
    policy_not_found = 0x803B_0008, "An expected policy was not found.";
    /// The network's document does not make sense.
    invalid_network = 0x803B_000A, "The provided network configuration is invalid or missing parameters.";
    /// No such kind of network.
    invalid_network_type = 0x803B_000B, "Invalid network type.";
    /// The endpoint's document does not make sense.
    invalid_endpoint = 0x803B_000C, "The provided endpoint configuration is invalid or missing parameters.";
    /// A policy's settings do not make sense.
    invalid_policy = 0x803B_000D, "The provided policy configuration is invalid or missing parameters.";
    /// This version of HNS does not know the kind of policy.
    invalid_policy_type = 0x803B_000E, "Invalid policy type.";
    /// Remote endpoints have no port that could be attached.
    invalid_remote_operation = 0x803B_000F, "This requested operation is invalid for a remote endpoint.";
    /// Network names are unique.
    network_exists = 0x803B_0010, "A network with this name already exists.";
    /// A published or load-balanced port is taken.
    port_exists = 0x803B_0013, "The specified port already exists.";
    /// flannel takes these words for success.
    already_attached = 0x803B_0014, "This endpoint is already attached to the switch.";
    /// Also: a namespace with containers in it cannot be deleted.
    unsupported = 0x803B_0015, "The specified request is unsupported.";
    /// What came is not JSON.
    invalid_json = 0x803B_001B, "Invalid JSON document string.";
    /// The address lies in none of the network's subnets.
    invalid_ip = 0x803B_001E, "IP address is either invalid or not part of any configured subnet(s).";
    /// An endpoint lives in one namespace at most.
    namespace_exists = 0x803B_002B, "The endpoint is already in a namespace.";
    /// The call exists, the function behind it does not.
    not_implemented = 0x8000_4001, "Not implemented";
    /// The address or the id is in use.
    object_exists = 0x8007_1392, "The object already exists.";
    /// The same load balancer twice.
    file_exists = 0x8007_00B7, "Cannot create a file when that file already exists.";
    /// For example a virtual adapter as uplink.
    incorrect_parameter = 0x8007_0057, "The parameter is incorrect.";
    /// More backends than VFP can take.
    too_many_destinations = 0x8007_0057, "The parameter is incorrect. Unable to initialize VFP LB rule: invalid number of destinations.";
}

/// Something under the emulator failed: `E_FAIL` with the true message.
pub fn unspecified(text: impl Into<String>) -> Failure {
    Failure {
        code: 0x8000_4005,
        text: text.into(),
    }
}
