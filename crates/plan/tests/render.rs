//! What `render` shows, for each mode, both systems and several releases.
//!
//! `BLESS=1` writes the golden files.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests fail by panicking"
)]

use std::fmt::Write as _;

use casement_catalog::{Known, Minor, Program, System, flag};
use casement_golden::Goldens;
use casement_plan::render::{Kind, Rendered, render};
use casement_plan::{ClusterFacts, PlanError};
use casement_spec::{
    Backend, Cluster, Host, HostOs, JoinMethod, Named, Network, NetworkAgent, NetworkMode,
    RuntimeKind,
};
use serde_json::{Value, json};

const SPEC: &str = "
apiVersion: casement.dev/v1alpha1
kind: Cluster
metadata: {name: shop}
spec:
  kubernetes: {version: 1.36.3, podCidr: 10.244.0.0/16, serviceCidr: 10.96.0.0/12}
  existing: {kubeconfig: ./admin.conf}
  network: {mode: l3-routes}
  hosts:
    - {name: lin1, address: 10.3.0.2, os: linux, roles: [worker], managed: true}
    - {name: win1, address: 10.3.0.4, os: windows-2022, roles: [worker]}
";

fn cluster(mode: NetworkMode, version: &str) -> Cluster {
    let loaded = casement_source::load("cluster.yaml", SPEC);
    let mut cluster = loaded
        .cluster
        .unwrap_or_else(|| panic!("{:?}", loaded.diagnostics));
    cluster.spec.kubernetes.version = version.parse().unwrap();
    cluster.spec.kubernetes.endpoint = Some("10.3.0.1:6443".parse().unwrap());
    cluster.spec.network = Network::of(mode);
    cluster
}

fn all() -> Vec<Kind> {
    Kind::NAMED.iter().map(|(_, kind)| *kind).collect()
}

fn shown(cluster: &Cluster, kinds: &[Kind]) -> Vec<Rendered> {
    render(cluster, kinds, None, &ClusterFacts::of_spec(cluster)).unwrap()
}

fn file(files: &[Rendered], path: &str) -> String {
    let found = files.iter().find(|file| file.path == path);
    let paths: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
    found
        .unwrap_or_else(|| panic!("{path} is not among {paths:?}"))
        .text
        .clone()
}

fn read(files: &[Rendered], path: &str) -> Value {
    serde_json::from_str(&file(files, path)).unwrap()
}

fn joined(files: &[Rendered]) -> String {
    let mut text = String::new();
    for file in files {
        let shown = file.text.replace('\r', "");
        writeln!(text, "==> {} <==\n{shown}", file.path).unwrap();
    }
    text
}

#[test]
fn rendered_files_match_golden_files() {
    let mut goldens = Goldens::in_folder("tests/golden/render");
    let mut add = |name: &str, files: &[Rendered]| {
        goldens.add(format!("{name}.txt"), joined(files));
    };
    add_modes(&mut add);
    add_releases(&mut add);
    add_bootstrap(&mut add);
    goldens.assert();
}

/// Every mode has its files on both systems.
fn add_modes(add: &mut impl FnMut(&str, &[Rendered])) {
    for mode in NetworkMode::ALL {
        let mut cluster = cluster(*mode, "1.36.3");
        let facts = ClusterFacts::assumed(&cluster).unwrap();
        let files = render(&cluster, &all(), None, &facts).unwrap();
        add(&format!("{mode}-1.36"), &files);
        if let Backend::FlannelOverlay { vxlan, .. } = cluster.spec.network.backend {
            let agent = NetworkAgent::Casement;
            cluster.spec.network.backend = Backend::FlannelOverlay { agent, vxlan };
            add("flannel-overlay-own-daemon", &shown(&cluster, &all()));
        }
    }
}

/// Releases differ where Kubernetes does.
fn add_releases(add: &mut impl FnMut(&str, &[Rendered])) {
    for (version, os, runtime) in [
        ("1.21.5", HostOs::Windows2019, RuntimeKind::Docker),
        ("1.24.0", HostOs::Windows2019, RuntimeKind::Containerd),
        ("1.24.0", HostOs::Windows2022, RuntimeKind::Docker),
        ("1.30.1", HostOs::Windows2022, RuntimeKind::Containerd),
        ("1.34.0", HostOs::Windows2025, RuntimeKind::Containerd),
    ] {
        let mut cluster = cluster(NetworkMode::FlannelOverlay, version);
        cluster.spec.runtime.kind = runtime;
        cluster.spec.hosts[1].os = os;
        let name = format!("flannel-overlay-{version}-{os}-{runtime}");
        add(&name, &shown(&cluster, &all()));
    }
}

