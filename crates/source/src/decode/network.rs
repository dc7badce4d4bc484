//! `network`.

use casement_diag::{Diagnostic, Part};
use casement_spec::{
    Backend, Invalid, Mtu, Network, NetworkAgent, NetworkMode, Vni, Vxlan, defaults,
};

use super::{if_given, or_default};
use crate::codes;
use crate::mapping::{Given, Mapping};
use crate::reader::{FieldNode, Reader};
use crate::shapes;

pub(super) fn network(reader: &mut Reader<'_>, at: &FieldNode<'_>) -> Option<Network> {
    let mapping = Mapping::read(reader, at, &shapes::NETWORK)?;
    let mode = mapping
        .required("mode")
        .and_then(|at| reader.named::<NetworkMode>(&at, "network mode"));
    let agent = or_default(
        mapping.get("agent"),
        |at| reader.named::<NetworkAgent>(&at, "network agent"),
        || NetworkAgent::Flannel,
    );
    let vni = or_default(
        mapping.get("vni"),
        |at| bounded(reader, &at, (1, Vni::MAX), 4096),
        defaults::vni,
    );
    let port = or_default(
        mapping.get("port"),
        |at| {
            let number = reader.number(&at, 1..=65535, u32::from(defaults::VXLAN_PORT))?;
            u16::try_from(number).ok()
        },
        || defaults::VXLAN_PORT,
    );
    let hns_network = if_given(mapping.get("hnsNetwork"), |at| {
        reader.parse(&at, "a name", "cbr0")
    });
    let cni_name = or_default(
        mapping.get("cniName"),
        |at| reader.parse(&at, "a name", "cbr0"),
        defaults::cni_name,
    );
    let mtu = if_given(mapping.get("mtu"), |at| {
        bounded(reader, &at, (u32::from(Mtu::MIN), 65535), 1450)
    });
    let interface = if_given(mapping.get("interface"), |at| {
        reader.parse(&at, "an interface name", "Ethernet")
    });
    let mode = mode?;
    let valid = check_mode_fields(reader, &mapping, mode);
    let backend = backend(mode, agent?, vni?, port?);
    let hns_network = hns_network?.unwrap_or_else(|| defaults::hns_network(backend));
    valid.then_some(Network {
        backend,
        hns_network,
        cni_name: cni_name?,
        mtu: mtu?,
        interface: interface?,
    })
}

fn backend(mode: NetworkMode, agent: NetworkAgent, vni: Vni, port: u16) -> Backend {
    let vxlan = Vxlan { vni, port };
    match mode {
        NetworkMode::FlannelOverlay => Backend::FlannelOverlay { agent, vxlan },
        NetworkMode::FlannelHostGw => Backend::FlannelHostGw { agent },
        NetworkMode::L3Routes => Backend::L3Routes,
        NetworkMode::CalicoVxlan => Backend::CalicoVxlan { vxlan },
    }
}

/// A number with limits, which the schema repeats.
fn bounded<T: TryFrom<u32, Error = Invalid>>(
    reader: &mut Reader<'_>,
    at: &FieldNode<'_>,
    (min, max): (u32, u32),
    example: u32,
) -> Option<T> {
    let number = reader.number(at, min..=max, example)?;
    match T::try_from(number) {
        Ok(value) => Some(value),
        Err(invalid) => {
            reader.invalid(at, &invalid, &example.to_string());
            None
        }
    }
}

/// Whether all fields that are set are used in this mode.
fn check_mode_fields(reader: &mut Reader<'_>, mapping: &Mapping<'_>, mode: NetworkMode) -> bool {
    let mut valid = true;
    for (name, supported, reason) in [
        (
            "agent",
            mode.is_flannel(),
            "only flannel modes have an agent",
        ),
        ("vni", mode.is_vxlan(), "only VXLAN has a VNI"),
        ("port", mode.is_vxlan(), "only VXLAN has a port"),
    ] {
        let Given::Value(at) = mapping.get(name) else {
            continue;
        };
        if supported {
            continue;
        }
        valid = false;
        let message = format!("`network.{name}` cannot be used with `mode: {mode}`");
        let mut finding = Diagnostic::error(at.path, message)
            .code(codes::FIELD_DEPENDENCY)
            .at(Part::Key)
            .note(reason);
        if let Given::Value(mode) = mapping.get("mode") {
            finding = finding.label(mode.path, "the mode");
        }
        reader.add(finding.help("remove it, or choose another mode"));
    }
    valid
}
