//! Help texts and errors of commands, before they connect.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn casement(dir: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_casement"))
        .args(args)
        .current_dir(dir)
        .env("HOME", dir)
        .env_remove("XDG_CACHE_HOME")
        .env_remove("XDG_STATE_HOME")
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

/// The help of `CAS-CTL-023` refers to it.
#[test]
fn help_of_converge_describes_a_valid_hosts_file() {
    let dir = tempfile::tempdir().unwrap();
    let help = casement(dir.path(), &["converge", "--help"]);
    let (_, example) = text(&help.stdout).split_once("Hosts file:\n").unwrap();
    let (example, _) = example.split_once("\n\n").unwrap();
    fs::write(dir.path().join("hosts.json"), example).unwrap();
    fs::write(dir.path().join("document.json"), "{}").unwrap();
    let args = ["converge", "document.json", "--hosts", "hosts.json"];
    let output = casement(dir.path(), &args);
    let printed = text(&output.stderr);
    // The file is valid: only its key does not exist.
    assert!(printed.contains("id_ed25519"), "{printed}");
    assert!(!printed.contains("CAS-CTL-02"), "{printed}");
}
