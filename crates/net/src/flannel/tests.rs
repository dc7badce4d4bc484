use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn net_conf(pods: &str, vni: u32, port: u16, name: &str) -> Value {
    let backend = Backend::vxlan(vni, port, name, None);
    serde_json::to_value(NetConf::new(pods.parse().unwrap(), backend)).unwrap()
}

#[test]
fn windows_values_match_the_guides() {
    assert_eq!(
        net_conf("10.244.0.0/16", 4096, 4789, "vxlan0"),
        json!({
            "Network": "10.244.0.0/16",
            "Backend": {"Type": "vxlan", "VNI": 4096, "Port": 4789, "Name": "vxlan0"},
        })
    );
    assert_eq!(
        serde_json::to_value(CniConf::new("vxlan0")).unwrap(),
        json!({
            "name": "vxlan0",
            "cniVersion": "0.3.1",
            "plugins": [
                {"type": "flannel", "delegate": {"hairpinMode": true, "isDefaultGateway": true}},
                {"type": "portmap", "capabilities": {"portMappings": true}},
            ],
        })
    );
}

#[test]
fn default_name_is_omitted() {
    let document = net_conf("10.244.0.0/16", 4096, 4789, "flannel.4096");
    assert_eq!(document["Backend"].get("Name"), None);
    let other = net_conf("10.244.0.0/16", 5000, 4789, "flannel.4096");
    assert_eq!(other["Backend"]["Name"], "flannel.4096");
    let bridge = serde_json::to_value(Backend::host_gw("cbr0")).unwrap();
    assert_eq!(bridge, json!({"Type": "host-gw"}));
}

fn differing(one: &Value, other: &Value) -> Vec<String> {
    fn compare(path: &str, one: &Value, other: &Value, found: &mut Vec<String>) {
        if let (Value::Object(left), Value::Object(right)) = (one, other) {
            let names: std::collections::BTreeSet<_> = left.keys().chain(right.keys()).collect();
            for name in names {
                let none = Value::Null;
                let (a, b) = (left.get(name), right.get(name));
                let path = format!("{path}/{name}");
                compare(&path, a.unwrap_or(&none), b.unwrap_or(&none), found);
            }
        } else if one != other {
            found.push(path.to_owned());
        }
    }
    let mut found = Vec::new();
    compare("", one, other, &mut found);
    found
}

fn values() -> impl Strategy<Value = (String, u32, u16, String)> {
    let pods = (0u8..=255).prop_map(|second| format!("10.{second}.0.0/16"));
    (pods, 4096u32..65_535, 1u16.., "[a-z]{3,8}")
}

proptest! {
    #[test]
    fn only_changed_values_differ(one in values(), other in values()) {
        let (a, b) = (
            net_conf(&one.0, one.1, one.2, &one.3),
            net_conf(&other.0, other.1, other.2, &other.3),
        );
        let mut expected = Vec::new();
        if one.3 != other.3 { expected.push("/Backend/Name") }
        if one.2 != other.2 { expected.push("/Backend/Port") }
        if one.1 != other.1 { expected.push("/Backend/VNI") }
        if one.0 != other.0 { expected.push("/Network") }
        prop_assert_eq!(differing(&a, &b), expected);
    }

    #[test]
    fn only_the_network_name_differs(one in "[a-z0-9]{1,15}", other in "[a-z0-9]{1,15}") {
        let document = |name: &str| serde_json::to_value(CniConf::new(name)).unwrap();
        let expected: &[&str] = if one == other { &[] } else { &["/name"] };
        prop_assert_eq!(differing(&document(&one), &document(&other)), expected);
    }
}
