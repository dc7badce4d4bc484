//! Machines that casement creates.

use casement_spec::MachineGroup;

use super::HYPERVISOR_ACCESS;
use super::access::SECRET;
use crate::shape::{Kind, Shape, optional, required, words};

pub(crate) static MACHINES: Shape = Shape {
    id: "machines",
    title: "`machines`",
    fields: &[
        optional(
            "libvirt",
            Kind::Mapping(&LIBVIRT),
            "Linux hypervisors with libvirt.",
        ),
        optional(
            "hyperv",
            Kind::Mapping(&HYPERV),
            "Windows hypervisors with Hyper-V.",
        ),
        optional("azure", Kind::Mapping(&AZURE), "An Azure subscription."),
    ],
};

const HYPERVISORS: Kind = Kind::List(&Kind::Mapping(&HYPERVISOR));
const SIZES: Kind = Kind::KnownKeys(words::<MachineGroup>, &Kind::Mapping(&SIZE));

pub(crate) static LIBVIRT: Shape = Shape {
    id: "libvirt",
    title: "`machines.libvirt`",
    fields: &[
        required(
            "hypervisors",
            HYPERVISORS,
            "hypervisors: [{name: nyctea, address: 10.3.0.9}]",
            "The hypervisors.",
        ),
        optional("network", Kind::Text, "Network of the machines."),
        optional("sizes", SIZES, "Sizes of the machines."),
    ],
};

pub(crate) static HYPERV: Shape = Shape {
    id: "hyperv",
    title: "`machines.hyperv`",
    fields: &[
        required(
            "hypervisors",
            HYPERVISORS,
            "hypervisors: [{name: nyctea, address: 10.3.0.9}]",
            "The hypervisors.",
        ),
        required(
            "switch",
            Kind::Text,
            "switch: external",
            "Virtual switch of the machines.",
        ),
        optional("sizes", SIZES, "Sizes of the machines."),
    ],
};

pub(crate) static HYPERVISOR: Shape = Shape {
    id: "hypervisor",
    title: "`hypervisors[]`",
    fields: &[
        required(
            "name",
            Kind::Text,
            "name: nyctea",
            "Name of the hypervisor.",
        ),
        required(
            "address",
            Kind::Text,
            "address: 10.3.0.9",
            "Address or host name.",
        ),
        optional(
            "hosts",
            Kind::List(&Kind::Text),
            "Hosts to place on this hypervisor; others are distributed.",
        ),
        optional(
            "access",
            Kind::Mapping(&HYPERVISOR_ACCESS),
            "Connection settings of the hypervisor; they override `access`.",
        ),
    ],
};

pub(crate) static SIZE: Shape = Shape {
    id: "size",
    title: "`sizes`",
    fields: &[
        optional("cpus", Kind::Number(1, 1024), "Virtual processors."),
        optional("memory", Kind::Text, "Memory, such as `16Gi`."),
        optional("disk", Kind::Text, "System disk, such as `60Gi`."),
    ],
};

pub(crate) static AZURE: Shape = Shape {
    id: "azure",
    title: "`machines.azure`",
    fields: &[
        required(
            "location",
            Kind::Text,
            "location: westeurope",
            "Azure region.",
        ),
        required(
            "subscription",
            Kind::Text,
            "subscription: 00000000-0000-0000-0000-000000000000",
            "Subscription ID or name.",
        ),
        optional(
            "resourceGroup",
            Kind::Text,
            "Resource group; defaults to the cluster name.",
        ),
        optional("tenant", Kind::Text, "Tenant of the service principal."),
        optional("client", Kind::Text, "ID of the service principal."),
        optional(
            "clientSecret",
            Kind::OneOf(&SECRET),
            "Reference to the secret of the service principal.",
        ),
        optional(
            "sizes",
            Kind::KnownKeys(words::<MachineGroup>, &Kind::Text),
            "Azure VM sizes.",
        ),
    ],
};
