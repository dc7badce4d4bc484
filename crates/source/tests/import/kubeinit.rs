//! Clusters from KubeInit specs.

use casement_source::import::{KubeInit, from_kubeinit};
use casement_spec::{Cluster, Machines};

use super::drafts::cluster;

const BLOG: KubeInit<'static> = KubeInit {
    spec: "k8s-libvirt-1-1-1",
    nodes: Some("[[when_group=compute_nodes,os=windows]]"),
    hypervisors: Some("[[ansible_host=nyctea],[ansible_host=tyto]]"),
    network: None,
    cluster: None,
};

fn hosts(cluster: &Cluster) -> Vec<String> {
    let hosts = cluster.spec.hosts.iter().map(|host| {
        let roles: Vec<_> = host.roles.iter().map(ToString::to_string).collect();
        format!(
            "{} {} {} {}",
            host.name,
            host.address,
            host.os,
            roles.join("+")
        )
    });
    hosts.collect()
}

#[test]
fn blog_example_gives_its_cluster() {
    let draft = from_kubeinit(&BLOG).unwrap();
    let cluster = cluster(&draft.text);
    assert_eq!(
        hosts(&cluster),
        [
            "controller-01 10.0.0.1 centos-stream-9 control-plane",
            "compute-01 10.0.0.2 windows-2022 worker",
            "service 10.0.0.253 centos-stream-9 services",
        ]
    );
    let Some(Machines::Libvirt(libvirt)) = &cluster.spec.machines else {
        panic!("no machines\n{}", draft.text);
    };
    let used: Vec<_> = libvirt
        .hypervisors
        .iter()
        .map(|h| h.address.to_string())
        .collect();
    assert_eq!(used, ["nyctea"]);
    assert!(
        draft.notes.iter().any(|note| note.text.contains("tyto")),
        "{:?}",
        draft.notes
    );
}

#[test]
fn both_list_formats_are_equivalent() {
    let json = KubeInit {
        nodes: Some(r#"[{"when_group": "compute_nodes", "os": "windows"}]"#),
        hypervisors: Some(r#"[{"ansible_host": "nyctea"}, {"ansible_host": "tyto"}]"#),
        ..BLOG
    };
    assert_eq!(from_kubeinit(&json), from_kubeinit(&BLOG));
    let old = KubeInit {
        network: Some("[network=192.168.5.0/24,dhcp_start_offset=10]"),
        cluster: Some("[cluster_name=demo,compute_name_pattern=win%d]"),
        ..BLOG
    };
    let new = KubeInit {
        network: Some(r#"{"network": "192.168.5.0/24", "dhcp_start_offset": 10}"#),
        cluster: Some("{cluster_name: demo, compute_name_pattern: win%d}"),
        ..BLOG
    };
    let draft = from_kubeinit(&old).unwrap();
    assert_eq!(draft, from_kubeinit(&new).unwrap());
    for line in [
        "name: demo",
        "address: 192.168.5.10",
        "name: win1",
        "address: 192.168.5.253",
    ] {
        assert!(draft.text.contains(line), "{line}\n{}", draft.text);
    }
}

#[test]
fn three_controllers_and_sizes_are_assigned_in_order() {
    let options = KubeInit {
        spec: "k8s-libvirt-3-2-2-extra",
        nodes: Some(
            "[[os=debian],[when_group=compute_nodes,os=windows,ram=33554432,vcpus=4,disk=60G,target_order=1]]",
        ),
        ..BLOG
    };
    let draft = from_kubeinit(&options).unwrap();
    let cluster = cluster(&draft.text);
    assert_eq!(
        hosts(&cluster),
        [
            "controller-01 10.0.0.1 debian-12 control-plane",
            "controller-02 10.0.0.2 debian-12 control-plane",
            "controller-03 10.0.0.3 debian-12 control-plane",
            "compute-01 10.0.0.4 windows-2022 worker",
            "compute-02 10.0.0.5 windows-2022 worker",
            "service 10.0.0.253 centos-stream-9 services",
        ]
    );
    assert!(
        draft
            .text
            .contains("windows-worker: {cpus: 4, memory: 32Gi, disk: 60Gi}"),
        "{}",
        draft.text
    );
    assert!(
        draft
            .notes
            .iter()
            .any(|note| note.text.contains("target_order"))
    );
}

#[test]
fn unsupported_specs_are_rejected() {
    for (options, expected) in [
        (
            KubeInit {
                spec: "k8s-libvirt-1-1",
                ..BLOG
            },
            "five parts",
        ),
        (
            KubeInit {
                spec: "okd-libvirt-1-1-1",
                ..BLOG
            },
            "`okd`",
        ),
        (
            KubeInit {
                spec: "k8s-vmware-1-1-1",
                ..BLOG
            },
            "`vmware`",
        ),
        (
            KubeInit {
                spec: "k8s-libvirt-2-1-1",
                ..BLOG
            },
            "2 controllers",
        ),
        (
            KubeInit {
                spec: "k8s-libvirt-1-1-0",
                ..BLOG
            },
            "hypervisor",
        ),
        (
            KubeInit {
                nodes: Some("[[os=windows]]"),
                ..BLOG
            },
            "cannot run Windows",
        ),
        (
            KubeInit {
                nodes: Some("[[when_group=nodes,os=windows]]"),
                ..BLOG
            },
            "not a valid node group",
        ),
        (
            KubeInit {
                nodes: Some("[when_group=compute_nodes]]"),
                ..BLOG
            },
            "--nodes",
        ),
        (
            KubeInit {
                nodes: Some("[[os=coreos]]"),
                ..BLOG
            },
            "not a supported operating system",
        ),
        (
            KubeInit {
                network: Some("[network=10.0.0.0/30]"),
                ..BLOG
            },
            "too small",
        ),
        (
            KubeInit {
                spec: "k8s-libvirt-1-400-1",
                ..BLOG
            },
            "more nodes than addresses",
        ),
    ] {
        let problem = from_kubeinit(&options).unwrap_err().to_string();
        assert!(
            problem.contains("CAS-IMPORT-020") && problem.contains(expected),
            "{options:?}: {problem}"
        );
    }
}
