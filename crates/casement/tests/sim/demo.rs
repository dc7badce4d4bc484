//! `casement demo`.

use std::process::{Command, Output};

fn demo(args: &[&str]) -> (Output, tempfile::TempDir) {
    let state = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_casement"))
        .arg("demo")
        .args(args)
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
fn demo_applies_repairs_and_resets() {
    let (output, state) = demo(&[]);
    let (printed, stderr) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{printed}\n{stderr}");
    assert!(!stderr.contains("panicked"), "{stderr}");
    let handed_over = printed.matches("in its initial state").count();
    assert_eq!(handed_over, 3, "{printed}");
    assert!(
        printed.contains("windows1 and windows2 are Ready"),
        "{printed}"
    );
    assert!(printed.contains("It has cbr0 again"), "{printed}");
    let reboots = stderr
        .matches("rebooting for the feature Containers")
        .count();
    assert_eq!(reboots, 2, "{stderr}");
    assert!(
        printed.contains("The cluster's objects are restored."),
        "{printed}"
    );
    let folder = state.path().join("casement/demo");
    let folder = std::fs::read_dir(folder).unwrap().next().unwrap().unwrap();
    for kept in [
        "cluster.yaml",
        "admin.conf",
        "report.html",
        ".casement/runs",
    ] {
        assert!(folder.path().join(kept).exists(), "{kept}");
    }
}

#[test]
fn demo_with_overlay_network() {
    let (output, _state) = demo(&["--network", "overlay"]);
    let (printed, stderr) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{printed}\n{stderr}");
    for part in [
        "apply --yes --allow-network-outage",
        "It has External, flannel.4096 again",
        "The cluster's objects are restored.",
    ] {
        assert!(printed.contains(part), "{part}: {printed}");
    }
    let handed_over = printed.matches("in its initial state").count();
    assert_eq!(handed_over, 3, "{printed}");
}

#[test]
fn unknown_fault_is_rejected_with_the_known_ones() {
    let (output, _state) = demo(&["--fail", "networkgone"]);
    assert_eq!(output.status.code(), Some(2));
    let printed = text(&output.stderr);
    assert!(printed.contains("network-gone"), "{printed}");
}
