//! `network`.

use casement_diag::{Diagnostic, Part};
use casement_spec::{
    Backend, Invalid, Mtu, Network, NetworkAgent, NetworkMode, Vni, Vxlan, defaults,
};

use super::{if_given, or_default};
use crate::codes;
use crate::mapping::{Given, Mapping};
use crate::reader::{At, Reader};
use crate::shapes;

/// How pods reach each other.
pub(super) fn network(reader: &mut Reader<'_>, at: &At<'_>) -> Option<Network> {
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
        |at| bounded(reader, &at, (1, Vni::MOST), 4096),
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
        bounded(reader, &at, (u32::from(Mtu::LEAST), 65535), 1450)
    });
    let interface = if_given(mapping.get("interface"), |at| {
        reader.parse(&at, "the name of an interface", "Ethernet")
    });
    let mode = mode?;
    let fits = belong(reader, &mapping, mode);
    let backend = backend(mode, agent?, vni?, port?);
    let hns_network = hns_network?.unwrap_or_else(|| defaults::hns_network(backend));
    fits.then_some(Network {
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

/// A number that knows its own bounds, which the schema repeats.
fn bounded<T: TryFrom<u32, Error = Invalid>>(
    reader: &mut Reader<'_>,
    at: &At<'_>,
    (least, most): (u32, u32),
    example: u32,
) -> Option<T> {
    let number = reader.number(at, least..=most, example)?;
    match T::try_from(number) {
        Ok(value) => Some(value),
        Err(invalid) => {
            reader.invalid(at, &invalid, &example.to_string());
            None
        }
    }
}

/// Whether every field that is there means something in this mode.
fn belong(reader: &mut Reader<'_>, mapping: &Mapping<'_>, mode: NetworkMode) -> bool {
    let mut fits = true;
    for (name, has, whose) in [
        (
            "agent",
            mode.is_flannel(),
            "only the modes of flannel have an agent",
        ),
        ("vni", mode.is_vxlan(), "only VXLAN has a VNI"),
        ("port", mode.is_vxlan(), "only VXLAN has a port"),
    ] {
        let Given::Value(at) = mapping.get(name) else {
            continue;
        };
        if has {
            continue;
        }
        fits = false;
        let message = format!("`network.{name}` means nothing with `mode: {mode}`");
        let mut finding = Diagnostic::error(at.path, message)
            .code(codes::LONELY_FIELD)
            .at(Part::Key)
            .note(whose);
        if let Given::Value(mode) = mapping.get("mode") {
            finding = finding.label(mode.path, "the mode");
        }
        reader.add(finding.help("leave it out, or take another mode"));
    }
    fits
}
