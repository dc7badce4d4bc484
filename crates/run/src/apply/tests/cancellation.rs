//! Somebody says stop: whatever is waited for, it ends, and nothing is left behind.

use super::*;
use crate::stop::StopSwitch;

fn stopped(outcome: &HostOutcome) -> bool {
    matches!(outcome.result, Err(RunError::Stopped { .. }))
}

/// Somebody says stop when a Node is waited for, which never is Ready.
fn stopped_at_the_node() -> (FakeApi, Stop) {
    let (switch, stop) = StopSwitch::new();
    let api = FakeApi {
        ready: Box::new(move |_| {
            switch.stop();
            Waited::Never
        }),
        ..FakeApi::default()
    };
    (api, stop)
}

#[test]
fn a_token_is_taken_back_when_the_join_is_stopped() {
    let (switch, stop) = StopSwitch::new();
    let api = FakeApi::default();
    let host = FakeHost::heard_by("win1", move |document| {
        if document.stage() != Stage::Join {
            return Ok(());
        }
        switch.stop();
        let host = document.host().to_owned();
        Err(RunError::Stopped { host })
    });
    let outcomes = run_with(&api, &mut [host], None, &stop);
    assert!(stopped(&outcomes[0]), "{outcomes:?}");
    assert!(api.asked("mint win1") && api.asked("revoke win1"));
    assert!(!api.asked("joined win1") && !api.asked("sweep win1"));
}

#[test]
fn nobody_waits_for_a_node_after_stop_was_said() {
    let (api, stop) = stopped_at_the_node();
    let mut hosts = [FakeHost::new("win1"), FakeHost::new("lin1")];
    let outcomes = run_with(&api, &mut hosts, None, &stop);
    assert!(stopped(&outcomes[0]), "{outcomes:?}");
    assert!(outcomes[1].result.is_ok(), "it was done before");
    assert!(!api.asked("schedulable win1 true"));
}

#[test]
fn nobody_waits_for_another_host_after_stop_was_said() {
    let (api, stop) = stopped_at_the_node();
    let mut hosts = [FakeHost::new("win1"), FakeHost::new("win2")];
    let outcomes = run_with(&api, &mut hosts, Some(1), &stop);
    assert!(outcomes.iter().all(stopped), "{outcomes:?}");
    assert!(hosts[1].converged.is_empty(), "its turn had not come");
}

#[test]
fn a_run_that_is_stopped_between_two_parts_has_stopped_on_all_hosts() {
    let (switch, stop) = StopSwitch::new();
    switch.stop();
    let mut hosts = [FakeHost::new("win1"), FakeHost::new("lin1")];
    let outcomes = run_with(&FakeApi::default(), &mut hosts, None, &stop);
    assert!(outcomes.iter().all(stopped), "{outcomes:?}");
    assert!(hosts.iter().all(|host| host.converged.is_empty()));
}