/// A node without kubeadm has its whole configuration.
fn add_bootstrap(add: &mut impl FnMut(&str, &[Rendered])) {
    let mut cluster = cluster(NetworkMode::FlannelHostGw, "1.36.3");
    cluster.spec.join.method = JoinMethod::Bootstrap;
    let files = shown(&cluster, &[Kind::Kubelet, Kind::Kubeadm]);
    add("bootstrap", &files);
}

/// The values are those of a guide for Windows workers that many clusters were
/// made with; `Backend.Name` comes on top, because flannel on Windows would call
/// its network `flannel.4096`.
#[test]
fn flannel_reads_what_the_guides_say() {
    let mut cluster = cluster(NetworkMode::FlannelOverlay, "1.36.3");
    cluster.spec.network.hns_network = "vxlan0".parse().unwrap();
    cluster.spec.network.cni_name = "vxlan0".parse().unwrap();
    let files = shown(&cluster, &[Kind::Flannel]);
    assert_eq!(
        read(&files, "cluster/flannel/net-conf.json"),
        json!({
            "Network": "10.244.0.0/16",
            "Backend": {"Type": "vxlan", "VNI": 4096, "Port": 4789, "Name": "vxlan0"},
        })
    );
    let cni = read(&files, "cluster/flannel/cni-conf.json");
    assert_eq!(cni["name"], "vxlan0");
    assert_eq!(
        cni["plugins"],
        json!([
            {"type": "flannel", "delegate": {"hairpinMode": true, "isDefaultGateway": true}},
            {"type": "portmap", "capabilities": {"portMappings": true}},
        ])
    );
    let map = read(&files, "cluster/flannel/kube-flannel-cfg.patch.json");
    let inner: Value =
        serde_json::from_str(map["data"]["net-conf.json"].as_str().unwrap()).unwrap();
    assert_eq!(inner, read(&files, "cluster/flannel/net-conf.json"));
    assert_eq!(inner, read(&files, "win1/flannel/net-conf.json"));
}

/// Three hosts whose pods are routed, as in the first guide to Kubernetes on
/// Windows; the next hop is the other host, which answers for itself on any
/// segment.
#[test]
fn three_routed_hosts_have_two_routes_each() {
    let mut cluster = cluster(NetworkMode::L3Routes, "1.21.5");
    cluster.spec.kubernetes.pod_cidr = "192.168.0.0/16"
        .parse::<casement_spec::Cidr>()
        .unwrap()
        .into();
    cluster.spec.runtime.kind = RuntimeKind::Docker;
    let mut win02 = cluster.spec.hosts[1].clone();
    win02.name = "win02".parse().unwrap();
    cluster.spec.hosts.push(win02);
    let names = ["lin01", "win01", "win02"];
    for (at, host) in cluster.spec.hosts.iter_mut().enumerate() {
        host.name = names[at].parse().unwrap();
        host.address = format!("10.3.0.{}", at + 1).parse().unwrap();
        let pods = format!("192.168.{at}.0/24");
        host.pod_cidr = Some(pods.parse::<casement_spec::Cidr>().unwrap().into());
        if at > 0 {
            host.os = HostOs::Windows2016;
        }
    }
    let files = shown(&cluster, &[Kind::Routes]);
    assert_eq!(
        file(&files, "lin01/routes/routes.sh"),
        "sysctl -w net.ipv4.ip_forward=1\n\
         ip route replace 192.168.1.0/24 via 10.3.0.2\n\
         ip route replace 192.168.2.0/24 via 10.3.0.3\n"
    );
    assert_eq!(
        file(&files, "win01/routes/routes.cmd"),
        "route add 192.168.0.0 mask 255.255.255.0 10.3.0.1 -p\r\n\
         route add 192.168.2.0 mask 255.255.255.0 10.3.0.3 -p\r\n"
    );
    assert_eq!(
        file(&files, "win02/routes/routes.cmd"),
        "route add 192.168.0.0 mask 255.255.255.0 10.3.0.1 -p\r\n\
         route add 192.168.1.0 mask 255.255.255.0 10.3.0.2 -p\r\n"
    );
    let hns = read(&shown(&cluster, &[Kind::Hns]), "win01/hns/cbr0.json");
    assert_eq!(hns["Subnets"][0]["GatewayAddress"], "192.168.1.1");
    cluster.spec.runtime.kind = RuntimeKind::Containerd;
    let facts = ClusterFacts::of_spec(&cluster);
    let error = render(&cluster, &[Kind::Cni], None, &facts).unwrap_err();
    assert!(matches!(error, PlanError::DockerOnly { .. }), "{error}");
}

