//! Cancellation ends every wait and leaves nothing behind.

use super::*;
use crate::cancel::CancelSource;

fn canceled(outcome: &HostOutcome) -> bool {
    matches!(outcome.result, Err(RunError::Canceled { .. }))
}

/// Cancels during the wait for a Node that never becomes Ready.
fn canceled_while_waiting_for_the_node() -> (FakeApi, CancelToken) {
    let (source, cancel) = CancelSource::new();
    let api = FakeApi {
        ready: Box::new(move |_| {
            source.cancel();
            Wait::NeverReturns
        }),
        ..FakeApi::default()
    };
    (api, cancel)
}

#[test]
fn a_canceled_join_deletes_its_token() {
    let (source, cancel) = CancelSource::new();
    let api = FakeApi::default();
    let host = FakeHost::with_hook("win1", move |document| {
        if document.stage() != Stage::Join {
            return Ok(());
        }
        source.cancel();
        let host = document.host().to_owned();
        Err(RunError::Canceled { host })
    });
    let outcomes = run_with(&api, &mut [host], None, &cancel);
    assert!(canceled(&outcomes[0]), "{outcomes:?}");
    assert!(api.was_called("create token win1") && api.was_called("delete token win1"));
    assert!(!api.was_called("joined win1") && !api.was_called("delete leftovers win1"));
}

#[test]
fn cancellation_ends_the_wait_for_a_node() {
    let (api, cancel) = canceled_while_waiting_for_the_node();
    let mut hosts = [FakeHost::new("win1"), FakeHost::new("lin1")];
    let outcomes = run_with(&api, &mut hosts, None, &cancel);
    assert!(canceled(&outcomes[0]), "{outcomes:?}");
    assert!(outcomes[1].result.is_ok(), "it was finished before");
    assert!(!api.was_called("schedulable win1 true"));
}

#[test]
fn cancellation_ends_the_wait_for_another_host() {
    let (api, cancel) = canceled_while_waiting_for_the_node();
    let mut hosts = [FakeHost::new("win1"), FakeHost::new("win2")];
    let outcomes = run_with(&api, &mut hosts, Some(1), &cancel);
    assert!(outcomes.iter().all(canceled), "{outcomes:?}");
    assert!(hosts[1].converged.is_empty(), "it was still waiting");
}

#[test]
fn cancellation_between_stages_applies_to_all_hosts() {
    let (source, cancel) = CancelSource::new();
    source.cancel();
    let mut hosts = [FakeHost::new("win1"), FakeHost::new("lin1")];
    let outcomes = run_with(&FakeApi::default(), &mut hosts, None, &cancel);
    assert!(outcomes.iter().all(canceled), "{outcomes:?}");
    assert!(hosts.iter().all(|host| host.converged.is_empty()));
}
