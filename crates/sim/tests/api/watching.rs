//! Watches: resuming, selectors, bookmarks, timeouts; paging of lists.

use casement_sim::api_server::{self, ApiServer, Seed};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use serde_json::{Value, json};

use crate::client::{Credentials, credentials, request, run, send};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

struct Admin {
    api: ApiServer,
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

    fn credentials(&self) -> Credentials<'_> {
        Credentials::Certificate(&self.certificate, &self.key)
    }

    async fn request(&self, line: &str, body: Option<Value>) -> Value {
        let (code, response) = request(&self.api, &self.credentials(), line, body).await;
        assert!(code < 300, "{line}: {response:#}");
        response
    }

    async fn watch(&self, query: &str) -> Events {
        let line = format!("GET {MAPS}?watch=1&{query}");
        let response = send(&self.api, &self.credentials(), &line, None).await;
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
    /// Type and object of the next event; `None` at the end.
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
fn watch_resumes_from_the_version_of_a_list() {
    run(async {
        let admin = Admin::start();
        admin
            .request(&format!("POST {MAPS}"), map("before", "x"))
            .await;
        let list = admin.request(&format!("GET {MAPS}"), None).await;
        let version = list["metadata"]["resourceVersion"].as_str().unwrap();
        admin.request(&format!("POST {MAPS}"), map("a", "x")).await;
        admin.request(&format!("DELETE {MAPS}/before"), None).await;
        let mut watch = admin.watch(&format!("resourceVersion={version}")).await;
        assert_eq!(watch.names(2).await, ["ADDED a", "DELETED before"]);
        let body = Some(json!({"data": {"x": "y"}}));
        let changed = admin.request(&format!("PATCH {MAPS}/a"), body).await;
        let (kind, object) = watch.next().await.unwrap();
        assert_eq!((kind.as_str(), &object), ("MODIFIED", &changed));
    });
}

#[test]
fn selector_turns_changes_into_additions_and_deletions() {
    run(async {
        let admin = Admin::start();
        admin
            .request(&format!("POST {MAPS}"), map("in", "yes"))
            .await;
        let mut watch = admin.watch("labelSelector=l%3Dyes").await;
        assert_eq!(watch.names(1).await, ["ADDED in"]);
        admin
            .request(&format!("POST {MAPS}"), map("out", "no"))
            .await;
        for label in ["yes", "no"] {
            let body = Some(json!({"metadata": {"labels": {"l": label}}}));
            admin.request(&format!("PATCH {MAPS}/out"), body).await;
        }
        assert_eq!(watch.names(2).await, ["ADDED out", "DELETED out"]);
    });
}

#[test]
fn initial_events_end_with_a_bookmark_and_the_watch_times_out() {
    run(async {
        let admin = Admin::start();
        let query = "sendInitialEvents=true&allowWatchBookmarks=true&timeoutSeconds=1\
                     &resourceVersionMatch=NotOlderThan";
        let mut watch = admin.watch(query).await;
        assert_eq!(watch.names(1).await, ["ADDED kube-root-ca.crt"]);
        let (kind, object) = watch.next().await.unwrap();
        assert_eq!(kind, "BOOKMARK");
        let annotation = &object["metadata"]["annotations"]["k8s.io/initial-events-end"];
        assert_eq!(annotation, "true");
        assert_eq!(watch.next().await, None);
    });
}

#[test]
fn expired_revision_is_an_error_event() {
    run(async {
        let admin = Admin::start();
        let lease = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/lin1";
        let (_, first) = request(
            &admin.api,
            &admin.credentials(),
            &format!("GET {lease}"),
            None,
        )
        .await;
        let version = first["metadata"]["resourceVersion"].as_str().unwrap();
        for number in 0..4200 {
            let body = Some(json!({"spec": {"leaseDurationSeconds": 40 + number}}));
            admin.request(&format!("PATCH {lease}"), body).await;
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
fn long_list_is_paged() {
    run(async {
        let admin = Admin::start();
        for name in ["a", "b", "c"] {
            admin.request(&format!("POST {MAPS}"), map(name, "x")).await;
        }
        let mut names = Vec::new();
        let mut continue_token = String::new();
        loop {
            let line = format!("GET {MAPS}?limit=3&continue={continue_token}");
            let page = admin.request(&line, None).await;
            let items = page["items"].as_array().unwrap();
            names.extend(items.iter().map(|item| item["metadata"]["name"].clone()));
            match page["metadata"]["continue"].as_str() {
                Some(token) => continue_token = token.to_owned(),
                None => break,
            }
        }
        assert_eq!(names, ["a", "b", "c", "kube-root-ca.crt"]);
    });
}

#[test]
fn dropped_server_stops_listening() {
    let api = api_server::start(Seed::default()).unwrap();
    let address = api.address();
    drop(api);
    assert!(std::net::TcpStream::connect(address).is_err());
}
