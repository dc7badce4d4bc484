//! The Linux side of the network is configured first.

use super::*;

/// The converged documents in order: host, stage, number of routes.
fn converged(api: &FakeApi, names: &[&str]) -> Vec<String> {
    let log = Arc::new(Mutex::new(Vec::new()));
    let recorded = |name: &str| {
        let log = Arc::clone(&log);
        FakeHost::with_hook(name, move |document| {
            let steps = document.steps().iter();
            let routes = steps.filter(|step| step.id.as_str().starts_with("route-"));
            let (host, stage) = (document.host(), document.stage().name());
            let line = format!("{host} {stage}, {} routes", routes.count());
            log.lock().unwrap().push(line);
            Ok(())
        })
    };
    let mut hosts: Vec<FakeHost> = names.iter().map(|name| recorded(name)).collect();
    let outcomes = run(api, &mut hosts);
    assert!(
        outcomes.iter().all(|it| it.result.is_ok()),
        "{:?}",
        outcomes
    );
    let log = log.lock().unwrap();
    log.clone()
}

#[test]
fn linux_network_comes_before_the_first_join_and_again_before_windows_networks() {
    let api = FakeApi {
        nodes: Mutex::new(vec!["lin1".to_owned()]),
        ..FakeApi::default()
    };
    let log = converged(&api, &["win1", "lin1"]);
    assert_eq!(
        log,
        [
            "lin1 network, 0 routes",
            "win1 prepare, 0 routes",
            "win1 join, 0 routes",
            // The pod network of win1 is not known earlier.
            "lin1 network, 1 routes",
            "win1 network, 1 routes",
        ]
    );
}

#[test]
fn a_linux_host_with_all_routes_is_converged_once() {
    let log = converged(&FakeApi::default(), &["win1", "lin1"]);
    let linux = log.iter().filter(|line| line.starts_with("lin1"));
    assert_eq!(linux.collect::<Vec<_>>(), ["lin1 network, 3 routes"]);
    assert!(log[0].starts_with("lin1"), "{log:?}");
}

#[test]
fn a_failing_linux_host_does_not_stop_the_others() {
    let api = FakeApi::default();
    let mut hosts = [FakeHost::new("win1"), FakeHost::new("lin1")];
    hosts[1].failing_stage = Some(Stage::Network);
    let outcomes = run(&api, &mut hosts);
    assert!(outcomes[0].result.is_ok());
    assert!(outcomes[1].result.is_err());
}
