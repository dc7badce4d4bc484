//! How pods reach each other.

use casement_spec::{InterfaceName, Named, NetworkMode, Vni};

use super::known::{Known, Said};
use super::settings::fitting;
use crate::import::Place;
use crate::import::draft::Notes;
use crate::import::sheet::Sheet;

pub(super) fn write(sheet: &mut Sheet, known: &mut Known<'_>, windows: bool, notes: &mut Notes) {
    let plugin = known.cluster(&["kube_network_plugin"], notes);
    let backend = known.cluster(&["flannel_backend_type"], notes);
    let name = plugin.as_ref().map(|said| said.value.as_str());
    let kind = backend.as_ref().map(|said| said.value.as_str());
    let mut origins: Vec<_> = [&plugin, &backend]
        .into_iter()
        .flatten()
        .map(Said::origin)
        .collect();
    let mode = match (name, kind) {
        (Some("calico"), _) => NetworkMode::CalicoVxlan,
        (None | Some("flannel"), Some("host-gw")) => NetworkMode::FlannelHostGw,
        (None | Some("flannel"), Some("vxlan")) => NetworkMode::FlannelOverlay,
        (None | Some("flannel"), None) if is_kubernetes_for_windows(known) && windows => {
            origins.push("kubernetes-for-windows runs host-gw".to_owned());
            NetworkMode::FlannelHostGw
        }
        (Some("flannel"), None) => NetworkMode::FlannelOverlay,
        _ => {
            let text = "the inventory names no network that Windows nodes can be in: `flannel-overlay` is written";
            notes.assumed(text);
            NetworkMode::FlannelOverlay
        }
    };
    if let (Some("calico"), Some(said)) = (name, &plugin) {
        origins.extend(calico(known, &said.place, notes));
    }
    if let Some(said) = plugin.filter(|said| !["calico", "flannel"].contains(&said.value.as_str()))
    {
        let text = format!(
            "`kube_network_plugin`: `{}` cannot carry Windows nodes",
            said.value
        );
        notes.not_carried(Some(&said.place), text);
    }
    sheet.open("network", "");
    if origins.is_empty() {
        origins.push("not in the inventory".to_owned());
    }
    sheet.text("mode", mode.name(), &origins.join(", "));
    if mode == NetworkMode::FlannelOverlay {
        let vni = known.cluster(&["flannel_vxlan_vni"], notes);
        if let Some(said) = fitting::<Vni>(vni, known) {
            sheet.raw("vni", &said.value, &said.origin());
        }
        let port = known.cluster(&["flannel_vxlan_port"], notes);
        if let Some(said) = fitting::<u16>(port, known) {
            sheet.raw("port", &said.value, &said.origin());
        }
    }
    let interface = known.cluster(&["flannel_interface"], notes);
    if let Some(said) = fitting::<InterfaceName>(interface, known) {
        sheet.text("interface", &said.value, &said.origin());
    }
    sheet.close();
}

/// Calico carries Windows nodes in VXLAN only; gives where it says so.
fn calico(known: &mut Known<'_>, place: &Place, notes: &mut Notes) -> Option<String> {
    let mode = known.cluster(&["calico_vxlan_mode", "calico_network_backend"], notes);
    let vxlan = |said: &Said| ["Always", "CrossSubnet", "vxlan"].contains(&said.value.as_str());
    if !mode.as_ref().is_some_and(vxlan) {
        let text = "`kube_network_plugin`: Calico without VXLAN (`calico_vxlan_mode`) cannot carry Windows nodes; `calico-vxlan` is written";
        notes.not_carried(Some(place), text);
    }
    mode.map(|said| said.origin())
}

fn is_kubernetes_for_windows(known: &Known<'_>) -> bool {
    let groups = ["node-windows", "node_windows"];
    groups
        .iter()
        .any(|group| known.inventory.group(group).is_some())
}
