//! Usage errors of a new user: each fits one screen with problem, cause and remedy.

use std::fs;
use std::os::unix::process::CommandExt;
use std::process::Command;

use crate::lab_fixture::{Lab, assert_fails_with, casement, exclusive};

#[test]
fn invalid_option_values_list_the_valid_ones() {
    let args = ["lab", "up", "--level", "vine"];
    assert_fails_with(casement().args(args), 2, &["vine", "wine", "kube", "netns"]);
    let args = ["lab", "up", "--windows", "2016"];
    assert_fails_with(casement().args(args), 2, &["2016", "2019, 2022, 2025"]);
    let args = ["lab", "--name", "My Lab", "up"];
    assert_fails_with(casement().args(args), 2, &["My Lab", "a-z"]);
}

#[test]
fn missing_lab_is_reported_with_the_command_to_start_it() {
    let lab = Lab::named("none");
    for args in [
        &["status"][..],
        &["exec", "win1", "--", "ver"],
        &["reboot", "win1"],
    ] {
        assert_fails_with(
            &mut lab.command(args),
            1,
            &["CAS-LAB-015", "casement lab up"],
        );
    }
}

#[test]
#[ignore = "needs root, to change the user"]
fn lab_up_requires_root() {
    // A copy that every user may run.
    let folder = tempfile::Builder::new()
        .prefix("casement")
        .tempdir_in("/tmp")
        .unwrap();
    let program = folder.path().join("casement");
    fs::copy(env!("CARGO_BIN_EXE_casement"), &program).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(folder.path(), mode).unwrap();
    let mut up = Command::new(program);
    up.args(["lab", "up"]).uid(65534).gid(65534);
    up.env("HOME", "/nonexistent").env_remove("XDG_CACHE_HOME");
    assert_fails_with(&mut up, 1, &["CAS-LAB-001", "root", "sudo"]);
}

#[test]
#[ignore = "needs root"]
fn missing_programs_are_reported_with_their_packages() {
    let lab = Lab::named("tools");
    // Hides /usr/sbin, and with it sshd.
    let mut up = Command::new("unshare");
    up.args([
        "--mount",
        "--",
        "sh",
        "-c",
        "mount -t tmpfs tmpfs /usr/sbin && exec \"$@\"",
        "sh",
    ]);
    up.arg(env!("CARGO_BIN_EXE_casement"))
        .args(["lab", "up", "--name", lab.name]);
    up.env("XDG_STATE_HOME", lab.state())
        .env("PATH", "/usr/bin");
    assert_fails_with(
        &mut up,
        1,
        &["CAS-LAB-002", "sshd", "apt-get install", "openssh-server"],
    );
}

#[test]
#[ignore = "needs root"]
fn missing_go_is_reported_with_the_level_that_works_without_it() {
    let _exclusive = exclusive();
    let lab = Lab::named("nogo");
    let cache = tempfile::tempdir().unwrap();
    let mut up = lab.command(&["up", "--level", "kube"]);
    up.env("XDG_CACHE_HOME", cache.path())
        .env("PATH", "/usr/bin:/bin");
    assert_fails_with(
        &mut up,
        1,
        &[
            "CAS-LAB-050",
            "1.26",
            "`go` not found in PATH",
            "--level wine",
        ],
    );
}

#[test]
#[ignore = "needs root and wine"]
fn full_disk_is_reported() {
    let _exclusive = exclusive();
    let lab = Lab::named("full");
    let cache = tempfile::tempdir().unwrap();
    let script = "mount -t tmpfs -o size=4m tmpfs \"$1\" && shift && exec \"$@\"";
    let up = |level: &str| {
        let mut up = Command::new("unshare");
        up.args(["--mount", "--", "sh", "-c", script, "sh"])
            .arg(cache.path());
        up.arg(env!("CARGO_BIN_EXE_casement"));
        up.args(["lab", "up", "--name", lab.name, "--level", level]);
        up.env("XDG_STATE_HOME", lab.state())
            .env("XDG_CACHE_HOME", cache.path());
        up
    };
    // The Wine prefix does not fit; its incomplete copy must not become the template.
    assert_fails_with(&mut up("wine"), 1, &["CAS-LAB-011", "free some space"]);
}

#[test]
#[ignore = "needs root and wine"]
fn concurrent_lab_command_is_rejected() {
    let _exclusive = exclusive();
    let lab = Lab::named("busy");
    fs::create_dir_all(lab.folder()).unwrap();
    let folder = fs::File::open(lab.folder()).unwrap();
    folder.lock().unwrap();
    for args in [&["up", "--level", "wine"][..], &["down"]] {
        assert_fails_with(&mut lab.command(args), 1, &["CAS-LAB-018", "another"]);
    }
}
