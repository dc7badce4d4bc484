//! `net-conf.json` as flannel reads it: keys in any case, unknown ones left alone,
//! and on Linux the defaults of its kernel.

use serde_json::{Map, Value};

/// On Linux, where nothing is said.
const LINUX_VNI: u32 = 1;
const LINUX_PORT: u16 = 8472;

/// What a `net-conf.json` says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NetConfSeen {
    /// All pods.
    pub network: String,
    /// `vxlan`, `host-gw` or another; flannel's own default is `udp`.
    pub backend: String,
    /// The overlay's number; without meaning in other backends.
    pub vni: u32,
    /// Its UDP port.
    pub port: u16,
    /// Whether nodes of one segment leave the tunnel out.
    pub direct_routing: bool,
    /// Whether IPv6 is on.
    pub ipv6: bool,
}

impl NetConfSeen {
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

    /// Whether pods travel in VXLAN.
    pub fn is_vxlan(&self) -> bool {
        self.backend == "vxlan"
    }
}

fn get<'a>(value: &'a Value, name: &str) -> Option<&'a Value> {
    let fields = value.as_object()?;
    let mut fields = fields.iter();
    fields.find_map(|(key, value)| key.eq_ignore_ascii_case(name).then_some(value))
}

/// The same text with that overlay; none if it says so already. A node that left
/// the tunnel out would not be heard by Windows, so that goes too.
pub(super) fn with_overlay(text: &str, vni: u32, port: u16) -> Option<String> {
    let seen = NetConfSeen::read(text).ok()?;
    if (seen.vni, seen.port, seen.direct_routing) == (vni, port, false) {
        return None;
    }
    let mut document: Value = serde_json::from_str(text).ok()?;
    let fields = document.as_object_mut()?;
    let mut fields = fields.iter_mut();
    let backend = fields.find_map(|(key, it)| key.eq_ignore_ascii_case("Backend").then_some(it));
    let backend = backend?.as_object_mut()?;
    put(backend, "VNI", vni.into());
    put(backend, "Port", port.into());
    if seen.direct_routing {
        put(backend, "DirectRouting", false.into());
    }
    Some(format!("{document:#}\n"))
}

/// Sets a key, in the case in which it stands there.
fn put(fields: &mut Map<String, Value>, name: &str, value: Value) {
    let held = fields.keys().find(|key| key.eq_ignore_ascii_case(name));
    let key = held.cloned().unwrap_or_else(|| name.to_owned());
    fields.insert(key, value);
}
