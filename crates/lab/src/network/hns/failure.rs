//! The HRESULTs of HNS and their messages.
//!
//! Callers match some by code and some by message, so both are part of the contract.

use lab_wire::Failure;

macro_rules! failures {
    ($($(#[$doc:meta])* $name:ident = $code:literal, $text:literal;)*) => {
        $($(#[$doc])* pub fn $name() -> Failure {
            Failure { code: $code, text: $text.to_owned() }
        })*
    };
}

failures! {
    /// For namespaces, load balancers and routes.
    element_not_found = 0x8007_0490, "Element not found.";
    network_not_found = 0x803B_0001, "The network was not found.";
    endpoint_not_found = 0x803B_0002, "The endpoint was not found.";
    /// No free address in any subnet of the network.
    subnet_not_found = 0x803B_0005, "The network does not have a subnet for this endpoint.";
    adapter_not_found = 0x803B_0006, "An adapter was not found.";
    /// The policy to remove does not exist.
    policy_not_found = 0x803B_0008, "An expected policy was not found.";
    invalid_network = 0x803B_000A, "The provided network configuration is invalid or missing parameters.";
    invalid_network_type = 0x803B_000B, "Invalid network type.";
    invalid_endpoint = 0x803B_000C, "The provided endpoint configuration is invalid or missing parameters.";
    invalid_policy = 0x803B_000D, "The provided policy configuration is invalid or missing parameters.";
    /// This HNS version does not support the policy type.
    invalid_policy_type = 0x803B_000E, "Invalid policy type.";
    /// Remote endpoints cannot be attached.
    invalid_remote_operation = 0x803B_000F, "This requested operation is invalid for a remote endpoint.";
    network_exists = 0x803B_0010, "A network with this name already exists.";
    /// A published or load-balanced port is in use.
    port_exists = 0x803B_0013, "The specified port already exists.";
    /// flannel treats this message as success.
    already_attached = 0x803B_0014, "This endpoint is already attached to the switch.";
    /// Also returned for the deletion of a namespace with containers.
    unsupported = 0x803B_0015, "The specified request is unsupported.";
    invalid_json = 0x803B_001B, "Invalid JSON document string.";
    /// Also for addresses outside of the network's subnets.
    invalid_ip = 0x803B_001E, "IP address is either invalid or not part of any configured subnet(s).";
    /// An endpoint can be in one namespace only.
    namespace_exists = 0x803B_002B, "The endpoint is already in a namespace.";
    not_implemented = 0x8000_4001, "Not implemented";
    /// The address or id is in use.
    object_exists = 0x8007_1392, "The object already exists.";
    /// An identical load balancer exists.
    file_exists = 0x8007_00B7, "Cannot create a file when that file already exists.";
    /// For example a virtual adapter as the uplink.
    incorrect_parameter = 0x8007_0057, "The parameter is incorrect.";
    /// More backends than VFP supports.
    too_many_destinations = 0x8007_0057, "The parameter is incorrect. Unable to initialize VFP LB rule: invalid number of destinations.";
}

/// `E_FAIL` with the message of a failure in the emulator.
pub fn unspecified(text: impl Into<String>) -> Failure {
    Failure {
        code: 0x8000_4005,
        text: text.into(),
    }
}
