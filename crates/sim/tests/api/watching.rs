//! Watches: resumed from a revision, with selectors, bookmarks, and an end.

use casement_sim::api_server::{self, Running, Seed};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use serde_json::{Value, json};

use crate::client::{Who, ask, credentials, run, send};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

struct Admin {
    api: Running,
    certificate: String,
    key: String,
}

impl Admin {
    fn start() -> Self {
        let api = api_server::start(Seed::default()).unwrap();
        let (certificate, key) = credentials(api.kubeconfig());
        Self {
            api,
            certificate,
            key,
        }
    }

    fn who(&self) -> Who<'_> {
        Who::Certificate(&self.certificate, &self.key)
    }

    async fn ask(&self, line: &str, body: Option<Value>) -> Value {
        let (code, answer) = ask(&self.api, &self.who(), line, body).await;
        assert!(code < 300, "{line}: {answer:#}");
        answer
    }

    async fn watch(&self, query: &str) -> Events {
        let line = format!("GET {MAPS}?watch=1&{query}");
        let response = send(&self.api, &self.who(), &line, None).await;
        assert_eq!(response.status(), 200);
        Events {
            body: response.into_body(),
            text: String::new(),
        }
    }
}

struct Events {
    body: Incoming,
    text: String,
}

impl Events {
    /// The next event as its type and the object's name; none at the end.
    async fn next(&mut self) -> Option<(String, Value)> {
        loop {
            if let Some((line, rest)) = self.text.split_once('\n') {
                let event: Value = serde_json::from_str(line).unwrap();
                self.text = rest.to_owned();
                let kind = event["type"].as_str().unwrap().to_owned();
                return Some((kind, event["object"].clone()));
            }
            let frame = self.body.frame().await?.unwrap();
            let bytes = frame.into_data().unwrap();
            self.text += std::str::from_utf8(&bytes).unwrap();
        }
    }

    async fn names(&mut self, count: usize) -> Vec<String> {
        let mut names = Vec::new();
        for _ in 0..count {
            let (kind, object) = self.next().await.unwrap();
            let name = object["metadata"]["name"].as_str().unwrap_or_default();
            names.push(format!("{kind} {name}"));
        }
        names
    }
}

fn map(name: &str, label: &str) -> Option<Value> {
    Some(json!({"metadata": {"name": name, "labels": {"l": label}}}))
}

#[test]
fn a_watch_goes_on_from_where_a_list_ended() {
    run(async {
        let admin = Admin::start();
        admin.ask(&format!("POST {MAPS}"), map("before", "x")).await;
        let list = admin.ask(&format!("GET {MAPS}"), None).await;
        let version = list["metadata"]["resourceVersion"].as_str().unwrap();
        admin.ask(&format!("POST {MAPS}"), map("a", "x")).await;
        admin.ask(&format!("DELETE {MAPS}/before"), None).await;
        let mut watch = admin.watch(&format!("resourceVersion={version}")).await;
        assert_eq!(watch.names(2).await, ["ADDED a", "DELETED before"]);
        let body = Some(json!({"data": {"x": "y"}}));
        let changed = admin.ask(&format!("PATCH {MAPS}/a"), body).await;
        let (kind, object) = watch.next().await.unwrap();
        assert_eq!((kind.as_str(), &object), ("MODIFIED", &changed));
    });
}

#[test]
fn a_selector_turns_changes_into_comings_and_goings() {
    run(async {
        let admin = Admin::start();
        admin.ask(&format!("POST {MAPS}"), map("in", "yes")).await;
        let mut watch = admin.watch("labelSelector=l%3Dyes").await;
        assert_eq!(watch.names(1).await, ["ADDED in"]);
        admin.ask(&format!("POST {MAPS}"), map("out", "no")).await;
        for label in ["yes", "no"] {
            let body = Some(json!({"metadata": {"labels": {"l": label}}}));
            admin.ask(&format!("PATCH {MAPS}/out"), body).await;
        }
        assert_eq!(watch.names(2).await, ["ADDED out", "DELETED out"]);
    });
}

#[test]
fn the_first_events_end_with_a_bookmark_and_a_watch_with_its_time() {
    run(async {
        let admin = Admin::start();
        let query = "sendInitialEvents=true&allowWatchBookmarks=true&timeoutSeconds=1\
                     &resourceVersionMatch=NotOlderThan";
        let mut watch = admin.watch(query).await;
        assert_eq!(watch.names(1).await, ["ADDED kube-root-ca.crt"]);
        let (kind, object) = watch.next().await.unwrap();
        assert_eq!(kind, "BOOKMARK");
        let note = &object["metadata"]["annotations"]["k8s.io/initial-events-end"];
        assert_eq!(note, "true");
        assert_eq!(watch.next().await, None);
    });
}

#[test]
fn a_revision_that_is_too_old_is_told() {
    run(async {
        let admin = Admin::start();
        let lease = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/lin1";
        let (_, first) = ask(&admin.api, &admin.who(), &format!("GET {lease}"), None).await;
        let version = first["metadata"]["resourceVersion"].as_str().unwrap();
        for number in 0..4200 {
            let body = Some(json!({"spec": {"leaseDurationSeconds": 40 + number}}));
            admin.ask(&format!("PATCH {lease}"), body).await;
        }
        let mut watch = admin.watch(&format!("resourceVersion={version}")).await;
        let (kind, status) = watch.next().await.unwrap();
        assert_eq!(kind, "ERROR");
        assert_eq!(
            (&status["code"], &status["reason"]),
            (&json!(410), &json!("Expired"))
        );
        assert_eq!(watch.next().await, None);
    });
}

#[test]
fn a_long_list_comes_in_pages() {
    run(async {
        let admin = Admin::start();
        for name in ["a", "b", "c"] {
            admin.ask(&format!("POST {MAPS}"), map(name, "x")).await;
        }
        let mut names = Vec::new();
        let mut more = String::new();
        loop {
            let line = format!("GET {MAPS}?limit=3&continue={more}");
            let page = admin.ask(&line, None).await;
            let items = page["items"].as_array().unwrap();
            names.extend(items.iter().map(|item| item["metadata"]["name"].clone()));
            match page["metadata"]["continue"].as_str() {
                Some(token) => more = token.to_owned(),
                None => break,
            }
        }
        assert_eq!(names, ["a", "b", "c", "kube-root-ca.crt"]);
    });
}

#[test]
fn a_server_that_is_dropped_is_gone() {
    let api = api_server::start(Seed::default()).unwrap();
    let address = api.address();
    drop(api);
    assert!(std::net::TcpStream::connect(address).is_err());
}
