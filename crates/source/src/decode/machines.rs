//! `machines`.

use std::collections::BTreeMap;

use casement_diag::Diagnostic;
use casement_spec::{
    Azure, HostAccess, HyperV, Hypervisor, Libvirt, MachineGroup, MachineSize, Machines, defaults,
};

use super::{access, if_given, or_default, secret};
use crate::codes;
use crate::mapping::Mapping;
use crate::reader::{FieldNode, Reader};
use crate::shapes;

type Sizes<T> = BTreeMap<MachineGroup, T>;

pub(super) fn machines(reader: &mut Reader<'_>, at: &FieldNode<'_>) -> Option<Machines> {
    let mapping = Mapping::read(reader, at, &shapes::MACHINES)?;
    let (name, at) = mapping.only(reader, &shapes::MACHINES)?;
    match name {
        "libvirt" => libvirt(reader, &at).map(Machines::Libvirt),
        "hyperv" => hyperv(reader, &at).map(Machines::HyperV),
        _ => azure(reader, &at).map(|azure| Machines::Azure(Box::new(azure))),
    }
}

fn libvirt(reader: &mut Reader<'_>, at: &FieldNode<'_>) -> Option<Libvirt> {
    let mapping = Mapping::read(reader, at, &shapes::LIBVIRT)?;
    let hypervisors = hypervisors(reader, &mapping);
    let network = or_default(
        mapping.get("network"),
        |at| reader.parse(&at, "a network", "10.0.0.0/24"),
        defaults::machine_network,
    );
    let sizes = sizes(reader, &mapping);
    Some(Libvirt {
        hypervisors: hypervisors?,
        network: network?,
        sizes: sizes?,
    })
}

fn hyperv(reader: &mut Reader<'_>, at: &FieldNode<'_>) -> Option<HyperV> {
    let mapping = Mapping::read(reader, at, &shapes::HYPERV)?;
    let hypervisors = hypervisors(reader, &mapping);
    let switch = mapping.required("switch");
    let switch = switch.and_then(|at| reader.parse(&at, "a name", "external"));
    let sizes = sizes(reader, &mapping);
    Some(HyperV {
        hypervisors: hypervisors?,
        switch: switch?,
        sizes: sizes?,
    })
}

fn hypervisors(reader: &mut Reader<'_>, mapping: &Mapping<'_>) -> Option<Vec<Hypervisor>> {
    let at = mapping.required("hypervisors")?;
    let items = reader.list(&at, "a list of hypervisors")?;
    if items.is_empty() {
        let finding = Diagnostic::error(at.path, "the list of hypervisors is empty");
        let finding = finding.code(codes::BAD_VALUE);
        reader.add(finding.help("add one: `- {name: nyctea, address: 10.3.0.9}`"));
        return None;
    }
    let number = items.len();
    let all: Vec<_> = items
        .iter()
        .filter_map(|at| hypervisor(reader, at))
        .collect();
    (all.len() == number).then_some(all)
}

fn hypervisor(reader: &mut Reader<'_>, at: &FieldNode<'_>) -> Option<Hypervisor> {
    let mapping = Mapping::read(reader, at, &shapes::HYPERVISOR)?;
    let name = mapping.required("name");
    let name = name.and_then(|at| reader.parse(&at, "a name", "nyctea"));
    let address = mapping.required("address");
    let address = address.and_then(|at| reader.parse(&at, "an address or a host name", "10.3.0.9"));
    let hosts = or_default(
        mapping.get("hosts"),
        |at| reader.parse_list(&at, "a list of hosts", "windows01"),
        Vec::new,
    );
    let access = or_default(
        mapping.get("access"),
        |at| access::host_access(reader, &at, &shapes::HYPERVISOR_ACCESS),
        HostAccess::default,
    );
    Some(Hypervisor {
        name: name?,
        address: address?,
        hosts: hosts?,
        access: access?,
    })
}

fn sizes(reader: &mut Reader<'_>, mapping: &Mapping<'_>) -> Option<Sizes<MachineSize>> {
    or_default(
        mapping.get("sizes"),
        |at| {
            let expected = "a mapping of groups to sizes";
            reader.named_pairs(&at, expected, "machine group", size)
        },
        BTreeMap::new,
    )
}

fn size(reader: &mut Reader<'_>, at: &FieldNode<'_>) -> Option<MachineSize> {
    let mapping = Mapping::read(reader, at, &shapes::SIZE)?;
    let cpus = if_given(mapping.get("cpus"), |at| {
        let number = reader.number(&at, 1..=1024, 4)?;
        u16::try_from(number).ok()
    });
    let memory = if_given(mapping.get("memory"), |at| {
        reader.parse(&at, "a size", "16Gi")
    });
    let disk = if_given(mapping.get("disk"), |at| {
        reader.parse(&at, "a size", "60Gi")
    });
    Some(MachineSize {
        cpus: cpus?,
        memory: memory?,
        disk: disk?,
    })
}

fn azure(reader: &mut Reader<'_>, at: &FieldNode<'_>) -> Option<Azure> {
    let mapping = Mapping::read(reader, at, &shapes::AZURE)?;
    let location = mapping.required("location");
    let location = location.and_then(|at| reader.parse(&at, "a region", "westeurope"));
    let subscription = mapping.required("subscription");
    let subscription = subscription.and_then(|at| reader.parse(&at, "an id", "shop-production"));
    let mut name = |field| {
        if_given(mapping.get(field), |at| {
            reader.parse(&at, "a name", "shop-production")
        })
    };
    let (resource_group, tenant, client) = (name("resourceGroup"), name("tenant"), name("client"));
    let client_secret = if_given(mapping.get("clientSecret"), |at| {
        secret::reference(reader, &at)
    });
    let sizes = or_default(
        mapping.get("sizes"),
        |at| {
            let expected = "a mapping of groups to sizes";
            reader.named_pairs(&at, expected, "machine group", |reader, at| {
                reader.parse(at, "an Azure VM size", "Standard_D4s_v5")
            })
        },
        BTreeMap::new,
    );
    Some(Azure {
        location: location?,
        subscription: subscription?,
        resource_group: resource_group?,
        tenant: tenant?,
        client: client?,
        client_secret: client_secret?,
        sizes: sizes?,
    })
}
