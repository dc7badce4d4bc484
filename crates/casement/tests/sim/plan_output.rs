//! The output of `plan` for programs: JSON and exit code.

use std::process::Output;

use serde_json::Value;

use crate::fixture::Fixture;
use crate::json_output::assert_documented;

fn document(output: &Output) -> Value {
    let text = String::from_utf8_lossy(&output.stdout);
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// The hosts that could be planned, and those that could not.
fn names(document: &Value) -> (Vec<String>, Vec<String>) {
    assert_documented(document, "Plan");
    let hosts = document["hosts"].as_array().unwrap().iter();
    let (failed, planned): (Vec<_>, Vec<_>) = hosts.partition(|host| host["error"].is_object());
    let names = |hosts: Vec<&Value>| -> Vec<String> {
        let names = hosts
            .iter()
            .map(|it| it["name"].as_str().unwrap().to_owned());
        names.collect()
    };
    (names(planned), names(failed))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn plan_exit_code_tells_whether_something_would_change() {
    let fixture = Fixture::start(2, true).await;
    let plan = ["plan", "--exit-code", "-o", "json"];
    let output = fixture.run(&plan).await;
    assert_eq!(output.status.code(), Some(4));
    let before = document(&output);
    let (planned, failed) = names(&before);
    assert_eq!(planned, ["linux1", "windows1", "windows2"]);
    assert_eq!(failed, [] as [&str; 0]);
    for host in before["hosts"].as_array().unwrap().iter().skip(1) {
        assert_eq!(host["knownAfterJoin"].as_array().unwrap().len(), 1);
        let steps = host["steps"].as_array().unwrap();
        assert!(steps.len() > 20, "{host}");
        assert!(
            steps.iter().all(|step| step["host"] == host["name"]),
            "{host}"
        );
        let kubelet = steps.iter().find(|it| it["name"] == "kubelet").unwrap();
        assert_eq!(kubelet["kind"], "service");
        assert_eq!(kubelet["action"], "create");
        assert_eq!(kubelet["changes"][0]["before"], Value::Null);
    }
    assert_ne!(before["cluster"].as_array().unwrap().len(), 0);
    for host in ["windows1", "windows2"] {
        let host = fixture.cluster.host(host).unwrap();
        assert_eq!(host.left_behind(), [] as [&str; 0], "nothing was changed");
    }

    fixture.succeed(&["apply", "--yes"]).await;
    let output = fixture.run(&plan).await;
    assert_eq!(output.status.code(), Some(0));
    let in_sync = document(&output);
    names(&in_sync);
    assert_eq!(in_sync["cluster"], Value::Array(Vec::new()));
    let steps = in_sync["hosts"][1]["steps"].as_array().unwrap();
    for step in steps {
        assert_eq!(step["action"], "none", "{step}");
        assert!(step["reason"].is_string(), "{step}");
    }
    for counted in ["create", "change", "remove", "unknown"] {
        assert_eq!(in_sync["summary"][counted], 0, "{counted}");
    }

    // An unreachable host is listed too, and does not count as a change.
    fixture.cluster.host("windows2").unwrap().unplug();
    let output = fixture.run(&plan).await;
    assert_eq!(output.status.code(), Some(1));
    let after = document(&output);
    let (planned, failed) = names(&after);
    assert_eq!(planned, ["linux1", "windows1"]);
    assert_eq!(failed, ["windows2"]);
    let code = after["hosts"][2]["error"]["code"].as_str().unwrap();
    assert!(code.starts_with("CAS-SSH-"), "{code}");
}
