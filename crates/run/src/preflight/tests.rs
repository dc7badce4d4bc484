use casement_cluster::{CalicoFacts, CalicoPool, Cni, ObjectRef, ObservedNetConf};

use super::*;

fn spec(mode: &str, version: &str) -> Cluster {
    let text = format!(
        "apiVersion: casement.dev/v1alpha1\nkind: Cluster\nmetadata: {{name: shop}}\nspec:\n  \
         kubernetes: {{version: {version}, podCidr: 10.244.0.0/16, serviceCidr: 10.96.0.0/16}}\n  \
         existing: {{kubeconfig: ./admin.conf}}\n  network: {{mode: {mode}}}\n  hosts:\n    \
         - {{name: win1, address: 10.3.0.4, os: windows-2022}}\n"
    );
    let loaded = casement_source::load_bytes("cluster.yaml", text.as_bytes());
    loaded.cluster.expect("the file is valid")
}

fn facts(cni: Option<&str>) -> ObservedCluster {
    ObservedCluster {
        server: "https://10.3.0.1:6443".to_owned(),
        version: "v1.36.3".to_owned(),
        endpoint: "10.3.0.1:6443".to_owned(),
        pod_cidrs: vec!["10.244.0.0/16".to_owned()],
        service_cidrs: vec!["10.96.0.0/16".to_owned()],
        dns_domain: "cluster.local".to_owned(),
        cluster_dns: vec!["10.96.0.10".to_owned()],
        ca_hashes: Vec::new(),
        ca_pem: String::new(),
        nodes: Vec::new(),
        daemon_sets: Vec::new(),
        cni: cni.map(|name| Cni {
            name: name.to_owned(),
            daemon_set: ObjectRef::new("apps/v1", "DaemonSet", Some("kube-system"), "x"),
        }),
    }
}

fn flannel(backend: &str, network: &str) -> FlannelFacts {
    FlannelFacts {
        config_map: ObjectRef::new("v1", "ConfigMap", Some("kube-flannel"), "kube-flannel-cfg"),
        daemon_set: ObjectRef::new("apps/v1", "DaemonSet", Some("kube-flannel"), "x"),
        text: String::new(),
        net_conf: ObservedNetConf {
            network: network.to_owned(),
            backend: backend.to_owned(),
            vni: 1,
            port: 8472,
            direct_routing: false,
            ipv6: false,
        },
        restart_pending: false,
    }
}

fn codes(problems: &[Problem]) -> Vec<&str> {
    problems.iter().map(|problem| &*problem.code).collect()
}

#[test]
fn a_matching_cluster_has_no_problems() {
    let (overlay, routes) = (
        spec("flannel-overlay", "1.36.3"),
        spec("l3-routes", "1.36.3"),
    );
    let found = flannel("vxlan", "10.244.0.0/16");
    assert_eq!(
        preflight(&overlay, &facts(Some("flannel")), Some(&found)),
        []
    );
    assert_eq!(preflight(&routes, &facts(None), None), []);
}

#[test]
fn a_pod_network_without_windows_support_is_named() {
    let problems = preflight(&spec("l3-routes", "1.36.3"), &facts(Some("Cilium")), None);
    assert_eq!(codes(&problems), ["CAS-FIT-003"]);
    assert!(
        problems[0]
            .what
            .starts_with("Cilium does not support Windows"),
        "{}",
        problems[0]
    );
    let problems = preflight(
        &spec("flannel-overlay", "1.36.3"),
        &facts(Some("Calico")),
        None,
    );
    assert_eq!(codes(&problems), ["CAS-FIT-004"]);
    for part in ["calico-vxlan", "components: host-process"] {
        assert!(problems[0].help.contains(part), "{}", problems[0]);
    }
    let problems = preflight(&spec("flannel-overlay", "1.36.3"), &facts(None), None);
    assert_eq!(codes(&problems), ["CAS-FIT-004"]);
}

#[test]
fn kubelet_version_skew_is_checked() {
    let at = |server: &str, kubelet: &str| {
        let mut facts = facts(None);
        facts.version = server.to_owned();
        codes_of(&preflight(&spec("l3-routes", kubelet), &facts, None))
    };
    assert_eq!(at("v1.35.1", "1.36.3"), ["CAS-FIT-001"]);
    assert_eq!(at("v1.36.3", "1.32.0"), ["CAS-FIT-001"]);
    assert_eq!(at("v1.36.3", "1.33.0"), [""; 0]);
    assert_eq!(at("v1.99.0", "1.36.3"), ["CAS-FIT-002"]);
    assert_eq!(at("v1.34.2+k3s1", "1.34.1"), [""; 0]);
}

