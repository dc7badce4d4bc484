//! How often an `apply` asks the API server and the hosts. The numbers are exact: a read
//! that is added by accident fails these tests.

use std::collections::BTreeMap;

use casement_cluster::PERMISSIONS;
use casement_resource::Stage::{self, Join, Network, Prepare};
use casement_sim::{SimCluster, SimNetwork, SimOptions};

use crate::fixture::Fixture;
use crate::terminal::Terminal;

/// Not the user of the simulated controllers, whose requests do not count.
const USER: &str = "casement-test";

/// One full read of the cluster.
const FACTS: [&str; 5] = [
    "get configmaps kube-system/kubeadm-config",
    "get configmaps kube-system/kubelet-config",
    "get configmaps kube-public/cluster-info",
    "list nodes",
    "list daemonsets",
];

/// How the user confirms.
#[derive(Debug, Clone, Copy)]
enum Confirmed {
    /// With `--yes`, which needs no survey of the hosts.
    Before,
    AtThePrompt,
}

struct Counts {
    /// As the server has recorded them.
    requests: Vec<String>,
    /// The stages of the documents that each host was compared with.
    observed: BTreeMap<String, Vec<Stage>>,
}

impl Counts {
    /// Without those that depend on the time: the waits for a Node, which list and watch it
    /// again when a watch ends, and the approval of a certificate, which is canceled when the
    /// host has joined.
    fn requests(&self) -> BTreeMap<&str, usize> {
        let waits = |it: &str| {
            it.starts_with("watch ") || it.starts_with("list nodes ?") || is_for_approval(it)
        };
        let mut counts = BTreeMap::new();
        for request in self.requests.iter().filter(|it| !waits(it)) {
            *counts.entry(without_random_names(request)).or_default() += 1;
        }
        counts
    }

    fn of(&self, request: &str) -> usize {
        self.requests.iter().filter(|it| *it == request).count()
    }
}

fn is_for_approval(request: &str) -> bool {
    request.contains("certificatesigningrequests")
        || request == "get clusterrolebindings kubeadm:node-autoapprove-bootstrap"
        // Whether a request was made with this run's token.
        || request.starts_with("list secrets kube-system ?app.kubernetes.io/managed-by=")
}

/// `list secrets kube-system` for the tokens of a run.
fn without_random_names(request: &str) -> &str {
    match request.split_once(" secrets kube-system") {
        Some((verb, _)) => &request[..verb.len() + " secrets kube-system".len()],
        None => request,
    }
}

async fn start(options: SimOptions) -> Fixture {
    // Without repair: an agent that repairs drift by itself would be faster than `apply`.
    let options = SimOptions {
        repair: false,
        ..options
    };
    let fixture = Fixture::start_with(&options).await;
    let api = fixture.cluster.api();
    let kubeconfig = api.kubeconfig_for(USER, Some("system:masters")).unwrap();
    std::fs::write(fixture.cluster.kubeconfig(), kubeconfig).unwrap();
    fixture
}

async fn routes() -> Fixture {
    start(SimOptions::default()).await
}

async fn apply(fixture: &Fixture, confirmed: Confirmed) -> Counts {
    let cluster = &fixture.cluster;
    let before = observations(cluster);
    cluster.api().record_requests(USER);
    let outage = "--allow-network-outage";
    match confirmed {
        Confirmed::Before => {
            fixture.succeed(&["apply", outage, "--yes"]).await;
        }
        Confirmed::AtThePrompt => {
            let mut terminal = Terminal::run(fixture.command(&["apply", outage]));
            let asks = |lines: &[String]| lines.iter().any(|it| it.starts_with("Apply? [y/N]"));
            terminal.wait_for("the prompt", asks).await;
            terminal.type_line("y");
            let finished = terminal.finish().await;
            assert!(finished.status.success(), "{:#?}", finished.lines);
        }
    }
    let mut observed = observations(cluster);
    for (host, stages) in &mut observed {
        stages.drain(..before[host].len());
    }
    Counts {
        requests: cluster.api().requests(),
        observed,
    }
}

fn observations(cluster: &SimCluster) -> BTreeMap<String, Vec<Stage>> {
    let hosts = cluster.hosts().iter();
    let hosts = hosts.map(|host| (host.spec().name.clone(), host.observations()));
    hosts.collect()
}

/// The requests of two reads of the cluster, the permission check and the connection, which
/// every `apply` needs, and of one read of each object of casement's own.
fn of_every_apply() -> BTreeMap<&'static str, usize> {
    // Before the plan, and after the joins.
    let mut expected = BTreeMap::from(FACTS.map(|request| (request, 2)));
    expected.extend([
        // The server's version.
        ("GET /version", 1),
        ("create selfsubjectaccessreviews", PERMISSIONS.len()),
        // Compared with the plan.
        ("get runtimeclasses windows-2022", 1),
        ("get runtimeclasses windows-2025", 1),
        ("get clusterrolebindings casement:node-proxier:windows1", 1),
        ("get clusterrolebindings casement:node-proxier:windows2", 1),
        // Tokens that an interrupted run left.
        ("list secrets kube-system", 1),
        // Its taints, and whether it is cordoned.
        ("get nodes windows1", 2),
        ("get nodes windows2", 2),
    ]);
    expected
}

