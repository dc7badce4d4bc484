//! `casement logs`: the tail of a service log, following it, and the support bundle.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::Stdio;

use casement_node::sim::SimEntry;

use crate::fixture::Fixture;

const LOG: &str = r"C:\var\log\kubelet\kubelet.log";

/// Appends a line to the kubelet log of windows1.
fn append_log(fixture: &Fixture, line: &str) {
    let sim = fixture.cluster.host("windows1").unwrap().sim();
    sim.modify_world(|world| {
        let file = world.entries.entry(LOG.parse().unwrap());
        let file = file.or_insert((SimEntry::File(Vec::new()), "everybody".to_owned()));
        let (SimEntry::File(bytes), _) = file else {
            panic!("{LOG} is not a file");
        };
        bytes.extend_from_slice(line.as_bytes());
        bytes.push(b'\n');
    });
}

fn unpack(path: &Path) -> BTreeMap<String, String> {
    let file = std::fs::File::open(path).unwrap();
    let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(file));
    let entries = archive.entries().unwrap().map(|entry| {
        let mut entry = entry.unwrap();
        let mut text = String::new();
        entry.read_to_string(&mut text).unwrap();
        (entry.path().unwrap().display().to_string(), text)
    });
    entries.collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn logs_prints_the_tail_and_follows() {
    let fixture = Fixture::start(1, true).await;
    let output = fixture.run(&["logs", "windows1"]).await;
    let printed = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success());
    assert!(
        printed.contains("CAS-CTL-025") && printed.contains(LOG),
        "{printed}"
    );
    for line in ["first", "second", "third"] {
        append_log(&fixture, line);
    }
    let shown = fixture.run(&["logs", "windows1", "-n", "2"]).await;
    assert_eq!(String::from_utf8_lossy(&shown.stdout), "second\nthird\n");
    let mut command = fixture.command(&["logs", "windows1", "--follow", "-n", "1"]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert_eq!(lines.next().unwrap().unwrap(), "third");
    append_log(&fixture, "fourth");
    assert_eq!(lines.next().unwrap().unwrap(), "fourth");
    child.kill().unwrap();
    child.wait().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bundle_has_everything_but_secrets() {
    let fixture = Fixture::start(1, true).await;
    fixture.succeed(&["apply", "--yes"]).await;
    let file = fixture.cluster.cluster_file();
    let folder = file.parent().unwrap();
    let key = std::fs::read_to_string(folder.join("id_ed25519")).unwrap();
    append_log(&fixture, &format!("a key: {key}"));
    append_log(&fixture, "and a token, abcdef.0123456789abcdef, too");
    let args = ["logs", "windows1", "--bundle", "--out", "all.tar.gz"];
    fixture.succeed(&args).await;
    let parts = unpack(&folder.join("all.tar.gz"));
    let log = &parts["files/C/var/log/kubelet/kubelet.log"];
    assert!(log.contains("and a token, ********"), "{log}");
    for name in [
        "host.json",
        "observed.txt",
        "versions.txt",
        "documents/join.json",
    ] {
        assert!(parts.contains_key(name), "{name}: {:?}", parts.keys());
    }
    let host: serde_json::Value = serde_json::from_str(&parts["host.json"]).unwrap();
    assert!(
        !host["hnsNetworks"].as_array().unwrap().is_empty(),
        "{host}"
    );
    assert!(parts["observed.txt"].starts_with("No changes: "));
    assert!(parts.keys().any(|name| name.starts_with("runs/")));
    assert!(parts.keys().any(|name| name.ends_with("config.toml")));
    let secret = key.lines().nth(2).unwrap();
    for (name, text) in &parts {
        assert!(!text.contains(secret), "the key is in {name}");
        assert!(!text.contains("0123456789abcdef"), "the token is in {name}");
    }
}
