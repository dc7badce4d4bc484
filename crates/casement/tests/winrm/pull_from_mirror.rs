//! Hosts behind WinRM pull their programs from the mirror, which saves the most there:
//! WinRM sends files as Base64.

use crate::command;
use crate::fixture::Fixture;
use crate::mirror::{pin, start_mirror};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn winrm_hosts_pull_everything_from_the_mirror() {
    let mut fixture = Fixture::start(&[true, false]).await;
    // Connect to loopback directly even where a proxy is configured.
    let direct = ("NO_PROXY", "127.0.0.0/8".into());
    fixture.environment.push(direct);
    let mirror = start_mirror(&fixture.cluster);
    command::succeed(fixture.local_command(&["lock"])).await;
    pin(&fixture.path("casement.lock"), &mirror);

    let printed = fixture
        .succeed(&["apply", "--yes", "--accept-unverified"])
        .await;
    for host in fixture.windows() {
        let about = format!(" {}: pulled ", host.spec().name);
        let line = printed.lines().find(|line| line.contains(&about));
        let line = line.unwrap_or_else(|| panic!("{about}is not in: {printed}"));
        assert!(line.ends_with(" from the mirror, uploaded 0 kB"), "{line}");
        assert!(host.sim().is_running("kubelet"), "{printed}");
    }
    let host_requests = mirror.host_requests();
    assert_eq!(
        host_requests.len(),
        10,
        "each host pulls each file once: {host_requests:?}"
    );
}
