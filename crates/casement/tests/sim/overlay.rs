//! flannel's overlay on simulated hosts, from the outage of a VNI change to reset.

use casement_cluster::ClusterClient;
use casement_node::sim::{SimEntry, World};
use casement_resource::ServiceState;
use casement_sim::{SimCluster, SimFault, SimNetwork, SimOptions};

use crate::fixture::Fixture;

const ALLOW_OUTAGE: &str = "--allow-network-outage";
const APPLY: [&str; 3] = ["apply", "--yes", ALLOW_OUTAGE];

async fn start(repair: bool) -> Fixture {
    let shape = SimOptions {
        windows: 2,
        repair,
        network: SimNetwork::default_overlay(),
        ..SimOptions::default()
    };
    Fixture::start_with(&shape).await
}

fn world(cluster: &SimCluster, host: &str) -> World {
    cluster.host(host).unwrap().sim().world()
}

fn file(world: &World, path: &str) -> String {
    match world.entries.get(&path.parse().unwrap()) {
        Some((SimEntry::File(bytes), _)) => String::from_utf8_lossy(bytes).into_owned(),
        _ => String::new(),
    }
}

fn networks(world: &World) -> Vec<String> {
    let names = world.networks.iter();
    let mut names: Vec<String> = names
        .map(|it| format!("{} {}", it.name, it.network_type))
        .collect();
    names.sort();
    names
}

/// The VNI that each flannel daemon reports, by node.
async fn vnis(fixture: &Fixture) -> Vec<(String, Option<u32>)> {
    let cluster = ClusterClient::connect(&fixture.cluster.kubeconfig()).await;
    let facts = cluster.unwrap().observe().await.unwrap();
    let nodes = facts.nodes.into_iter();
    nodes
        .map(|node| (node.name, node.flannel.and_then(|lease| lease.vni)))
        .collect()
}

