//! How many hosts are away at once, told by themselves: from a change that may cut them
//! off until their Node is Ready.

use std::collections::BTreeSet;

use super::*;

/// Who is away, and how many were at most.
#[derive(Default)]
struct Ledger {
    away: Mutex<BTreeSet<String>>,
    most: Mutex<usize>,
}

impl Ledger {
    fn gone(&self, host: &str) {
        let mut away = self.away.lock().unwrap();
        away.insert(host.to_owned());
        let mut most = self.most.lock().unwrap();
        *most = away.len().max(*most);
    }

    fn back(&self, host: &str) {
        self.away.lock().unwrap().remove(host);
    }

    fn most(&self) -> usize {
        *self.most.lock().unwrap()
    }
}

/// Three hosts that differ in everything; each document with a step that cuts them off
/// takes them away.
fn hosts(ledger: &Arc<Ledger>) -> Vec<FakeHost> {
    let host = |name| {
        let ledger = Arc::clone(ledger);
        FakeHost::heard_by(name, move |document| {
            if document.steps().iter().any(|step| step.disruptive) {
                ledger.gone(document.host());
            }
            Ok(())
        })
    };
    ["win1", "win2", "win3"].map(host).into()
}

fn api(ledger: &Arc<Ledger>) -> FakeApi {
    let ledger = Arc::clone(ledger);
    FakeApi {
        ready: Box::new(move |node| {
            ledger.back(node);
            Waited::Ready
        }),
        ..FakeApi::default()
    }
}

#[test]
fn hosts_that_have_nodes_are_away_until_those_are_ready_and_never_more_than_so_many() {
    for (limit, most) in [(Some(1), 1), (Some(2), 2), (None, 3)] {
        let ledger = Arc::default();
        let (api, mut hosts) = (api(&ledger), hosts(&ledger));
        let outcomes = run_with(&api, &mut hosts, limit, &Stop::default());
        assert!(
            outcomes.iter().all(|it| it.result.is_ok()),
            "{limit:?}: {outcomes:?}"
        );
        assert_eq!(ledger.most(), most, "{limit:?}");
    }
}

#[test]
fn a_host_without_a_node_has_no_pods_to_be_missed_and_joins_without_waiting_for_it() {
    let ledger = Arc::default();
    let api = FakeApi {
        nodes: Mutex::default(),
        ..api(&ledger)
    };
    let mut hosts = hosts(&ledger);
    let outcomes = run_with(&api, &mut hosts, Some(1), &Stop::default());
    assert!(outcomes.iter().all(|it| it.result.is_ok()), "{outcomes:?}");
    let asked = api.asked.lock().unwrap().clone();
    let place = |what: &str| asked.iter().position(|asked| asked == what).unwrap();
    for host in ["win1", "win2", "win3"] {
        assert!(place(&format!("joined {host}")) < place("ready win1"));
    }
}

#[test]
fn a_host_that_fails_while_it_is_away_counts_until_its_node_is_ready() {
    let ledger = Arc::default();
    let (api, mut hosts) = (api(&ledger), hosts(&ledger));
    hosts[0].fails = Some(Stage::Prepare);
    let outcomes = run_with(&api, &mut hosts, Some(1), &Stop::default());
    assert!(matches!(outcomes[0].result, Err(RunError::Failed { .. })));
    assert!(outcomes[1].result.is_ok() && outcomes[2].result.is_ok());
    assert_eq!(ledger.most(), 1);
}

#[test]
fn a_host_that_does_not_come_back_leaves_no_place_for_others() {
    let ledger: Arc<Ledger> = Arc::default();
    let mut api = api(&ledger);
    let known = Arc::clone(&ledger);
    api.ready = Box::new(move |node| match node {
        "win1" => Waited::Not,
        node => {
            known.back(node);
            Waited::Ready
        }
    });
    let mut hosts = hosts(&ledger);
    let outcomes = run_with(&api, &mut hosts, Some(1), &Stop::default());
    assert!(matches!(outcomes[0].result, Err(RunError::NodeNot { .. })));
    for outcome in &outcomes[1..] {
        let left = matches!(outcome.result, Err(RunError::LeftAlone { .. }));
        assert!(left, "{outcome:?}");
    }
    assert_eq!(ledger.most(), 1);
    assert!(hosts[1].converged.is_empty() && hosts[2].converged.is_empty());
}
