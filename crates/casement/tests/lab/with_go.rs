//! Tests of the lab with a real control plane.

mod apply;
mod invalid_input;
mod join;
mod kills;
mod node;
mod pod;
mod rendered_configs;
mod reset;
mod secrets;
mod snapshot;

use std::fs;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use crate::lab_fixture::{Lab, SystemState, assert_cleaned_up, exclusive};

/// Selects the bootstrap tokens among the Secrets.
const TOKENS: &str = "--field-selector=type=bootstrap.kubernetes.io/token";

fn assert_no_token_remains(lab: &Lab) {
    let remaining = lab.kubectl(&["get", "secrets", "--all-namespaces", TOKENS]);
    assert!(remaining.is_empty(), "tokens remain: {remaining}");
}

#[test]
#[ignore = "needs root and go"]
fn control_plane_only_lab_needs_no_wine_and_is_cleaned_up() {
    let _exclusive = exclusive();
    let before = SystemState::now();
    let lab = Lab::named("kube");
    lab.run(&["up", "--level", "kube"]);
    let nodes = lab.kubectl(&["get", "nodes", "--no-headers"]);
    assert!(
        nodes.starts_with("lin1") && nodes.contains(" Ready "),
        "{nodes}"
    );
    assert_no_token_remains(&lab);
    assert!(
        !fs::exists("/etc/kubernetes").unwrap(),
        "the lab wrote to the real machine"
    );
    // The kubeconfig works from outside the lab too.
    let kubeconfig = lab.folder().join("admin.conf");
    let text = fs::read_to_string(kubeconfig).unwrap();
    assert!(text.contains(&lab.address("control-plane")), "{text}");
    lab.run(&["reboot", "control-plane"]);
    let nodes = lab.kubectl(&["get", "nodes", "--no-headers"]);
    assert!(nodes.contains("lin1"), "state survives a reboot: {nodes}");
    lab.run(&["down"]);
    assert_cleaned_up(&before, lab.state());
}

#[test]
#[ignore = "needs root, go and the Go module proxy"]
fn killed_first_build_leaves_no_process() {
    let _exclusive = exclusive();
    let before = SystemState::now();
    let lab = Lab::named("build");
    let cache = tempfile::tempdir().unwrap();
    for seconds in [1, 4] {
        let mut up = lab
            .command(&["up", "--level", "kube"])
            .env("XDG_CACHE_HOME", cache.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        thread::sleep(Duration::from_secs(seconds));
        up.kill().unwrap();
        up.wait().unwrap();
        lab.run(&["down"]);
        assert_cleaned_up(&before, lab.state());
    }
}