#[test]
fn overlay_is_an_error_on_a_release_with_hns_v1_only() {
    let mut cluster = cluster(NetworkMode::FlannelOverlay, "1.21.5");
    cluster.spec.runtime.kind = RuntimeKind::Docker;
    cluster.spec.hosts[1].os = HostOs::Windows2016;
    let facts = ClusterFacts::of_spec(&cluster);
    let error = render(&cluster, &[Kind::Hns], None, &facts).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the host `win1` runs `windows-2016`, which does not support overlay networks, and \
         `network.mode` is `flannel-overlay`"
    );
}

#[test]
fn no_release_is_given_a_flag_that_it_does_not_take() {
    for minor in Minor::covered() {
        for (kind, method) in [
            (RuntimeKind::Containerd, JoinMethod::Kubeadm),
            (RuntimeKind::Containerd, JoinMethod::Bootstrap),
            (RuntimeKind::Docker, JoinMethod::Kubeadm),
        ] {
            let mut cluster = cluster(NetworkMode::FlannelOverlay, &format!("{minor}.0"));
            cluster.spec.runtime.kind = kind;
            cluster.spec.join.method = method;
            let files = shown(&cluster, &[Kind::Kubelet]);
            for (host, system) in [("lin1", System::Linux), ("win1", System::Windows)] {
                let command = file(&files, &format!("{host}/kubelet/command.txt"));
                assert!(command.lines().count() > 5, "{command}");
                for line in command.lines().skip(1) {
                    let name = line.trim_start_matches("--").split('=').next().unwrap();
                    let known = flag(Program::Kubelet, name).map(|flag| flag.known(minor, system));
                    assert_eq!(known, Some(Known::Yes), "{minor} {host} {line}");
                }
            }
        }
    }
}

#[test]
fn rendering_twice_gives_the_same_bytes_and_the_order_of_hosts_does_not_matter() {
    let cluster = cluster(NetworkMode::L3Routes, "1.36.3");
    let facts = ClusterFacts::assumed(&cluster).unwrap();
    let files = render(&cluster, &all(), None, &facts).unwrap();
    assert_eq!(files, render(&cluster, &all(), None, &facts).unwrap());
    let mut turned = cluster.clone();
    turned.spec.hosts.reverse();
    let mut other = render(&turned, &all(), None, &facts).unwrap();
    let mut files = files;
    files.sort_by(|a, b| a.path.cmp(&b.path));
    other.sort_by(|a, b| a.path.cmp(&b.path));
    assert_eq!(files, other);
}

#[test]
fn a_file_of_the_plan_is_the_file_that_is_shown() {
    let cluster = cluster(NetworkMode::FlannelOverlay, "1.36.3");
    let facts = ClusterFacts::assumed(&cluster).unwrap();
    let files = render(&cluster, &all(), None, &facts).unwrap();
    let inputs = casement_plan::Inputs::default();
    let plans = casement_plan::offline::documents(&cluster, &inputs, &facts).unwrap();
    let plan = plans.iter().find(|plan| is(plan.host, "win1")).unwrap();
    let written = |id: &str| {
        let steps = plan.documents.iter().flat_map(|document| document.steps());
        let step = steps.into_iter().find(|step| step.id.as_str() == id);
        match &step.unwrap().resource {
            casement_resource::Resource::File(file) => {
                String::from_utf8(file.content.bytes().to_vec()).unwrap()
            }
            other => panic!("{id} is {other:?}"),
        }
    };
    for (id, path) in [
        ("cni", "win1/cni/10-casement.conflist"),
        ("flannel-config", "win1/flannel/net-conf.json"),
        ("proxy-config", "win1/kube-proxy/kube-proxy.json"),
        ("containerd-config", "win1/containerd/config.toml"),
    ] {
        assert_eq!(written(id), file(&files, path), "{id}");
    }
}

fn is(host: &Host, name: &str) -> bool {
    host.name.as_str() == name
}
