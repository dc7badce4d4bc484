//! Linux hosts with `managed: false`: observed and reported, never changed.

use casement_sim::{SimHost, SimNetwork, SimOptions};

use crate::fixture::Fixture;

async fn start(network: SimNetwork) -> Fixture {
    let shape = SimOptions {
        windows: 1,
        network,
        linux_managed: false,
        ..SimOptions::default()
    };
    Fixture::start_with(&shape).await
}

fn set(host: &SimHost, name: &str, value: &str) {
    host.sim().modify_world(|world| {
        let values = &mut world.linux.as_mut().unwrap().values;
        values.insert(name.parse().unwrap(), value.to_owned());
    });
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn read_only_host_gets_a_list_of_commands_and_is_not_changed() {
    let fixture = start(SimNetwork::Routes).await;
    let host = fixture.cluster.host("linux1").unwrap();
    let before = host.sim().world();
    let printed = fixture.succeed(&["apply", "--yes"]).await;
    for part in [
        "linux1  read only; run there as root:",
        "net.ipv4.ip_forward is `0`, must be `1`",
        "sysctl -w net.ipv4.ip_forward=1",
    ] {
        assert!(printed.contains(part), "{part}: {printed}");
    }
    assert!(
        !printed.contains("bridge-nf-call"),
        "no bridge here: {printed}"
    );
    assert_eq!(host.sim().world(), before);
    set(host, "net.ipv4.ip_forward", "1");
    let printed = fixture.succeed(&["apply", "--yes"]).await;
    assert!(printed.contains("linux1  read only: in sync"), "{printed}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unknown_key_of_a_read_only_host_needs_accept_new_host_keys() {
    let fixture = start(SimNetwork::Routes).await;
    let known = fixture.cluster.cluster_file().with_file_name("known_hosts");
    let keys = std::fs::read_to_string(&known).unwrap();
    let linux1 = fixture.cluster.host("linux1").unwrap();
    let line = linux1.known_hosts_line().unwrap();
    std::fs::write(&known, keys.replace(&line, "")).unwrap();
    let printed = fixture.succeed(&["plan"]).await;
    let message = "linux1  read only; failed to inspect it";
    assert!(printed.contains(message), "{printed}");
    let printed = fixture.succeed(&["plan", "--accept-new-host-keys"]).await;
    assert!(
        printed.contains("linux1: accepted the unknown host key"),
        "{printed}"
    );
    assert!(
        printed.contains("linux1  read only; run there"),
        "{printed}"
    );
    let printed = fixture.succeed(&["plan"]).await;
    assert!(
        printed.contains("linux1  read only; run there"),
        "{printed}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn read_only_host_in_an_overlay_needs_br_netfilter() {
    let fixture = start(SimNetwork::default_overlay()).await;
    let host = fixture.cluster.host("linux1").unwrap();
    set(host, "net.ipv4.ip_forward", "1");
    let before = host.sim().world();
    let apply = ["apply", "--yes", "--allow-network-outage"];
    let printed = fixture.succeed(&apply).await;
    for part in [
        "net.bridge.bridge-nf-call-iptables is `(not set)`",
        "modprobe br_netfilter",
    ] {
        assert!(printed.contains(part), "{part}: {printed}");
    }
    assert!(!printed.contains("ip_forward is"), "{printed}");
    assert_eq!(host.sim().world(), before);
    host.unplug();
    let printed = fixture.succeed(&["apply", "--yes"]).await;
    let part = "linux1  read only; failed to inspect it";
    assert!(printed.contains(part), "{printed}");
}
