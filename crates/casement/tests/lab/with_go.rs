//! The lab with a real control plane.

#[path = "with_go/rendered_configs.rs"]
mod accepted;
mod apply;
mod join;
mod kills;
mod node;
mod pod;
mod reset;
mod secrets;
mod snapshot;
#[path = "with_go/invalid_input.rs"]
mod wrong_input;

use std::fs;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use crate::machine::{Lab, Traces, alone, assert_no_trace};

/// Selects the bootstrap tokens among the Secrets.
const TOKENS: &str = "--field-selector=type=bootstrap.kubernetes.io/token";

fn assert_no_token_left(lab: &Lab) {
    let left = lab.kubectl(&["get", "secrets", "--all-namespaces", TOKENS]);
    assert!(left.is_empty(), "a token was left: {left}");
}

#[test]
#[ignore = "needs root and go"]
fn a_control_plane_alone_needs_no_wine_and_leaves_no_trace() {
    let _alone = alone();
    let before = Traces::now();
    let lab = Lab::named("kube");
    lab.run(&["up", "--level", "kube"]);
    let nodes = lab.kubectl(&["get", "nodes", "--no-headers"]);
    assert!(
        nodes.starts_with("lin1") && nodes.contains(" Ready "),
        "{nodes}"
    );
    assert_no_token_left(&lab);
    assert!(
        !fs::exists("/etc/kubernetes").unwrap(),
        "the machine was written to"
    );
    // The kubeconfig serves from outside too.
    let kubeconfig = lab.folder().join("admin.conf");
    let text = fs::read_to_string(kubeconfig).unwrap();
    assert!(text.contains(&lab.address("control-plane")), "{text}");
    lab.run(&["reboot", "control-plane"]);
    let nodes = lab.kubectl(&["get", "nodes", "--no-headers"]);
    assert!(nodes.contains("lin1"), "state survives a reboot: {nodes}");
    lab.run(&["down"]);
    assert_no_trace(&before, lab.state());
}

#[test]
#[ignore = "needs root, go and the Go module proxy"]
fn a_first_build_that_is_killed_leaves_no_process() {
    let _alone = alone();
    let before = Traces::now();
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
        assert_no_trace(&before, lab.state());
    }
}
