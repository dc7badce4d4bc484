//! The Linux side of the network comes first.

use super::*;

/// What was carried out, in its order: the host, the stage, and how many routes.
fn story_of(api: &FakeApi, names: &[&str]) -> Vec<String> {
    let story = Arc::new(Mutex::new(Vec::new()));
    let told = |name: &str| {
        let story = Arc::clone(&story);
        FakeHost::heard_by(name, move |document| {
            let steps = document.steps().iter();
            let routes = steps.filter(|step| step.id.as_str().starts_with("route-"));
            let (host, stage) = (document.host(), document.stage().name());
            let line = format!("{host} {stage}, {} routes", routes.count());
            story.lock().unwrap().push(line);
            Ok(())
        })
    };
    let mut hosts: Vec<FakeHost> = names.iter().map(|name| told(name)).collect();
    let outcomes = run(api, &mut hosts);
    assert!(
        outcomes.iter().all(|it| it.result.is_ok()),
        "{:?}",
        outcomes
    );
    let story = story.lock().unwrap();
    story.clone()
}

#[test]
fn linux_hosts_are_ready_for_windows_nodes_before_there_are_any_and_before_these_have_a_network() {
    let api = FakeApi {
        nodes: Mutex::new(vec!["lin1".to_owned()]),
        ..FakeApi::default()
    };
    let story = story_of(&api, &["win1", "lin1"]);
    assert_eq!(
        story,
        [
            "lin1 network, 0 routes",
            "win1 prepare, 0 routes",
            "win1 join, 0 routes",
            // Nobody knew of its pods before.
            "lin1 network, 1 routes",
            "win1 network, 1 routes",
        ]
    );
}

#[test]
fn a_linux_host_that_knows_all_nodes_is_looked_at_once() {
    let story = story_of(&FakeApi::default(), &["win1", "lin1"]);
    let linux = story.iter().filter(|line| line.starts_with("lin1"));
    assert_eq!(linux.collect::<Vec<_>>(), ["lin1 network, 3 routes"]);
    assert!(story[0].starts_with("lin1"), "{story:?}");
}

#[test]
fn a_linux_host_that_fails_does_not_stop_the_others() {
    let api = FakeApi::default();
    let mut hosts = [FakeHost::new("win1"), FakeHost::new("lin1")];
    hosts[1].fails = Some(Stage::Network);
    let outcomes = run(&api, &mut hosts);
    assert!(outcomes[0].result.is_ok());
    assert!(outcomes[1].result.is_err());
}
