//! Hosts behind WinRM that fetch their programs from the mirror themselves: there it
//! saves the most, since what is sent goes as text.

use crate::ground::Ground;
use crate::mirror::{mirror_of, pin};
use crate::typed;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hosts_behind_winrm_pull_and_nothing_is_sent_to_them() {
    let mut ground = Ground::start(&[true, false]).await;
    // Loopback is asked directly, whatever this machine's way out is.
    let direct = ("NO_PROXY", "127.0.0.0/8".into());
    ground.environment.push(direct);
    let publisher = mirror_of(&ground.cluster);
    typed::succeed(ground.here(&["lock"])).await;
    pin(&ground.at("casement.lock"), &publisher);

    let said = ground
        .succeed(&["apply", "--yes", "--accept-unverified"])
        .await;
    for host in ground.windows() {
        let about = format!(" {}: pulled ", host.spec().name);
        let line = said.lines().find(|line| line.contains(&about));
        let line = line.unwrap_or_else(|| panic!("{about}is not in: {said}"));
        assert!(line.ends_with(" from the mirror, 0 kB were sent"), "{line}");
        assert!(host.sim().runs("kubelet"), "{said}");
    }
    let by_hosts = publisher.asked_by_hosts();
    assert_eq!(by_hosts.len(), 10, "each host, once each: {by_hosts:?}");
}
