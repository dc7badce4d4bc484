//! Options that limit which hosts are changed and how many at once, and `join`.

use crate::fixture::Fixture;
use crate::json_output::assert_documented;
use crate::kill_point;

fn joined(fixture: &Fixture, host: &str) -> bool {
    let host = fixture.cluster.host(host).unwrap();
    host.sim().is_running("kubelet")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn apply_only_changes_the_named_host() {
    let fixture = Fixture::start(3, true).await;
    let only = ["apply", "--yes", "--only", "windows2"];
    let printed = fixture.succeed(&only).await;
    assert!(printed.contains("windows2"), "{printed}");
    assert!(joined(&fixture, "windows2"));
    assert!(!joined(&fixture, "windows1") && !joined(&fixture, "windows3"));
    let output = fixture.run(&["apply", "--yes", "--only", "windows9"]).await;
    assert_eq!(output.status.code(), Some(2));
    let printed = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        printed.contains("windows1"),
        "the known hosts are listed: {printed}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn max_unavailable_1_changes_one_host_after_the_other() {
    let fixture = Fixture::start(3, true).await;
    let one = ["apply", "--yes", "--max-unavailable", "1"];
    let printed = fixture.succeed(&one).await;
    let waiting = "waiting until another host is available again";
    assert!(printed.contains(waiting), "{printed}");
    // A host reboots in the first of these stages, and its network is interrupted in the
    // other: no event of another host comes in between.
    for stage in ["prepare", "network"] {
        let mut order = recorded_hosts(&fixture, stage);
        order.dedup();
        let mut hosts = order.clone();
        hosts.sort();
        assert_eq!(
            hosts,
            ["windows1", "windows2", "windows3"],
            "{stage}: {order:?}"
        );
    }
    fixture.succeed(&["status"]).await;
}

/// The Windows host of each event of a stage, in the order of the only run record.
fn recorded_hosts(fixture: &Fixture, stage: &str) -> Vec<String> {
    let runs = fixture.folder().join(".casement/runs");
    let runs: Vec<_> = std::fs::read_dir(runs).unwrap().collect();
    assert_eq!(runs.len(), 1);
    let events = kill_point::recorded(&runs[0].as_ref().unwrap().path());
    let events = events.into_iter().filter(|event| event["stage"] == stage);
    let hosts = events.map(|event| event["host"].as_str().unwrap().to_owned());
    hosts.filter(|host| host.starts_with("windows")).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn parallel_1_finishes_each_host_before_the_next() {
    let fixture = Fixture::start(3, true).await;
    let printed = fixture
        .fail(&["apply", "--yes", "--parallel", "0"], 2)
        .await;
    assert!(printed.contains("from 1 to 65535"), "{printed}");
    let one = ["apply", "--yes", "--parallel", "1"];
    let printed = fixture.succeed(&one).await;
    // Between the first change of a host and its join, no other host is mentioned.
    let host_of = |line: &str| {
        let (host, what) = line.split_once(' ')?.1.split_once(": ")?;
        let join = format!("join {host}");
        let between = ["windowsFeature Containers", "service kubelet", &join];
        let step = what.strip_suffix(" changed")?;
        (host.starts_with("windows") && between.contains(&step)).then(|| host.to_owned())
    };
    let order: Vec<String> = printed.lines().filter_map(host_of).collect();
    let hosts = ["windows1", "windows2", "windows3"];
    assert_eq!(order, hosts.map(|host| [host; 3]).concat(), "{printed}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn join_works_without_a_cluster_file_and_writes_one_for_reset() {
    let fixture = Fixture::start(3, true).await;
    let host = fixture.cluster.host("windows1").unwrap();
    let address = host.spec().address.to_string();
    let port = host.port().to_string();
    let args = [
        "join",
        &address,
        "--kubeconfig",
        "admin.conf",
        "--key",
        "id_ed25519",
        "--known-hosts",
        "known_hosts",
        "--port",
        &port,
        "--programs",
        "programs",
        "--yes",
    ];
    let printed = fixture.succeed(&args).await;
    assert!(printed.contains("win-0-12 is Ready"), "{printed}");
    assert!(joined(&fixture, "windows1"));
    let kept = ".casement/join/win-0-12.yaml";
    fixture.succeed(&["status", "-f", kept]).await;
    let reset = ["reset", "--all", "--cluster", "--yes", "-f", kept];
    fixture.succeed(&reset).await;
    assert_eq!(host.left_behind(), [] as [&str; 0]);
    let output = fixture.run(&[&args[..], &["-o", "json"]].concat()).await;
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_documented(&document, "Join");
    assert_eq!(document["file"], kept);
    assert_eq!(document["cluster"]["spec"]["hosts"][0]["name"], "win-0-12");
    assert_eq!(document["outcome"], "done");
    fixture.succeed(&reset).await;
    let conflicting = ["--cluster-cidr", "10.9.0.0/16"];
    let output = fixture.run(&[&args[..], &conflicting[..]].concat()).await;
    let printed = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success());
    assert!(
        printed.contains("10.9.0.0/16") && printed.contains("10.244.0.0/16"),
        "both values: {printed}"
    );
}
