//! Writes the network settings.

use casement_spec::{InterfaceName, Named, NetworkMode, Vni};

use super::settings::parsed_as;
use super::variables::{SourcedValue, Variables};
use crate::import::SourceLocation;
use crate::import::draft::Notes;
use crate::import::yaml_writer::YamlWriter;

pub(super) fn write(
    yaml: &mut YamlWriter,
    variables: &mut Variables<'_>,
    windows: bool,
    notes: &mut Notes,
) {
    let plugin = variables.cluster(&["kube_network_plugin"], notes);
    let backend = variables.cluster(&["flannel_backend_type"], notes);
    let name = plugin.as_ref().map(|setting| setting.value.as_str());
    let kind = backend.as_ref().map(|setting| setting.value.as_str());
    let mut origins: Vec<_> = [&plugin, &backend]
        .into_iter()
        .flatten()
        .map(SourcedValue::origin)
        .collect();
    let mode = match (name, kind) {
        (Some("calico"), _) => NetworkMode::CalicoVxlan,
        (None | Some("flannel"), Some("host-gw")) => NetworkMode::FlannelHostGw,
        (None | Some("flannel"), Some("vxlan")) => NetworkMode::FlannelOverlay,
        (None | Some("flannel"), None) if is_kubernetes_for_windows(variables) && windows => {
            origins.push("kubernetes-for-windows uses host-gw".to_owned());
            NetworkMode::FlannelHostGw
        }
        (Some("flannel"), None) => NetworkMode::FlannelOverlay,
        _ => {
            let text = "the inventory has no network plugin that supports Windows nodes: set to `flannel-overlay`";
            notes.assumed(text);
            NetworkMode::FlannelOverlay
        }
    };
    if let (Some("calico"), Some(setting)) = (name, &plugin) {
        origins.extend(calico(variables, &setting.location, notes));
    }
    if let Some(setting) =
        plugin.filter(|setting| !["calico", "flannel"].contains(&setting.value.as_str()))
    {
        let text = format!(
            "`kube_network_plugin`: `{}` does not support Windows nodes",
            setting.value
        );
        notes.not_imported(Some(&setting.location), text);
    }
    yaml.open("network", "");
    if origins.is_empty() {
        origins.push("not in the inventory".to_owned());
    }
    yaml.text("mode", mode.name(), &origins.join(", "));
    if mode == NetworkMode::FlannelOverlay {
        let vni = variables.cluster(&["flannel_vxlan_vni"], notes);
        if let Some(setting) = parsed_as::<Vni>(vni, variables) {
            yaml.raw("vni", &setting.value, &setting.origin());
        }
        let port = variables.cluster(&["flannel_vxlan_port"], notes);
        if let Some(setting) = parsed_as::<u16>(port, variables) {
            yaml.raw("port", &setting.value, &setting.origin());
        }
    }
    let interface = variables.cluster(&["flannel_interface"], notes);
    if let Some(setting) = parsed_as::<InterfaceName>(interface, variables) {
        yaml.text("interface", &setting.value, &setting.origin());
    }
    yaml.close();
}

/// Calico supports Windows nodes only with VXLAN. Returns the source of that setting.
fn calico(
    variables: &mut Variables<'_>,
    location: &SourceLocation,
    notes: &mut Notes,
) -> Option<String> {
    let mode = variables.cluster(&["calico_vxlan_mode", "calico_network_backend"], notes);
    let vxlan = |setting: &SourcedValue| {
        ["Always", "CrossSubnet", "vxlan"].contains(&setting.value.as_str())
    };
    if !mode.as_ref().is_some_and(vxlan) {
        let text = "`kube_network_plugin`: Calico without VXLAN (`calico_vxlan_mode`) does not support Windows nodes; set to `calico-vxlan`";
        notes.not_imported(Some(location), text);
    }
    mode.map(|setting| setting.origin())
}

fn is_kubernetes_for_windows(variables: &Variables<'_>) -> bool {
    let groups = ["node-windows", "node_windows"];
    groups
        .iter()
        .any(|group| variables.inventory.group(group).is_some())
}
