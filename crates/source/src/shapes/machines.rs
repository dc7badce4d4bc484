//! Machines that are made before they are hosts.

use casement_spec::MachineGroup;

use super::HYPERVISOR_ACCESS;
use super::access::SECRET;
use crate::shape::{Kind, Shape, optional, required, words};

pub(crate) static MACHINES: Shape = Shape {
    id: "machines",
    place: "`machines`",
    fields: &[
        optional(
            "libvirt",
            Kind::Mapping(&LIBVIRT),
            "On Linux hypervisors with libvirt.",
        ),
        optional(
            "hyperv",
            Kind::Mapping(&HYPERV),
            "On Windows hypervisors with Hyper-V.",
        ),
        optional("azure", Kind::Mapping(&AZURE), "In an Azure account."),
    ],
};

const HYPERVISORS: Kind = Kind::List(&Kind::Mapping(&HYPERVISOR));
const SIZES: Kind = Kind::Known(words::<MachineGroup>, &Kind::Mapping(&SIZE));

pub(crate) static LIBVIRT: Shape = Shape {
    id: "libvirt",
    place: "`machines.libvirt`",
    fields: &[
        required(
            "hypervisors",
            HYPERVISORS,
            "hypervisors: [{name: nyctea, address: 10.3.0.9}]",
            "The machines that machines run on.",
        ),
        optional(
            "network",
            Kind::Text,
            "The network that the machines are in.",
        ),
        optional("sizes", SIZES, "How large the machines are."),
    ],
};

pub(crate) static HYPERV: Shape = Shape {
    id: "hyperv",
    place: "`machines.hyperv`",
    fields: &[
        required(
            "hypervisors",
            HYPERVISORS,
            "hypervisors: [{name: nyctea, address: 10.3.0.9}]",
            "The machines that machines run on.",
        ),
        required(
            "switch",
            Kind::Text,
            "switch: external",
            "The virtual switch that the machines are plugged into.",
        ),
        optional("sizes", SIZES, "How large the machines are."),
    ],
};

pub(crate) static HYPERVISOR: Shape = Shape {
    id: "hypervisor",
    place: "`hypervisors[]`",
    fields: &[
        required("name", Kind::Text, "name: nyctea", "Its name."),
        required(
            "address",
            Kind::Text,
            "address: 10.3.0.9",
            "Its address or name on the network.",
        ),
        optional(
            "hosts",
            Kind::List(&Kind::Text),
            "The hosts that are placed on it; the rest is spread.",
        ),
        optional(
            "access",
            Kind::Mapping(&HYPERVISOR_ACCESS),
            "How it is reached, where that differs from the hosts.",
        ),
    ],
};

pub(crate) static SIZE: Shape = Shape {
    id: "size",
    place: "`sizes`",
    fields: &[
        optional("cpus", Kind::Number(1, 1024), "Virtual processors."),
        optional("memory", Kind::Text, "Memory, such as `16Gi`."),
        optional(
            "disk",
            Kind::Text,
            "The disk of the system, such as `60Gi`.",
        ),
    ],
};

pub(crate) static AZURE: Shape = Shape {
    id: "azure",
    place: "`machines.azure`",
    fields: &[
        required(
            "location",
            Kind::Text,
            "location: westeurope",
            "The region.",
        ),
        required(
            "subscription",
            Kind::Text,
            "subscription: 00000000-0000-0000-0000-000000000000",
            "The subscription that pays.",
        ),
        optional(
            "resourceGroup",
            Kind::Text,
            "The group that all of it is in; by default one called as the cluster.",
        ),
        optional("tenant", Kind::Text, "The tenant of the service principal."),
        optional("client", Kind::Text, "The service principal's id."),
        optional(
            "clientSecret",
            Kind::OneOf(&SECRET),
            "Where the service principal's secret is.",
        ),
        optional(
            "sizes",
            Kind::Known(words::<MachineGroup>, &Kind::Text),
            "Sizes of machines as Azure calls them.",
        ),
    ],
};