fn all_with(vni: u32) -> Vec<(String, Option<u32>)> {
    let names = ["control-plane", "linux1", "windows1", "windows2"];
    names.map(|name| (name.to_owned(), Some(vni))).to_vec()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn network_outage_needs_consent_before_anything_changes() {
    let fixture = start(true).await;
    let plan = fixture.succeed(&["plan"]).await;
    for part in ["outage", "4096", ALLOW_OUTAGE] {
        assert!(plan.contains(part), "{part}: {plan}");
    }
    let printed = fixture.fail(&["apply", "--yes"], 1).await;
    for part in ["CAS-API-015", "kube-flannel-cfg", ALLOW_OUTAGE] {
        assert!(printed.contains(part), "{part}: {printed}");
    }
    for host in fixture.cluster.hosts() {
        assert_eq!(host.left_behind(), [] as [&str; 0], "{}", host.spec().name);
    }
    let linux = &all_with(1)[..2];
    assert_eq!(vnis(&fixture).await, linux);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn overlay_is_created_used_repaired_and_reset() {
    let fixture = start(true).await;
    fixture.succeed(&APPLY).await;
    fixture.succeed(&["status"]).await;
    assert_eq!(vnis(&fixture).await, all_with(4096));
    let both = ["External Overlay", "flannel.4096 Overlay"];
    let world1 = world(&fixture.cluster, "windows1");
    assert_eq!(networks(&world1), both);
    let subnet = file(&world1, r"C:\run\flannel\subnet.env");
    assert!(subnet.contains("FLANNEL_NETWORK=10.244.0.0/16"), "{subnet}");
    assert_eq!(
        world1.interfaces.len(),
        1,
        "the switch took over the adapter once"
    );

    fixture.succeed(&["sample", "deploy"]).await;
    fixture
        .wait_until("a pod of windows1 behind a load balancer", |cluster| {
            let world = world(cluster, "windows1");
            let pod = |id: &String| id.ends_with("_flannel.4096");
            let mut balancers = world.balancers.iter();
            balancers.any(|it| it.endpoints.iter().any(pod))
        })
        .await;

    let host = fixture.cluster.host("windows1").unwrap();
    host.power_off();
    assert_eq!(networks(&host.sim().world()), [] as [&str; 0]);
    host.power_on();
    fixture
        .wait_until("both networks after the boot", |cluster| {
            networks(&world(cluster, "windows1")) == both
        })
        .await;
    fixture.succeed(&["apply", "--yes"]).await;
    fixture.succeed(&["status"]).await;

    host.sim().modify_world(|world| {
        world.networks.retain(|it| it.name != "flannel.4096");
        world.endpoints.clear();
        world.balancers.clear();
    });
    fixture.fail(&["status"], 4).await;
    fixture.succeed(&["apply", "--yes"]).await;
    fixture.succeed(&["status"]).await;
    assert_eq!(networks(&host.sim().world()), both);

    fixture.succeed(&["sample", "delete"]).await;
    let reset = ["reset", "--all", "--cluster", "--yes"];
    let printed = fixture.fail(&reset, 1).await;
    assert!(printed.contains(ALLOW_OUTAGE), "{printed}");
    fixture
        .succeed(&[&reset[..], &[ALLOW_OUTAGE]].concat())
        .await;
    assert_eq!(vnis(&fixture).await, &all_with(1)[..2]);
    for host in fixture.cluster.hosts() {
        assert_eq!(host.left_behind(), [] as [&str; 0], "{}", host.spec().name);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn wrong_network_name_blocks_kube_proxy_and_doctor_reports_it() {
    let fixture = start(false).await;
    fixture.succeed(&APPLY).await;
    SimFault::ProxyNetwork
        .inject(&fixture.cluster)
        .await
        .unwrap();
    let log = r"C:\var\log\kube-proxy\kube-proxy.log";
    fixture
        .wait_until("kube-proxy waits", |cluster| {
            let log = file(&world(cluster, "windows1"), log);
            log.ends_with("hnsNetworkName=\"vxlan0\"\n")
        })
        .await;
    let printed = fixture.fail(&["doctor"], 5).await;
    for part in [
        "CAS-DOC-007",
        "vxlan0",
        "flannel.4096",
        "Unable to find HNS",
    ] {
        assert!(printed.contains(part), "{part}: {printed}");
    }
    fixture.succeed(&["apply", "--yes"]).await;
    fixture
        .wait_until("kube-proxy continues", |cluster| {
            let log = file(&world(cluster, "windows1"), log);
            log.ends_with("Caches are synced for service config\n")
        })
        .await;
    fixture.succeed(&["doctor"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn flanneld_rejects_the_linux_vni_with_its_own_message() {
    let fixture = start(false).await;
    fixture.succeed(&APPLY).await;
    let host = fixture.cluster.host("windows1").unwrap();
    let path = r"C:\etc\kube-flannel\net-conf.json";
    host.sim().modify_world(|world| {
        let text = file(world, path);
        let text = text.replace("4096", "1").replace("4789", "8472");
        let (thing, _) = world.entries.get_mut(&path.parse().unwrap()).unwrap();
        *thing = SimEntry::File(text.into_bytes());
    });
    let log = r"C:\var\log\flanneld\flanneld.log";
    fixture
        .wait_until("flanneld rejects the VNI", |cluster| {
            let log = file(&world(cluster, "windows1"), log);
            log.contains("VNI [1] must be greater than or equal to 4096 on Windows")
        })
        .await;
    fixture.fail(&["status"], 4).await;
    fixture.succeed(&["apply", "--yes"]).await;
    fixture
        .wait_until("flanneld runs again", |cluster| {
            let log = file(&world(cluster, "windows1"), log);
            log.lines().any(|line| line.ends_with("Running backend."))
                && !log.trim_end().ends_with("on Windows")
        })
        .await;
    let services = host.sim().world().services;
    assert_eq!(services["flanneld"].state, ServiceState::Running);
}
