//! `casement demo`, as a new user types it.

use std::process::{Command, Output};

fn demo(arguments: &[&str]) -> (Output, tempfile::TempDir) {
    let state = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_casement"))
        .arg("demo")
        .args(arguments)
        .env("XDG_STATE_HOME", state.path())
        .env_remove("RUST_BACKTRACE")
        .output()
        .unwrap();
    (output, state)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn the_whole_job_is_done_and_taken_back_without_a_trace() {
    let (output, state) = demo(&[]);
    let (said, noise) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{said}\n{noise}");
    assert!(!noise.contains("panicked"), "{noise}");
    let handed_over = said.matches("as it was handed over").count();
    assert_eq!(handed_over, 3, "{said}");
    assert!(said.contains("windows1 and windows2 are Ready"), "{said}");
    assert!(said.contains("It has cbr0 again"), "{said}");
    let reboots = noise.matches("reboots for the feature Containers").count();
    assert_eq!(reboots, 2, "{noise}");
    assert!(
        said.contains("The cluster's objects are as they were."),
        "{said}"
    );
    let folder = state.path().join("casement/demo");
    let folder = std::fs::read_dir(folder).unwrap().next().unwrap().unwrap();
    for left in [
        "cluster.yaml",
        "admin.conf",
        "report.html",
        ".casement/runs",
    ] {
        assert!(folder.path().join(left).exists(), "{left}");
    }
}

#[test]
fn the_same_is_shown_with_an_overlay() {
    let (output, _state) = demo(&["--network", "overlay"]);
    let (said, noise) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{said}\n{noise}");
    for part in [
        "apply --yes --allow-network-outage",
        "It has External, flannel.4096 again",
        "The cluster's objects are as they were.",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let handed_over = said.matches("as it was handed over").count();
    assert_eq!(handed_over, 3, "{said}");
}

#[test]
fn an_unknown_fault_is_refused_with_the_known_ones() {
    let (output, _state) = demo(&["--fail", "networkgone"]);
    assert_eq!(output.status.code(), Some(2));
    let said = text(&output.stderr);
    assert!(said.contains("network-gone"), "{said}");
}
