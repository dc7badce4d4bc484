//! Wrong input, as a new user would try it: one screen that says what, where, why
//! and what to do. Nothing is changed by any of it.

use std::fs;
use std::process::Command;

use serde_json::Value;

use crate::machine::{Lab, alone, assert_told};

/// `apply` on the lab's file with something else in it.
fn with(lab: &Lab, name: &str, change: impl Fn(String) -> String) -> Command {
    let text = fs::read_to_string(lab.folder().join("cluster.yaml")).unwrap();
    let changed = change(text.clone());
    assert_ne!(changed, text, "{name}: nothing was changed");
    let file = lab.folder().join(format!("{name}.yaml"));
    fs::write(&file, changed).unwrap();
    let mut apply = lab.casement();
    apply.args(["apply", "--yes", "-f"]).arg(file);
    apply
}

#[test]
#[ignore = "needs root, wine and go"]
fn wrong_input_is_told_on_one_screen() {
    let _alone = alone();
    let lab = Lab::named("wrong");
    lab.run(&["up", "--hosts", "1"]);
    let before = lab.kubectl(&["get", "nodes", "--output=name"]);

    let mut typo = with(&lab, "typo", |text| text.replace("podCidr:", "podCdir:"));
    assert_told(
        &mut typo,
        3,
        &["CAS-SPEC-010", "podCdir", "did you mean `podCidr`"],
    );

    let mut role = with(&lab, "role", |text| {
        text.replacen("roles: [worker]", "roles: [control-plane]", 1)
    });
    assert_told(
        &mut role,
        3,
        &["CAS-HOST-002", "Windows", "roles: [worker]"],
    );

    let address = lab.address("win1");
    let silent = format!("{}.99", address.rsplit_once('.').unwrap().0);
    let mut silent = with(&lab, "silent", |text| text.replace(&address, &silent));
    assert_told(&mut silent, 1, &["CAS-SSH-00", ".99"]);

    let empty = lab.folder().join("empty");
    fs::write(&empty, "").unwrap();
    let mut unknown = with(&lab, "unknown", |text| text.replace("known_hosts", "empty"));
    assert_told(&mut unknown, 1, &["CAS-SSH-001", "SHA256:", "ssh-keyscan"]);

    let key = lab.folder().join("other_key");
    let make = ["-q", "-t", "ed25519", "-N", "", "-f"];
    let made = Command::new("ssh-keygen").args(make).arg(&key).status();
    assert!(made.unwrap().success());
    let mut other = with(&lab, "key", |text| text.replace("id_ed25519", "other_key"));
    assert_told(&mut other, 1, &["CAS-SSH-003", "Administrator", "it takes"]);

    let stranger = stranger(&lab);
    fs::write(lab.folder().join("stranger.conf"), stranger).unwrap();
    let mut rights = with(&lab, "rights", |text| {
        text.replace("admin.conf", "stranger.conf")
    });
    assert_told(&mut rights, 1, &["CAS-API-00", "nodes"]);

    let after = lab.kubectl(&["get", "nodes", "--output=name"]);
    assert_eq!(after, before);
}

/// A kubeconfig of somebody who may do nothing.
fn stranger(lab: &Lab) -> String {
    let token = lab.kubectl(&["create", "token", "default"]);
    let raw = ["config", "view", "--raw", "--output=json"];
    let view: Value = serde_json::from_str(&lab.kubectl(&raw)).unwrap();
    let mut config = view.clone();
    config["users"][0]["user"] = serde_json::json!({"token": token.trim()});
    config.to_string()
}
