//! Who waits, for whom, and for how long.

use casement_resource::wire::ObservedStep;
use casement_resource::{
    Change, Diff, Directory, Hostname, NodeDocument, Reboot, Resource, ResourceId, Stage, Step,
    WaitsForBoot,
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

/// A folder, one whose making cuts the connection, and a reboot for a new name.
fn document() -> NodeDocument {
    let name = "win1".to_owned();
    let reboot = Reboot {
        reason: "the host's name".to_owned(),
        waits: vec![WaitsForBoot::Hostname],
        allowed: true,
        timeout_seconds: 60,
        back_seconds: 600,
    };
    let steps = vec![
        step("plain", &[], false, folder(r"C:\a")),
        step("cuts", &[], true, folder(r"C:\b")),
        step("name", &[], false, Resource::Hostname(Hostname { name })),
        step("reboot", &["name"], true, Resource::Reboot(reboot)),
    ];
    NodeDocument::new("win1".to_owned(), Stage::Prepare, steps).unwrap()
}

fn seen(differing: &[&str]) -> Observed {
    let diff = |id: &ResourceId| match differing.contains(&id.as_str()) {
        true => Diff::Changes(vec![Change::missing("x", "y")]),
        false => Diff::right("right"),
    };
    let document = document();
    let steps = document.steps().iter().map(|step| ObservedStep {
        id: step.id.clone(),
        seen: Ok(diff(&step.id)),
    });
    Observed {
        steps: steps.collect(),
        missing: Vec::new(),
        kept: Diff::right("right"),
    }
}

#[test]
fn a_reboot_counts_before_anything_waits_for_it() {
    let goes = |differing: &[&str]| goes_away(&document(), &seen(differing));
    assert!(!goes(&[]) && !goes(&["plain"]));
    assert!(goes(&["cuts"]) && goes(&["reboot"]));
    assert!(goes(&["name"]), "it is renamed, and boots for that");
}

/// Whether a host may leave without waiting.
async fn leaves(away: &mut Away<'_>, differing: &[&str]) -> Option<Result<(), RunError>> {
    let (document, seen) = (document(), seen(differing));
    let waits = std::cell::Cell::new(false);
    let leave = away.leave(&document, &seen, || waits.set(true));
    let left = tokio::select! {
        biased;
        left = leave => Some(left),
        () = std::future::ready(()) => None,
    };
    assert_eq!(left.is_none(), waits.get(), "who waits says so");
    left
}

#[tokio::test]
async fn so_many_may_leave_and_the_next_when_one_is_back() {
    let unavailable = Unavailable::at_most(Some(2));
    let mut hosts = [
        unavailable.host(),
        unavailable.host(),
        unavailable.host(),
        unavailable.host(),
    ];
    assert!(leaves(&mut hosts[0], &["cuts"]).await.is_some());
    assert!(leaves(&mut hosts[1], &["cuts"]).await.is_some());
    assert!(leaves(&mut hosts[2], &["cuts"]).await.is_none());
    assert!(leaves(&mut hosts[3], &["plain"]).await.is_some());
    assert!(!hosts[3].counts(), "what does not take it away is free");
    assert!(
        leaves(&mut hosts[0], &["cuts"]).await.is_some(),
        "it is away already"
    );
    hosts[0].back();
    assert!(leaves(&mut hosts[2], &["cuts"]).await.is_some());
    assert!(leaves(&mut hosts[0], &["cuts"]).await.is_none());
}

#[tokio::test]
async fn a_lost_host_keeps_its_place_and_nobody_waits_for_the_last_one() {
    let unavailable = Unavailable::at_most(Some(2));
    let (mut first, mut second, mut third) =
        (unavailable.host(), unavailable.host(), unavailable.host());
    assert!(leaves(&mut first, &["cuts"]).await.is_some());
    first.lost();
    assert!(leaves(&mut second, &["cuts"]).await.is_some());
    assert!(leaves(&mut third, &["cuts"]).await.is_none());
    second.lost();
    let refused = leaves(&mut third, &["cuts"]).await;
    assert!(matches!(refused, Some(Err(RunError::LeftAlone { .. }))));
    assert!(leaves(&mut third, &["plain"]).await.is_some());
}

#[tokio::test]
async fn without_a_number_nobody_waits() {
    let unavailable = Unavailable::at_most(None);
    for _ in 0..3 {
        let mut away = unavailable.host();
        assert!(leaves(&mut away, &["cuts"]).await.is_some());
        assert!(!away.counts());
    }
}
