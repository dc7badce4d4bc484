//! Verbs and options that touch some of a cluster's hosts.

use crate::ground::Ground;

fn joined(ground: &Ground, host: &str) -> bool {
    let host = ground.cluster.host(host).unwrap();
    host.sim().runs("kubelet")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn apply_only_touches_the_host_that_is_named() {
    let ground = Ground::start(3, true).await;
    let only = ["apply", "--yes", "--only", "windows2"];
    let said = ground.succeed(&only).await;
    assert!(said.contains("windows2"), "{said}");
    assert!(joined(&ground, "windows2"));
    assert!(!joined(&ground, "windows1") && !joined(&ground, "windows3"));
    let output = ground.run(&["apply", "--yes", "--only", "windows9"]).await;
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("windows1"), "it names the hosts: {said}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hosts_are_cut_off_one_after_the_other_where_that_is_asked_for() {
    let ground = Ground::start(3, true).await;
    let one = ["apply", "--yes", "--max-unavailable", "1"];
    ground.succeed(&one).await;
    ground.succeed(&["status"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hosts_are_worked_on_one_after_the_other_where_that_is_asked_for() {
    let ground = Ground::start(3, true).await;
    let said = ground
        .refused(&["apply", "--yes", "--parallel", "0"], 2)
        .await;
    assert!(said.contains("from 1 to 65535"), "{said}");
    let one = ["apply", "--yes", "--parallel", "1"];
    let said = ground.succeed(&one).await;
    // From the first change of a host to its join, nothing is told of another.
    let told = |line: &str| {
        let (host, what) = line.split_once(' ')?.1.split_once(": ")?;
        let between = ["feature-containers", "service-kubelet", "join"];
        (host.starts_with("windows") && between.contains(&what)).then(|| host.to_owned())
    };
    let told: Vec<String> = said.lines().filter_map(told).collect();
    let hosts = ["windows1", "windows2", "windows3"];
    assert_eq!(told, hosts.map(|host| [host; 3]).concat(), "{said}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_host_joins_without_a_file_and_is_taken_back_with_the_one_that_was_kept() {
    let ground = Ground::start(3, true).await;
    let host = ground.cluster.host("windows1").unwrap();
    let address = host.spec().address.to_string();
    let port = host.port().to_string();
    let words = [
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
    let said = ground.succeed(&words).await;
    assert!(said.contains("win-0-12 is Ready"), "{said}");
    assert!(joined(&ground, "windows1"));
    let kept = ".casement/join/win-0-12.yaml";
    ground.succeed(&["status", "-f", kept]).await;
    let back = ["reset", "--all", "--cluster", "--yes", "-f", kept];
    ground.succeed(&back).await;
    assert_eq!(host.left_behind(), [] as [&str; 0]);
    let other = ["--cluster-cidr", "10.9.0.0/16"];
    let output = ground.run(&[&words[..], &other[..]].concat()).await;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success());
    assert!(
        said.contains("10.9.0.0/16") && said.contains("10.244.0.0/16"),
        "both values: {said}"
    );
}
