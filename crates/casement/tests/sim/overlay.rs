//! flannel's overlay on simulated hosts, from the outage that its numbers cost to
//! the last thing that is taken back.

use casement_cluster::Cluster;
use casement_node::sim::{Thing, World};
use casement_resource::ServiceState;
use casement_sim::{Mishap, SimCluster, SimNetwork, SimShape};

use crate::ground::Ground;

const AGREED: &str = "--allow-network-outage";
const APPLY: [&str; 3] = ["apply", "--yes", AGREED];

async fn ground(repair: bool) -> Ground {
    let shape = SimShape {
        windows: 2,
        repair,
        network: SimNetwork::overlay_of_linux(),
        ..SimShape::default()
    };
    Ground::start_as(&shape).await
}

fn world(cluster: &SimCluster, host: &str) -> World {
    cluster.host(host).unwrap().sim().world()
}

fn file(world: &World, path: &str) -> String {
    match world.entries.get(&path.parse().unwrap()) {
        Some((Thing::File(bytes), _)) => String::from_utf8_lossy(bytes).into_owned(),
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

/// The overlay's number that each daemon tells, by node.
async fn numbers(ground: &Ground) -> Vec<(String, Option<u32>)> {
    let cluster = Cluster::connect(&ground.cluster.kubeconfig()).await;
    let facts = cluster.unwrap().facts().await.unwrap();
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
async fn the_outage_is_told_and_agreed_to_before_anything_changes() {
    let ground = ground(true).await;
    let plan = ground.succeed(&["plan"]).await;
    for part in ["outage", "4096", AGREED] {
        assert!(plan.contains(part), "{part}: {plan}");
    }
    let said = ground.refused(&["apply", "--yes"], 1).await;
    for part in ["CAS-API-015", "kube-flannel-cfg", AGREED] {
        assert!(said.contains(part), "{part}: {said}");
    }
    for host in ground.cluster.hosts() {
        assert_eq!(host.left_behind(), [] as [&str; 0], "{}", host.spec().name);
    }
    let linux = &all_with(1)[..2];
    assert_eq!(numbers(&ground).await, linux);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_overlay_is_made_used_repaired_and_taken_back() {
    let ground = ground(true).await;
    ground.succeed(&APPLY).await;
    ground.succeed(&["status"]).await;
    assert_eq!(numbers(&ground).await, all_with(4096));
    let both = ["External Overlay", "flannel.4096 Overlay"];
    let seen = world(&ground.cluster, "windows1");
    assert_eq!(networks(&seen), both);
    let subnet = file(&seen, r"C:\run\flannel\subnet.env");
    assert!(subnet.contains("FLANNEL_NETWORK=10.244.0.0/16"), "{subnet}");
    assert_eq!(
        seen.interfaces.len(),
        1,
        "the switch has taken the card once"
    );

    ground.succeed(&["sample", "deploy"]).await;
    ground
        .until("a pod of windows1 behind a load balancer", |cluster| {
            let world = world(cluster, "windows1");
            let pod = |id: &String| id.ends_with("_flannel.4096");
            let mut balancers = world.balancers.iter();
            balancers.any(|it| it.endpoints.iter().any(pod))
        })
        .await;

    let host = ground.cluster.host("windows1").unwrap();
    host.power_off();
    assert_eq!(networks(&host.sim().world()), [] as [&str; 0]);
    host.power_on();
    ground
        .until("both networks after the boot", |cluster| {
            networks(&world(cluster, "windows1")) == both
        })
        .await;
    ground.succeed(&["apply", "--yes"]).await;
    ground.succeed(&["status"]).await;

    host.sim().meddle(|world| {
        world.networks.retain(|it| it.name != "flannel.4096");
        world.endpoints.clear();
        world.balancers.clear();
    });
    ground.refused(&["status"], 4).await;
    ground.succeed(&["apply", "--yes"]).await;
    ground.succeed(&["status"]).await;
    assert_eq!(networks(&host.sim().world()), both);

    ground.succeed(&["sample", "delete"]).await;
    let back = ["reset", "--all", "--cluster", "--yes"];
    let said = ground.refused(&back, 1).await;
    assert!(said.contains(AGREED), "{said}");
    ground.succeed(&[&back[..], &[AGREED]].concat()).await;
    assert_eq!(numbers(&ground).await, &all_with(1)[..2]);
    for host in ground.cluster.hosts() {
        assert_eq!(host.left_behind(), [] as [&str; 0], "{}", host.spec().name);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wrong_name_leaves_kube_proxy_waiting_and_is_told() {
    let ground = ground(false).await;
    ground.succeed(&APPLY).await;
    Mishap::ProxyNetwork.strike(&ground.cluster).await.unwrap();
    let log = r"C:\var\log\kube-proxy\kube-proxy.log";
    ground
        .until("kube-proxy waits", |cluster| {
            let log = file(&world(cluster, "windows1"), log);
            log.ends_with("hnsNetworkName=\"vxlan0\"\n")
        })
        .await;
    let said = ground.refused(&["doctor"], 5).await;
    for part in [
        "CAS-DOC-007",
        "vxlan0",
        "flannel.4096",
        "Unable to find HNS",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    ground.succeed(&["apply", "--yes"]).await;
    ground
        .until("kube-proxy goes on", |cluster| {
            let log = file(&world(cluster, "windows1"), log);
            log.ends_with("Caches are synced for service config\n")
        })
        .await;
    ground.succeed(&["doctor"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_daemon_refuses_the_numbers_of_linux_in_its_own_words() {
    let ground = ground(false).await;
    ground.succeed(&APPLY).await;
    let host = ground.cluster.host("windows1").unwrap();
    let path = r"C:\etc\kube-flannel\net-conf.json";
    host.sim().meddle(|world| {
        let text = file(world, path);
        let text = text.replace("4096", "1").replace("4789", "8472");
        let (thing, _) = world.entries.get_mut(&path.parse().unwrap()).unwrap();
        *thing = Thing::File(text.into_bytes());
    });
    let log = r"C:\var\log\flanneld\flanneld.log";
    ground
        .until("flanneld says no", |cluster| {
            let log = file(&world(cluster, "windows1"), log);
            log.contains("VNI [1] must be greater than or equal to 4096 on Windows")
        })
        .await;
    ground.refused(&["status"], 4).await;
    ground.succeed(&["apply", "--yes"]).await;
    ground
        .until("flanneld runs again", |cluster| {
            let log = file(&world(cluster, "windows1"), log);
            log.lines().any(|line| line.ends_with("Running backend."))
                && !log.trim_end().ends_with("on Windows")
        })
        .await;
    let services = host.sim().world().services;
    assert_eq!(services["flanneld"].state, ServiceState::Running);
}
