//! Reads `net-conf.json` like flannel: keys in any case, unknown keys ignored, and the
//! Linux kernel's defaults.

use serde_json::{Map, Value};

/// The defaults on Linux.
const LINUX_VNI: u32 = 1;
const LINUX_PORT: u16 = 8472;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObservedNetConf {
    /// The CIDR of all pods.
    pub network: String,
    /// `vxlan`, `host-gw` or another; flannel's own default is `udp`.
    pub backend: String,
    /// Only meaningful for VXLAN.
    pub vni: u32,
    pub port: u16,
    /// Whether nodes of one segment bypass the tunnel.
    pub direct_routing: bool,
    pub ipv6: bool,
}

impl ObservedNetConf {
    pub(super) fn read(text: &str) -> Result<Self, String> {
        let document: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let empty = Map::new();
        let backend = get(&document, "Backend").and_then(Value::as_object);
        let backend = Value::Object(backend.unwrap_or(&empty).clone());
        let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
        let number = |name: &str| get(&backend, name).and_then(Value::as_u64);
        let yes = |value: Option<&Value>| value.and_then(Value::as_bool).unwrap_or(false);
        let port = number("Port").and_then(|port| u16::try_from(port).ok());
        Ok(Self {
            network: text(get(&document, "Network")).unwrap_or_default(),
            backend: text(get(&backend, "Type")).unwrap_or_else(|| "udp".to_owned()),
            vni: number("VNI")
                .and_then(|vni| u32::try_from(vni).ok())
                .unwrap_or(LINUX_VNI),
            port: port.filter(|port| *port != 0).unwrap_or(LINUX_PORT),
            direct_routing: yes(get(&backend, "DirectRouting")),
            ipv6: yes(get(&document, "EnableIPv6")),
        })
    }

    pub fn is_vxlan(&self) -> bool {
        self.backend == "vxlan"
    }
}

fn get<'a>(value: &'a Value, name: &str) -> Option<&'a Value> {
    let fields = value.as_object()?;
    let mut fields = fields.iter();
    fields.find_map(|(key, value)| key.eq_ignore_ascii_case(name).then_some(value))
}

/// The text with this VNI and port; none if unchanged. Also turns off direct routing,
/// because Windows would not receive packets that bypass the tunnel.
pub(super) fn with_overlay(text: &str, vni: u32, port: u16) -> Option<String> {
    let observed = ObservedNetConf::read(text).ok()?;
    if (observed.vni, observed.port, observed.direct_routing) == (vni, port, false) {
        return None;
    }
    let mut document: Value = serde_json::from_str(text).ok()?;
    let fields = document.as_object_mut()?;
    let mut fields = fields.iter_mut();
    let backend = fields.find_map(|(key, it)| key.eq_ignore_ascii_case("Backend").then_some(it));
    let backend = backend?.as_object_mut()?;
    put(backend, "VNI", vni.into());
    put(backend, "Port", port.into());
    if observed.direct_routing {
        put(backend, "DirectRouting", false.into());
    }
    Some(format!("{document:#}\n"))
}

/// Keeps the case of an existing key.
fn put(fields: &mut Map<String, Value>, name: &str, value: Value) {
    let existing = fields.keys().find(|key| key.eq_ignore_ascii_case(name));
    let key = existing.cloned().unwrap_or_else(|| name.to_owned());
    fields.insert(key, value);
}