fn codes_of(problems: &[Problem]) -> Vec<String> {
    codes(problems).into_iter().map(str::to_owned).collect()
}

#[test]
fn all_differences_are_reported_together() {
    let mut facts = facts(Some("flannel"));
    facts.pod_cidrs = vec!["10.10.0.0/16".to_owned()];
    facts.service_cidrs = vec!["10.97.0.0/16".to_owned()];
    let mut found = flannel("host-gw", "10.10.0.0/16");
    found.net_conf.ipv6 = true;
    let problems = preflight(&spec("flannel-overlay", "1.36.3"), &facts, Some(&found));
    assert_eq!(
        codes(&problems),
        [
            "CAS-FIT-005",
            "CAS-FIT-006",
            "CAS-FIT-008",
            "CAS-FIT-007",
            "CAS-FIT-009"
        ]
    );
    for problem in &problems {
        assert!(
            !problem.help.is_empty() && !problem.detail.is_empty(),
            "{problem}"
        );
    }
}

/// What `apply` supports; see `casement_plan::unsupported`.
#[test]
fn helps_suggest_only_what_apply_supports() {
    let overlay = spec("flannel-overlay", "1.36.3");
    let help = |problems: &[Problem], code: &str| {
        let found = problems.iter().find(|problem| problem.code == code);
        found.unwrap().help.clone()
    };
    let host_gw = flannel("host-gw", "10.244.0.0/16");
    let problems = preflight(&overlay, &facts(Some("flannel")), Some(&host_gw));
    assert!(help(&problems, "CAS-FIT-008").starts_with("set `network.mode: l3-routes`"));
    let calico = spec("calico-vxlan", "1.36.3");
    for (backend, mode) in [("host-gw", "l3-routes"), ("vxlan", "flannel-overlay")] {
        let found = flannel(backend, "10.244.0.0/16");
        let problems = preflight(&calico, &facts(Some("flannel")), Some(&found));
        let expected = format!("set `network.mode: {mode}`");
        assert!(help(&problems, "CAS-FIT-004").starts_with(&expected));
    }
    let mut dual = facts(Some("flannel"));
    dual.pod_cidrs.push("fd00:10:244::/56".to_owned());
    dual.service_cidrs.push("fd00:10:96::/112".to_owned());
    let problems = preflight(&overlay, &dual, None);
    for code in ["CAS-FIT-005", "CAS-FIT-006"] {
        assert!(!help(&problems, code).contains("kubernetes."), "{code}");
    }
    let mut server = facts(Some("flannel"));
    server.version = "v1.35.1".to_owned();
    let problems = preflight(&overlay, &server, None);
    assert!(!help(&problems, "CAS-FIT-001").contains("1.35"));
    server.version = "v1.36.3".to_owned();
    let problems = preflight(&spec("flannel-overlay", "1.32.0"), &server, None);
    assert!(help(&problems, "CAS-FIT-001").contains("1.36"));
}

fn calico(ipip: &str, vxlan: &str) -> CalicoFacts {
    CalicoFacts {
        pools: vec![CalicoPool {
            name: "default-ipv4-ippool".to_owned(),
            cidr: "10.244.0.0/16".to_owned(),
            ipip: ipip.to_owned(),
            vxlan: vxlan.to_owned(),
            some_nodes: false,
        }],
        strict_affinity: true,
        vni: 4096,
        port: 4789,
    }
}

#[test]
fn unsuitable_calico_settings_are_reported_with_both_values() {
    let spec = spec("calico-vxlan", "1.36.3");
    let reported = |calico: &CalicoFacts| {
        let problems = calico::preflight(&spec, calico);
        codes(&problems).join(" ")
    };
    assert_eq!(reported(&calico("Never", "Always")), "");
    for (ipip, vxlan) in [
        ("Always", "Never"),
        ("Never", "CrossSubnet"),
        ("Never", "Never"),
    ] {
        assert_eq!(
            reported(&calico(ipip, vxlan)),
            "CAS-FIT-011",
            "{ipip} {vxlan}"
        );
    }
    let mut other = calico("Never", "Always");
    other.strict_affinity = false;
    other.port = 8472;
    assert_eq!(reported(&other), "CAS-FIT-012 CAS-FIT-013");
    let problems = calico::preflight(&spec, &other);
    let text = problems[1].to_string();
    assert!(text.contains("8472") && text.contains("4789"), "{text}");
    other = calico("Always", "Never");
    other.pools[0].some_nodes = true;
    assert_eq!(reported(&other), "", "the pool is for other nodes");
    other.pools.clear();
    assert_eq!(reported(&other), "CAS-FIT-014");
}
