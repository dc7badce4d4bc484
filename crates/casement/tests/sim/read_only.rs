//! Linux hosts of the file that are not casement's to change: looked at, told, left
//! alone.

use casement_sim::{SimHost, SimNetwork, SimShape};

use crate::ground::Ground;

async fn ground(network: SimNetwork) -> Ground {
    let shape = SimShape {
        windows: 1,
        network,
        linux_managed: false,
        ..SimShape::default()
    };
    Ground::start_as(&shape).await
}

fn set(host: &SimHost, name: &str, value: &str) {
    host.sim().meddle(|world| {
        let values = &mut world.linux.as_mut().unwrap().values;
        values.insert(name.parse().unwrap(), value.to_owned());
    });
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_read_only_host_lacks_is_told_with_the_commands_and_not_changed() {
    let ground = ground(SimNetwork::Routes).await;
    let host = ground.cluster.host("linux1").unwrap();
    let before = host.sim().world();
    let said = ground.succeed(&["apply", "--yes"]).await;
    for part in [
        "linux1  read only; type there as root:",
        "net.ipv4.ip_forward is `0`, and has to be `1`",
        "sysctl -w net.ipv4.ip_forward=1",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert!(!said.contains("bridge-nf-call"), "no bridge here: {said}");
    assert_eq!(host.sim().world(), before);
    set(host, "net.ipv4.ip_forward", "1");
    let said = ground.succeed(&["apply", "--yes"]).await;
    assert!(said.contains("linux1  read only: nothing to do"), "{said}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_key_of_a_read_only_host_is_judged_as_those_of_the_others() {
    let ground = ground(SimNetwork::Routes).await;
    let known = ground.cluster.cluster_file().with_file_name("known_hosts");
    let keys = std::fs::read_to_string(&known).unwrap();
    let linux1 = ground.cluster.host("linux1").unwrap();
    let its = linux1.known_hosts_line().unwrap();
    std::fs::write(&known, keys.replace(&its, "")).unwrap();
    let said = ground.succeed(&["plan"]).await;
    let unseen = "linux1  read only, and could not be looked at";
    assert!(said.contains(unseen), "{said}");
    let said = ground.succeed(&["plan", "--accept-new-host-keys"]).await;
    assert!(said.contains("linux1: its key was not known"), "{said}");
    assert!(said.contains("linux1  read only; type there"), "{said}");
    let said = ground.succeed(&["plan"]).await;
    assert!(said.contains("linux1  read only; type there"), "{said}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_read_only_host_of_an_overlay_needs_bridged_packets_too() {
    let ground = ground(SimNetwork::overlay_of_linux()).await;
    let host = ground.cluster.host("linux1").unwrap();
    set(host, "net.ipv4.ip_forward", "1");
    let before = host.sim().world();
    let apply = ["apply", "--yes", "--allow-network-outage"];
    let said = ground.succeed(&apply).await;
    for part in [
        "net.bridge.bridge-nf-call-iptables is `(nothing)`",
        "modprobe br_netfilter",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert!(!said.contains("ip_forward is"), "{said}");
    assert_eq!(host.sim().world(), before);
    host.unplug();
    let said = ground.succeed(&["apply", "--yes"]).await;
    let part = "linux1  read only, and could not be looked at";
    assert!(said.contains(part), "{said}");
}
