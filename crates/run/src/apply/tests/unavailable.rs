//! Counts the hosts that are unavailable at the same time: from a disruptive change until
//! the Node is Ready.

use std::collections::BTreeSet;

use super::*;

#[derive(Default)]
struct Counter {
    unavailable: Mutex<BTreeSet<String>>,
    peak: Mutex<usize>,
}

impl Counter {
    fn disrupted(&self, host: &str) {
        let mut unavailable = self.unavailable.lock().unwrap();
        unavailable.insert(host.to_owned());
        let mut peak = self.peak.lock().unwrap();
        *peak = unavailable.len().max(*peak);
    }

    fn ready(&self, host: &str) {
        self.unavailable.lock().unwrap().remove(host);
    }

    fn peak(&self) -> usize {
        *self.peak.lock().unwrap()
    }
}

/// Three hosts on which every step is pending; a document with a disruptive step makes
/// them unavailable.
fn hosts(counter: &Arc<Counter>) -> Vec<FakeHost> {
    let host = |name| {
        let counter = Arc::clone(counter);
        FakeHost::with_hook(name, move |document| {
            if document.steps().iter().any(|step| step.disruptive) {
                counter.disrupted(document.host());
            }
            Ok(())
        })
    };
    ["win1", "win2", "win3"].map(host).into()
}

fn api(counter: &Arc<Counter>) -> FakeApi {
    let counter = Arc::clone(counter);
    FakeApi {
        ready: Box::new(move |node| {
            counter.ready(node);
            Wait::Ready
        }),
        ..FakeApi::default()
    }
}

#[test]
fn no_more_nodes_are_unavailable_than_the_limit_allows() {
    for (limit, peak) in [(Some(1), 1), (Some(2), 2), (None, 3)] {
        let counter = Arc::default();
        let (api, mut hosts) = (api(&counter), hosts(&counter));
        let outcomes = run_with(&api, &mut hosts, limit, &CancelToken::default());
        assert!(
            outcomes.iter().all(|it| it.result.is_ok()),
            "{limit:?}: {outcomes:?}"
        );
        assert_eq!(counter.peak(), peak, "{limit:?}");
    }
}

#[test]
fn hosts_without_a_node_join_without_waiting_for_a_permit() {
    let counter = Arc::default();
    let api = FakeApi {
        nodes: Mutex::default(),
        ..api(&counter)
    };
    let mut hosts = hosts(&counter);
    let outcomes = run_with(&api, &mut hosts, Some(1), &CancelToken::default());
    assert!(outcomes.iter().all(|it| it.result.is_ok()), "{outcomes:?}");
    let calls = api.calls.lock().unwrap().clone();
    let position = |call: &str| calls.iter().position(|it| it == call).unwrap();
    for host in ["win1", "win2", "win3"] {
        assert!(position(&format!("joined {host}")) < position("ready win1"));
    }
}

#[test]
fn a_failed_host_counts_until_its_node_is_ready() {
    let counter = Arc::default();
    let (api, mut hosts) = (api(&counter), hosts(&counter));
    hosts[0].failing_stage = Some(Stage::Prepare);
    let outcomes = run_with(&api, &mut hosts, Some(1), &CancelToken::default());
    assert!(matches!(outcomes[0].result, Err(RunError::Failed { .. })));
    assert!(outcomes[1].result.is_ok() && outcomes[2].result.is_ok());
    assert_eq!(counter.peak(), 1);
}

#[test]
fn a_host_that_stays_unavailable_makes_the_others_skip() {
    let counter: Arc<Counter> = Arc::default();
    let mut api = api(&counter);
    let known = Arc::clone(&counter);
    api.ready = Box::new(move |node| match node {
        "win1" => Wait::TimesOut,
        node => {
            known.ready(node);
            Wait::Ready
        }
    });
    let mut hosts = hosts(&counter);
    let outcomes = run_with(&api, &mut hosts, Some(1), &CancelToken::default());
    assert!(matches!(
        outcomes[0].result,
        Err(RunError::NodeTimeout { .. })
    ));
    for outcome in &outcomes[1..] {
        let skipped = matches!(outcome.result, Err(RunError::Skipped { .. }));
        assert!(skipped, "{outcome:?}");
    }
    assert_eq!(counter.peak(), 1);
    assert!(hosts[1].converged.is_empty() && hosts[2].converged.is_empty());
}
