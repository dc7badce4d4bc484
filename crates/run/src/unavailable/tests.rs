//! Which hosts wait for a permit, and when it is released.

use casement_resource::wire::ObservedStep;
use casement_resource::{
    Change, Diff, Directory, Hostname, NodeDocument, PendingChange, Reboot, Resource, ResourceId,
    Stage, Step,
};

use super::*;

fn step(id: &str, after: &[&str], disruptive: bool, resource: Resource) -> Step {
    Step {
        id: id.parse().unwrap(),
        after: after.iter().map(|id| id.parse().unwrap()).collect(),
        disruptive,
        resource,
    }
}

fn folder(path: &str) -> Resource {
    Resource::Directory(Directory {
        path: path.parse().unwrap(),
        access: casement_resource::Access::Inherited,
    })
}

/// A folder, one whose creation drops the connection, and a reboot for a new host name.
fn document() -> NodeDocument {
    let name = "win1".to_owned();
    let reboot = Reboot {
        reason: "the host's name".to_owned(),
        waits: vec![PendingChange::Hostname],
        allowed: true,
        timeout_seconds: 60,
        back_seconds: 600,
    };
    let steps = vec![
        step("plain", &[], false, folder(r"C:\a")),
        step("disruptive", &[], true, folder(r"C:\b")),
        step("name", &[], false, Resource::Hostname(Hostname { name })),
        step("reboot", &["name"], true, Resource::Reboot(reboot)),
    ];
    NodeDocument::new("win1".to_owned(), Stage::Prepare, steps).unwrap()
}

fn observed(pending: &[&str]) -> Observed {
    let diff = |id: &ResourceId| match pending.contains(&id.as_str()) {
        true => Diff::Changes(vec![Change::missing("x", "y")]),
        false => Diff::unchanged("in sync"),
    };
    let document = document();
    let steps = document.steps().iter().map(|step| ObservedStep {
        id: step.id.clone(),
        result: Ok(diff(&step.id)),
    });
    Observed {
        steps: steps.collect(),
        missing: Vec::new(),
        kept: Diff::unchanged("in sync"),
    }
}

#[test]
fn pending_step_before_a_reboot_makes_the_host_unavailable() {
    let unavailable = |pending: &[&str]| makes_unavailable(&document(), &observed(pending));
    assert!(!unavailable(&[]) && !unavailable(&["plain"]));
    assert!(unavailable(&["disruptive"]) && unavailable(&["reboot"]));
    assert!(unavailable(&["name"]), "a new host name needs the reboot");
}

/// `None` if the host has to wait.
async fn acquire(
    permit: &mut UnavailablePermit<'_>,
    pending: &[&str],
) -> Option<Result<(), RunError>> {
    let (document, observed) = (document(), observed(pending));
    let waits = std::cell::Cell::new(false);
    let acquire = permit.acquire(&document, &observed, || waits.set(true));
    let acquired = tokio::select! {
        biased;
        acquired = acquire => Some(acquired),
        () = std::future::ready(()) => None,
    };
    assert_eq!(acquired.is_none(), waits.get(), "a wait is reported");
    acquired
}

#[tokio::test]
async fn a_released_permit_lets_the_next_host_proceed() {
    let unavailable = UnavailableLimit::at_most(Some(2));
    let mut hosts = [
        unavailable.host(),
        unavailable.host(),
        unavailable.host(),
        unavailable.host(),
    ];
    assert!(acquire(&mut hosts[0], &["disruptive"]).await.is_some());
    assert!(acquire(&mut hosts[1], &["disruptive"]).await.is_some());
    assert!(acquire(&mut hosts[2], &["disruptive"]).await.is_none());
    assert!(acquire(&mut hosts[3], &["plain"]).await.is_some());
    assert!(!hosts[3].is_held(), "a harmless change needs no permit");
    assert!(
        acquire(&mut hosts[0], &["disruptive"]).await.is_some(),
        "it holds a permit already"
    );
    hosts[0].release();
    assert!(acquire(&mut hosts[2], &["disruptive"]).await.is_some());
    assert!(acquire(&mut hosts[0], &["disruptive"]).await.is_none());
}

#[tokio::test]
async fn a_failed_host_keeps_its_permit_and_waiting_hosts_are_skipped() {
    let unavailable = UnavailableLimit::at_most(Some(2));
    let (mut first, mut second, mut third) =
        (unavailable.host(), unavailable.host(), unavailable.host());
    assert!(acquire(&mut first, &["disruptive"]).await.is_some());
    first.keep();
    assert!(acquire(&mut second, &["disruptive"]).await.is_some());
    assert!(acquire(&mut third, &["disruptive"]).await.is_none());
    second.keep();
    let refused = acquire(&mut third, &["disruptive"]).await;
    assert!(matches!(refused, Some(Err(RunError::Skipped { .. }))));
    assert!(acquire(&mut third, &["plain"]).await.is_some());
}

#[tokio::test]
async fn no_limit_means_no_wait() {
    let unavailable = UnavailableLimit::at_most(None);
    for _ in 0..3 {
        let mut permit = unavailable.host();
        assert!(acquire(&mut permit, &["disruptive"]).await.is_some());
        assert!(!permit.is_held());
    }
}
