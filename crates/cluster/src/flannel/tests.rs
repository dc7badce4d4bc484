use super::*;

const SHIPPED: &str = r#"{
  "Network": "10.244.0.0/16",
  "EnableNFTables": false,
  "Backend": {
    "Type": "vxlan"
  }
}
"#;

fn facts(text: &str) -> FlannelFacts {
    FlannelFacts {
        config_map: ObjectRef::new("v1", "ConfigMap", Some("kube-flannel"), CONFIG_MAP),
        daemon_set: ObjectRef::new("apps/v1", "DaemonSet", Some("kube-flannel"), "x"),
        text: text.to_owned(),
        net_conf: ObservedNetConf::read(text).unwrap(),
        restart_pending: false,
    }
}

fn expected() -> NetConf {
    let backend = Backend::vxlan(4096, 4789, "flannel.4096", None);
    NetConf::new("10.244.0.0/16".parse().unwrap(), backend)
}

fn node(name: &str, vni: u32) -> ObservedNode {
    let annotations = [
        ("kube-subnet-manager", "true".to_owned()),
        ("backend-type", "vxlan".to_owned()),
        (
            "backend-data",
            format!(r#"{{"VNI":{vni},"VtepMAC":"0a:00:00:00:00:01"}}"#),
        ),
        ("public-ip", "10.3.0.1".to_owned()),
    ];
    let annotations = annotations
        .into_iter()
        .map(|(key, value)| (format!("flannel.alpha.coreos.com/{key}"), value))
        .collect();
    ObservedNode {
        name: name.to_owned(),
        os: "linux".to_owned(),
        kubelet_version: String::new(),
        ready: true,
        pod_cidrs: Vec::new(),
        addresses: Vec::new(),
        taints: Vec::new(),
        unschedulable: false,
        labels: Default::default(),
        flannel: FlannelLease::of(Some(&annotations)),
    }
}

#[test]
fn the_default_config_gets_vni_and_port_and_keeps_the_rest() {
    let changes = facts(SHIPPED).changes(&expected(), &[node("lin1", 1)]);
    let [change, restart] = changes.as_slice() else {
        panic!("{changes:?}");
    };
    let text = change.after.as_ref().unwrap().as_str().unwrap();
    let after: Value = serde_json::from_str(text).unwrap();
    assert_eq!(
        after,
        json!({
            "Network": "10.244.0.0/16", "EnableNFTables": false,
            "Backend": {"Type": "vxlan", "VNI": 4096, "Port": 4789},
        })
    );
    assert_eq!(change.before, Some(json!(SHIPPED)));
    assert!(change.outage.is_some() && restart.outage.is_some());
    assert_eq!(restart.method, ChangeMethod::Restart { vni: 4096 });
    assert_eq!(restart.before, Some(json!({"vni": {"lin1": 1}})));
    assert_eq!(restart.after, Some(json!({"vni": {"lin1": 4096}})));
    let settled = facts(text).changes(&expected(), &[node("lin1", 4096)]);
    assert_eq!(settled, []);
}

#[test]
fn keys_match_in_any_case_and_keep_theirs() {
    let text = r#"{"network":"10.244.0.0/16","backend":{"type":"vxlan","vni":4096,"port":8472,"directRouting":true}}"#;
    let observed = ObservedNetConf::read(text).unwrap();
    assert_eq!(
        (observed.vni, observed.port, observed.direct_routing),
        (4096, 8472, true)
    );
    let after = net_conf::with_overlay(text, 4096, 4789).unwrap();
    let after: Value = serde_json::from_str(&after).unwrap();
    let backend = json!({"type": "vxlan", "vni": 4096, "port": 4789, "directRouting": false});
    assert_eq!(after["backend"], backend);
}

#[test]
fn an_interrupted_run_only_restarts() {
    let text = net_conf::with_overlay(SHIPPED, 4096, 4789).unwrap();
    let behind = facts(&text).changes(&expected(), &[node("lin1", 4096), node("lin2", 1)]);
    assert_eq!(behind.len(), 1);
    assert_eq!(behind[0].method, ChangeMethod::Restart { vni: 4096 });
    // No annotation has the port: only the saved state shows it.
    let mut pending = facts(&text);
    pending.restart_pending = true;
    assert_eq!(pending.changes(&expected(), &[node("lin1", 4096)]).len(), 1);
}

#[test]
fn another_backend_is_left_unchanged() {
    let text = SHIPPED.replace("vxlan", "host-gw");
    assert_eq!(facts(&text).changes(&expected(), &[]), []);
    let routes = NetConf::new("10.244.0.0/16".parse().unwrap(), Backend::host_gw("cbr0"));
    assert_eq!(facts(&text).changes(&routes, &[]), []);
    assert_eq!(facts(SHIPPED).changes(&routes, &[]), []);
}
