//! The output of `plan` for programs: JSON and exit code.

use std::process::Output;

use serde_json::Value;

use crate::fixture::Fixture;

fn document(output: &Output) -> Value {
    let text = String::from_utf8_lossy(&output.stdout);
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn names<'a>(document: &'a Value, list: &str) -> Vec<&'a str> {
    let list = document[list].as_array().unwrap();
    list.iter().map(|it| it["name"].as_str().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn plan_exit_code_tells_whether_something_would_change() {
    let fixture = Fixture::start(2, true).await;
    let plan = ["plan", "--exit-code", "-o", "json"];
    let output = fixture.run(&plan).await;
    assert_eq!(output.status.code(), Some(4));
    let before = document(&output);
    assert_eq!(names(&before, "hosts"), ["linux1", "windows1", "windows2"]);
    assert_eq!(names(&before, "failed"), [] as [&str; 0]);
    for host in before["hosts"].as_array().unwrap().iter().skip(1) {
        assert_eq!(host["knownAfterJoin"].as_array().unwrap().len(), 1);
        assert!(host["steps"].as_array().unwrap().len() > 20, "{host}");
    }
    assert_ne!(before["cluster"].as_array().unwrap().len(), 0);
    for host in ["windows1", "windows2"] {
        let host = fixture.cluster.host(host).unwrap();
        assert_eq!(host.left_behind(), [] as [&str; 0], "nothing was changed");
    }

    fixture.succeed(&["apply", "--yes"]).await;
    let output = fixture.run(&plan).await;
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(document(&output)["cluster"], Value::Array(Vec::new()));

    // An unreachable host is listed too, and does not count as a change.
    fixture.cluster.host("windows2").unwrap().unplug();
    let output = fixture.run(&plan).await;
    assert_eq!(output.status.code(), Some(1));
    let after = document(&output);
    assert_eq!(names(&after, "hosts"), ["linux1", "windows1"]);
    assert_eq!(names(&after, "failed"), ["windows2"]);
    let code = after["failed"][0]["code"].as_str().unwrap();
    assert!(code.starts_with("CAS-SSH-"), "{code}");
}
