//! How often a run reads the cluster and observes a host.

use std::time::Duration;

use casement_plan::{linux, windows};

use super::*;
use crate::run_host::ObservedDocument;

/// The documents that a survey compares the host with, each with the result.
fn surveyed(api: &FakeApi, host: &FakeHost) -> Vec<ObservedDocument> {
    let (cluster, inputs, facts) = (cluster(), inputs(), api.cluster_facts());
    let mut specs = cluster.spec.hosts.iter();
    let spec = specs.find(|it| it.name.as_str() == host.name).unwrap();
    let documents = match spec.os.is_windows() {
        true => vec![
            windows::prepare(&cluster, spec, &inputs),
            windows::join(&cluster, spec, &facts),
            windows::network(&cluster, spec, &facts),
        ],
        false => vec![linux::network(&cluster, spec, &facts)],
    };
    let documents = documents.into_iter().map(Result::unwrap);
    documents
        .map(|document| {
            let observed = host.compare(&document);
            ObservedDocument::new(document, observed)
        })
        .collect()
}

/// Runs with what a survey found on each host, and a limit that restores every Node at once.
fn run_surveyed(api: &FakeApi, hosts: &mut [FakeHost]) -> Vec<HostOutcome> {
    let hosts = hosts.iter_mut().map(|host| {
        let observations = surveyed(api, host);
        RunHost::new(host, observations)
    });
    run_hosts(api, hosts.collect(), Some(1), &CancelToken::default())
}

#[test]
fn a_surveyed_host_in_sync_is_not_observed_again() {
    let api = FakeApi::default();
    let mut hosts = [FakeHost::new("win1"), FakeHost::new("lin1")];
    for host in &mut hosts {
        host.in_sync = true;
    }
    let outcomes = run_surveyed(&api, &mut hosts);
    assert!(outcomes.iter().all(|it| matches!(it.result, Ok(0))));
    for host in &hosts {
        assert_eq!(host.observed, [], "{}", host.name);
    }
    assert!(api.was_called("ready win1"));
    assert!(
        !api.was_called("watch join win1"),
        "there is no request to approve"
    );
}

#[test]
fn a_survey_is_not_used_after_the_host_was_changed() {
    let api = FakeApi::default();
    let mut hosts = [FakeHost::new("win1"), FakeHost::new("lin1")];
    let outcomes = run_surveyed(&api, &mut hosts);
    assert!(outcomes.iter().all(|it| it.result.is_ok()), "{outcomes:?}");
    // Only the first document of each host is compared before a change.
    assert_eq!(hosts[0].observed, [Stage::Join, Stage::Network]);
    assert_eq!(hosts[1].observed, []);
    let all = [Stage::Prepare, Stage::Join, Stage::Network];
    assert_eq!(hosts[0].converged, all);
    assert_eq!(hosts[1].converged, [Stage::Network]);
}

#[test]
fn a_document_that_differs_from_the_surveyed_one_is_observed() {
    let api = FakeApi {
        nodes: Mutex::new(vec!["win1".to_owned(), "lin1".to_owned()]),
        ..FakeApi::default()
    };
    let mut hosts = ["win1", "win2", "lin1"].map(FakeHost::new);
    for host in &mut hosts {
        host.in_sync = true;
    }
    // `win2` joins in this run: the other hosts get a route to it.
    let known: Vec<_> = [0, 2].map(|at| surveyed(&api, &hosts[at])).into();
    let [first, second] = known.try_into().unwrap();
    let [win1, win2, lin1] = &mut hosts;
    let run_hosts_of = vec![
        RunHost::new(win1, first),
        RunHost::new(win2, Vec::new()),
        RunHost::new(lin1, second),
    ];
    run_hosts(&api, run_hosts_of, None, &CancelToken::default());
    assert_eq!(hosts[0].observed, [Stage::Network]);
    let all = [Stage::Prepare, Stage::Join, Stage::Network];
    assert_eq!(hosts[1].observed, all);
    assert_eq!(hosts[2].observed, [Stage::Network]);
}

#[test]
fn the_cluster_is_read_once_after_the_joins_also_if_nodes_are_restored() {
    let api = FakeApi::default();
    let mut hosts = ["win1", "win2", "lin1"].map(FakeHost::new);
    let outcomes = run_surveyed(&api, &mut hosts);
    assert!(outcomes.iter().all(|it| it.result.is_ok()), "{outcomes:?}");
    assert_eq!(*api.reads.lock().unwrap(), 1);
    // Each got its network while it was unavailable, and nothing is new since.
    for host in &hosts[..2] {
        let all = [Stage::Prepare, Stage::Join, Stage::Network];
        assert_eq!(host.converged, all, "{}", host.name);
    }
}

#[tokio::test(start_paused = true)]
async fn an_old_observation_is_not_used() {
    let api = FakeApi::default();
    for (age, observed) in [(599, 0), (600, 1)] {
        let mut host = FakeHost::new("lin1");
        let known = surveyed(&api, &host);
        let document = known[0].document.clone();
        tokio::time::advance(Duration::from_secs(age)).await;
        let mut run_host = RunHost::new(&mut host, known);
        run_host.observe(&document).await.unwrap();
        assert_eq!(host.observed.len(), observed, "{age} s");
    }
}
