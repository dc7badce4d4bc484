//! Wrong use, as a new user would try it: one screen that says what, why and
//! what to do.

use std::fs;
use std::os::unix::process::CommandExt;
use std::process::Command;

use crate::machine::{Lab, alone, assert_told, casement};

#[test]
fn a_wrong_level_names_the_right_ones() {
    let words = ["lab", "up", "--level", "vine"];
    assert_told(
        casement().args(words),
        2,
        &["vine", "wine", "kube", "netns"],
    );
    let words = ["lab", "up", "--windows", "2016"];
    assert_told(casement().args(words), 2, &["2016", "2019, 2022, 2025"]);
    let words = ["lab", "--name", "My Lab", "up"];
    assert_told(casement().args(words), 2, &["My Lab", "a-z"]);
}

#[test]
fn a_lab_that_is_not_there_is_told_with_the_way_to_it() {
    let lab = Lab::named("none");
    for words in [
        &["status"][..],
        &["exec", "win1", "--", "ver"],
        &["reboot", "win1"],
    ] {
        assert_told(
            &mut lab.command(words),
            1,
            &["CAS-LAB-015", "casement lab up"],
        );
    }
}

#[test]
#[ignore = "needs root, to become somebody else"]
fn somebody_else_than_root_is_told_why_root() {
    // A program that everybody may run, in a place that everybody may read.
    let folder = tempfile::Builder::new()
        .prefix("casement")
        .tempdir_in("/tmp")
        .unwrap();
    let program = folder.path().join("casement");
    fs::copy(env!("CARGO_BIN_EXE_casement"), &program).unwrap();
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(folder.path(), open).unwrap();
    let mut up = Command::new(program);
    up.args(["lab", "up"]).uid(65534).gid(65534);
    up.env("HOME", "/nonexistent").env_remove("XDG_CACHE_HOME");
    assert_told(&mut up, 1, &["CAS-LAB-001", "root", "sudo"]);
}

#[test]
#[ignore = "needs root"]
fn missing_programs_are_told_with_the_packages_that_have_them() {
    let lab = Lab::named("tools");
    // A machine without iproute2: the PATH, and sbin with it, has nothing.
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
    assert_told(
        &mut up,
        1,
        &["CAS-LAB-002", "sshd", "apt-get install", "openssh-server"],
    );
}

#[test]
#[ignore = "needs root"]
fn no_go_is_told_with_what_works_without_it() {
    let _alone = alone();
    let lab = Lab::named("nogo");
    let cache = tempfile::tempdir().unwrap();
    let mut up = lab.command(&["up", "--level", "kube"]);
    up.env("XDG_CACHE_HOME", cache.path())
        .env("PATH", "/usr/bin:/bin");
    assert_told(
        &mut up,
        1,
        &["CAS-LAB-050", "1.26", "no `go` on the PATH", "--level wine"],
    );
}

#[test]
#[ignore = "needs root and wine"]
fn a_full_disk_is_told_as_that() {
    let _alone = alone();
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
    // The clean prefix does not fit; what there was of it is no template.
    assert_told(&mut up("wine"), 1, &["CAS-LAB-011", "free some space"]);
}

#[test]
#[ignore = "needs root and wine"]
fn a_second_command_at_the_same_time_is_told_to_wait() {
    let _alone = alone();
    let lab = Lab::named("busy");
    fs::create_dir_all(lab.folder()).unwrap();
    let folder = fs::File::open(lab.folder()).unwrap();
    folder.lock().unwrap();
    for words in [&["up", "--level", "wine"][..], &["down"]] {
        assert_told(&mut lab.command(words), 1, &["CAS-LAB-018", "another"]);
    }
}
