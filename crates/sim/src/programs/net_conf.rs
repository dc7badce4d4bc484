//! `net-conf.json` as flannel reads it on Windows: the defaults differ from Linux, and most
//! other values are rejected.

use ipnet::Ipv4Net;
use serde_json::Value;

/// Smallest VNI that HNS accepts, and flannel's default on Windows.
pub(crate) const MIN_VNI: u32 = 4096;
/// The only port that flannel accepts on Windows.
const PORT: u64 = 4789;

#[derive(Debug)]
pub(crate) struct NetConf {
    pub(crate) network: Ipv4Net,
    backend: Value,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Vxlan {
    pub(crate) name: String,
    pub(crate) vni: u32,
}

impl NetConf {
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        let document: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let network = get(&document, "Network").and_then(Value::as_str);
        let network = network.unwrap_or_default();
        Ok(Self {
            network: network
                .parse()
                .map_err(|_| format!("invalid CIDR address: {network}"))?,
            backend: get(&document, "Backend").cloned().unwrap_or_default(),
        })
    }

    /// The overlay, or flannel's error.
    pub(crate) fn vxlan(&self) -> Result<Vxlan, String> {
        let backend = &self.backend;
        let kind = get(backend, "Type").and_then(Value::as_str);
        let kind = kind.unwrap_or("udp");
        if kind != "vxlan" {
            return Err(format!("unknown backend type: {kind}"));
        }
        let invalid = |error: String| Err(format!("invalid VXLAN backend config. {error}"));
        let number = |name: &str| get(backend, name).and_then(Value::as_u64);
        let enabled = |name: &str| get(backend, name).and_then(Value::as_bool) == Some(true);
        let vni = number("VNI").unwrap_or(MIN_VNI.into());
        if vni < MIN_VNI.into() {
            return invalid(format!(
                "VNI [{vni}] must be greater than or equal to {MIN_VNI} on Windows"
            ));
        }
        let port = number("Port").unwrap_or(PORT);
        if port != PORT {
            return invalid(format!(
                "Port [{port}] is not supported on Windows. Omit the setting to default to port \
                 {PORT}"
            ));
        }
        for name in ["DirectRouting", "GBP"] {
            if enabled(name) {
                return invalid(format!("{name} is not supported on Windows"));
            }
        }
        let name = get(backend, "Name").and_then(Value::as_str);
        let name = name.filter(|name| !name.is_empty());
        Ok(Vxlan {
            name: name.map_or_else(|| format!("flannel.{vni}"), str::to_owned),
            vni: u32::try_from(vni).unwrap_or(u32::MAX),
        })
    }
}

/// Finds a field, ignoring case as Go's JSON decoder does.
fn get<'a>(value: &'a Value, name: &str) -> Option<&'a Value> {
    let mut fields = value.as_object()?.iter();
    fields.find_map(|(key, value)| key.eq_ignore_ascii_case(name).then_some(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vxlan(backend: &str) -> Result<Vxlan, String> {
        let text = format!(r#"{{"Network": "10.244.0.0/16", "Backend": {backend}}}"#);
        NetConf::read(&text).unwrap().vxlan()
    }

    #[test]
    fn defaults_suit_windows() {
        let expected = |name: &str| Vxlan {
            name: name.to_owned(),
            vni: 4096,
        };
        assert_eq!(vxlan(r#"{"Type": "vxlan"}"#), Ok(expected("flannel.4096")));
        let named = r#"{"type": "vxlan", "name": "pods", "vni": 4096, "port": 4789}"#;
        assert_eq!(vxlan(named), Ok(expected("pods")));
    }

    #[test]
    fn linux_values_are_rejected_with_flannels_messages() {
        for (backend, expected) in [
            (r#"{"Type": "vxlan", "VNI": 1}"#, "VNI [1] must be greater"),
            (r#"{"Type": "vxlan", "Port": 8472}"#, "Port [8472] is not"),
            (
                r#"{"Type": "vxlan", "DirectRouting": true}"#,
                "DirectRouting is not supported",
            ),
            (r#"{}"#, "unknown backend type: udp"),
        ] {
            let error = vxlan(backend).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
        assert!(NetConf::read("{}").unwrap_err().contains("invalid CIDR"));
    }
}