/// The requests of the first `apply`.
fn of_the_first_apply() -> BTreeMap<&'static str, usize> {
    let mut expected = of_every_apply();
    let created = [
        (
            "get runtimeclasses windows-2022",
            "patch runtimeclasses windows-2022",
        ),
        (
            "get runtimeclasses windows-2025",
            "patch runtimeclasses windows-2025",
        ),
        (
            "get clusterrolebindings casement:node-proxier:windows1",
            "patch clusterrolebindings casement:node-proxier:windows1",
        ),
        (
            "get clusterrolebindings casement:node-proxier:windows2",
            "patch clusterrolebindings casement:node-proxier:windows2",
        ),
    ];
    for (get, patch) in created {
        // Compared again before it is created: someone else may have created it.
        *expected.entry(get).or_default() += 1;
        expected.insert(patch, 1);
    }
    // One token per host; before it is created, the host's earlier ones are listed.
    *expected.entry("list secrets kube-system").or_default() += 2;
    expected.insert("create secrets kube-system", 2);
    expected.insert("delete secrets kube-system", 2);
    for (get, patch) in [
        ("get nodes windows1", "patch nodes windows1"),
        ("get nodes windows2", "patch nodes windows2"),
    ] {
        // Before it is cordoned.
        *expected.entry(get).or_default() += 1;
        // Cordoned and uncordoned.
        expected.insert(patch, 2);
    }
    expected
}

fn observed(linux: &[Stage], windows: &[Stage]) -> BTreeMap<String, Vec<Stage>> {
    let hosts = [
        ("linux1", linux),
        ("windows1", windows),
        ("windows2", windows),
    ];
    let hosts = hosts.map(|(name, stages)| (name.to_owned(), stages.to_vec()));
    hosts.into()
}

#[tokio::test(flavor = "multi_thread")]
async fn first_apply_reads_the_cluster_twice() {
    let fixture = routes().await;
    let counts = apply(&fixture, Confirmed::Before).await;
    assert_eq!(counts.requests(), of_the_first_apply());
    // The second document of the Linux host has the routes to the joined hosts.
    let expected = observed(&[Network, Network], &[Prepare, Join, Network]);
    assert_eq!(counts.observed, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn survey_of_the_first_apply_is_used_until_a_host_is_changed() {
    let fixture = routes().await;
    let counts = apply(&fixture, Confirmed::AtThePrompt).await;
    assert_eq!(counts.requests(), of_the_first_apply());
    let linux = [Network, Network];
    // The survey has the first two, which can be planned before the join. Preparing the host
    // may affect what the survey found for the join.
    let windows = [Prepare, Join, Join, Network];
    assert_eq!(counts.observed, observed(&linux, &windows));
}

#[tokio::test(flavor = "multi_thread")]
async fn apply_without_changes_observes_each_document_once() {
    let fixture = routes().await;
    apply(&fixture, Confirmed::Before).await;
    for confirmed in [Confirmed::Before, Confirmed::AtThePrompt] {
        let counts = apply(&fixture, confirmed).await;
        assert_eq!(counts.requests(), of_every_apply(), "{confirmed:?}");
        let approval = counts.requests.iter().filter(|it| is_for_approval(it));
        assert_eq!(approval.count(), 0, "{confirmed:?}: no host joins");
        let expected = observed(&[Network], &[Prepare, Join, Network]);
        assert_eq!(counts.observed, expected, "{confirmed:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn drifted_host_is_observed_once_before_it_is_changed() {
    let fixture = routes().await;
    apply(&fixture, Confirmed::Before).await;
    for confirmed in [Confirmed::Before, Confirmed::AtThePrompt] {
        let linux = fixture.cluster.host("linux1").unwrap().sim();
        let routes = linux.world().routes.len();
        assert!(routes > 0);
        linux.modify_world(|world| world.routes.clear());
        let counts = apply(&fixture, confirmed).await;
        assert_eq!(linux.world().routes.len(), routes, "{confirmed:?}");
        let expected = observed(&[Network], &[Prepare, Join, Network]);
        assert_eq!(counts.observed, expected, "{confirmed:?}");
    }
}

/// flannel's configuration and its restart are part of this `apply`. Nodes are not counted:
/// the wait for the restarted pods lists them until they report the new VNI.
#[tokio::test(flavor = "multi_thread")]
async fn overlay_is_read_twice_even_if_flannel_restarts() {
    let fixture = start(SimOptions {
        network: SimNetwork::default_overlay(),
        ..SimOptions::default()
    })
    .await;
    let read = |counts: &Counts| {
        let facts = FACTS.into_iter().filter(|it| *it != "list nodes");
        let facts: Vec<usize> = facts.map(|request| counts.of(request)).collect();
        let configuration = counts.of("get configmaps kube-flannel/kube-flannel-cfg");
        (
            facts,
            configuration,
            counts.of("list daemonsets kube-flannel"),
        )
    };
    let first = apply(&fixture, Confirmed::AtThePrompt).await;
    // The configuration is compared again before it is changed; the restart needs the
    // selectors of flannel's DaemonSets.
    assert_eq!(read(&first), (vec![2; 4], 2, 1));
    // No routes: its document does not depend on the joined hosts.
    let windows = [Prepare, Join, Join, Network];
    assert_eq!(first.observed, observed(&[Network], &windows));
    let second = apply(&fixture, Confirmed::AtThePrompt).await;
    assert_eq!(read(&second), (vec![2; 4], 1, 0));
    let expected = observed(&[Network], &[Prepare, Join, Network]);
    assert_eq!(second.observed, expected);
}
