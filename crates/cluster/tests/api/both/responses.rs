//! Raw requests and their responses: `responses.json` holds both, recorded from a real
//! server of version 1.36.
//!
//! A step with `loose` gives the reason why the embedded server's response may differ;
//! then only the code and the reason are compared. To record again, run the `outside`
//! test with `CASEMENT_RECORD_RESPONSES=1`.

use std::path::Path;

use http::Request;
use http_body_util::BodyExt as _;
use kube::Client;
use kube::client::Body;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::server::Server;

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/api/both/responses.json");

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Step {
    /// `GET /api/v1/nodes`.
    #[serde(rename = "do")]
    request: String,
    /// A token, or `anonymous`; the administrator by default.
    #[serde(rename = "as", skip_serializing_if = "Option::is_none")]
    user: Option<String>,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    content_type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    accept: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    body: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    loose: Option<String>,
    #[serde(default)]
    code: u16,
    #[serde(default)]
    #[serde(rename = "answer")]
    response: Value,
}

pub async fn responses_match_kubernetes(server: &Server) {
    let text = std::fs::read_to_string(FILE).unwrap();
    let mut steps: Vec<Step> = serde_json::from_str(&text).unwrap();
    let record = !server.is_embedded() && std::env::var_os("CASEMENT_RECORD_RESPONSES").is_some();
    let mut differences = Vec::new();
    for step in &mut steps {
        let (code, response) = send(server, step).await;
        if record {
            (step.code, step.response) = (code, response);
            continue;
        }
        let loose = server.is_embedded() && step.loose.is_some();
        let same = match loose {
            true => response["reason"] == step.response["reason"],
            false => response == step.response,
        };
        if code != step.code || !same {
            let expected = format!("{} {:#}", step.code, step.response);
            let found = format!("{code} {response:#}");
            differences.push(difference(&step.request, &expected, &found));
        }
    }
    if record {
        let text = serde_json::to_string_pretty(&steps).unwrap();
        std::fs::write(Path::new(FILE), text + "\n").unwrap();
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

/// Lines that only one of them has.
fn difference(request: &str, expected: &str, found: &str) -> String {
    let mut text = format!("{request}\n");
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    let (expected, found) = (lines(expected), lines(found));
    for line in expected.iter().filter(|line| !found.contains(line)) {
        text += &format!("  recorded {line}\n");
    }
    for line in found.iter().filter(|line| !expected.contains(line)) {
        text += &format!("  found    {line}\n");
    }
    text
}

async fn send(server: &Server, step: &Step) -> (u16, Value) {
    let config = match step.user.as_deref() {
        None => server.config().await,
        Some("anonymous") => {
            let mut config = server.config().await;
            config.auth_info = Default::default();
            config
        }
        Some(token) => server.config_with_token(token).await,
    };
    let client = Client::try_from(config).unwrap();
    let (method, path) = step.request.split_once(' ').unwrap();
    let mut request = Request::builder()
        .method(method)
        .uri(path)
        .header("user-agent", "answers/1")
        .header(
            "accept",
            step.accept.as_deref().unwrap_or("application/json"),
        );
    if step.body.is_some() {
        let kind = step.content_type.as_deref().unwrap_or("application/json");
        request = request.header("content-type", kind);
    }
    let body = step.body.as_ref().map(Value::to_string).unwrap_or_default();
    let request = request.body(Body::from(body.into_bytes())).unwrap();
    let response = client.send(request).await.unwrap();
    let code = response.status().as_u16();
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    let text = String::from_utf8_lossy(&bytes);
    let body = serde_json::from_str(&text).unwrap_or_else(|_| Value::from(&*text));
    (code, masked(&body))
}

/// Replaces what differs from run to run with a placeholder.
fn masked(value: &Value) -> Value {
    match value {
        Value::Object(fields) => fields
            .iter()
            .filter_map(masked_field)
            .collect::<Map<_, _>>()
            .into(),
        Value::Array(items) => items.iter().map(masked).collect(),
        Value::String(text) => Value::from(masked_text(text)),
        other => other.clone(),
    }
}

fn masked_field((key, value): (&String, &Value)) -> Option<(String, Value)> {
    let value = match key.as_str() {
        "uid" | "resourceVersion" | "creationTimestamp" | "deletionTimestamp" | "time"
        | "serverAddress" => Value::from(format!("<{key}>")),
        "columnDefinitions" => masked_columns(value),
        // A real cluster's controllers set it sooner or later.
        "observedGeneration" => return None,
        "managedFields" => {
            let entries = value.as_array().into_iter().flatten();
            let others = entries.filter(|entry| entry["manager"] != "kube-controller-manager");
            let mut others: Vec<Value> = others.map(masked).collect();
            // Their order depends on the second of the change.
            others.sort_by_key(|entry| format!("{}{}", entry["operation"], entry["manager"]));
            Value::Array(others)
        }
        _ => masked(value),
    };
    Some((key.clone(), value))
}

/// Only the names and priorities of table columns.
fn masked_columns(columns: &Value) -> Value {
    let columns = columns.as_array().into_iter().flatten();
    let columns = columns.map(|column| {
        let name = column["name"].as_str().unwrap_or_default();
        Value::from(format!("{name} {}", column["priority"]))
    });
    columns.collect()
}

/// Masks ages and UIDs in a text.
fn masked_text(text: &str) -> String {
    let is_age = |text: &str| {
        let digits = text.strip_suffix(['s', 'm']);
        digits.is_some_and(|digits| {
            !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
        })
    };
    if is_age(text) {
        return "<age>".to_owned();
    }
    let is_uid = |word: &str| {
        word.len() == 36
            && word
                .bytes()
                .all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
    };
    text.split_inclusive(['(', ')', ' ', '"'])
        .map(|piece| {
            let word = piece.trim_end_matches(['(', ')', ' ', '"']);
            match is_uid(word) {
                true => piece.replace(word, "<uid>"),
                false => piece.to_owned(),
            }
        })
        .collect()
}
