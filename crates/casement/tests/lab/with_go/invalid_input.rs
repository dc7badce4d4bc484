//! Invalid input of a new user: each error fits one screen with problem, location, cause
//! and remedy, and changes nothing.

use std::fs;
use std::process::Command;

use serde_json::Value;

use crate::lab_fixture::{Lab, assert_fails_with, exclusive};

/// `apply` on an edited copy of the lab's cluster file.
fn apply_edited(lab: &Lab, name: &str, edit: impl Fn(String) -> String) -> Command {
    let text = fs::read_to_string(lab.folder().join("cluster.yaml")).unwrap();
    let changed = edit(text.clone());
    assert_ne!(changed, text, "{name}: nothing was changed");
    let file = lab.folder().join(format!("{name}.yaml"));
    fs::write(&file, changed).unwrap();
    let mut apply = lab.casement();
    apply.args(["apply", "--yes", "-f"]).arg(file);
    apply
}

#[test]
#[ignore = "needs root, wine and go"]
fn each_input_error_fits_one_screen() {
    let _exclusive = exclusive();
    let lab = Lab::named("wrong");
    lab.run(&["up", "--hosts", "1"]);
    let before = lab.kubectl(&["get", "nodes", "--output=name"]);

    let mut typo = apply_edited(&lab, "typo", |text| text.replace("podCidr:", "podCdir:"));
    assert_fails_with(
        &mut typo,
        3,
        &["CAS-SPEC-010", "podCdir", "did you mean `podCidr`"],
    );

    let mut role = apply_edited(&lab, "role", |text| {
        text.replacen("roles: [worker]", "roles: [control-plane]", 1)
    });
    assert_fails_with(
        &mut role,
        3,
        &["CAS-HOST-002", "Windows", "roles: [worker]"],
    );

    let address = lab.address("win1");
    let silent = format!("{}.99", address.rsplit_once('.').unwrap().0);
    let mut silent = apply_edited(&lab, "silent", |text| text.replace(&address, &silent));
    assert_fails_with(&mut silent, 1, &["CAS-SSH-00", ".99"]);

    let empty = lab.folder().join("empty");
    fs::write(&empty, "").unwrap();
    let mut unknown = apply_edited(&lab, "unknown", |text| text.replace("known_hosts", "empty"));
    assert_fails_with(&mut unknown, 1, &["CAS-SSH-001", "SHA256:", "ssh-keyscan"]);

    let key = lab.folder().join("other_key");
    let make = ["-q", "-t", "ed25519", "-N", "", "-f"];
    let status = Command::new("ssh-keygen").args(make).arg(&key).status();
    assert!(status.unwrap().success());
    let mut other = apply_edited(&lab, "key", |text| text.replace("id_ed25519", "other_key"));
    assert_fails_with(
        &mut other,
        1,
        &["CAS-SSH-003", "Administrator", "host accepts"],
    );

    let kubeconfig = unprivileged_kubeconfig(&lab);
    fs::write(lab.folder().join("unprivileged.conf"), kubeconfig).unwrap();
    let mut forbidden = apply_edited(&lab, "forbidden", |text| {
        text.replace("admin.conf", "unprivileged.conf")
    });
    assert_fails_with(&mut forbidden, 1, &["CAS-API-00", "nodes"]);

    let after = lab.kubectl(&["get", "nodes", "--output=name"]);
    assert_eq!(after, before);
}

/// A kubeconfig of an account without permissions.
fn unprivileged_kubeconfig(lab: &Lab) -> String {
    let token = lab.kubectl(&["create", "token", "default"]);
    let raw = ["config", "view", "--raw", "--output=json"];
    let view: Value = serde_json::from_str(&lab.kubectl(&raw)).unwrap();
    let mut config = view.clone();
    config["users"][0]["user"] = serde_json::json!({"token": token.trim()});
    config.to_string()
}
