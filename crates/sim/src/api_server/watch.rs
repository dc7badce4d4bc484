//! Watches: events since a revision, then new events.

use std::sync::Arc;
use std::time::Duration;

use hyper::body::Bytes;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};

use super::kinds::Kind;
use super::route::Query;
use super::selector::Selector;
use super::state::Server;
use super::status_error::StatusError;
use super::store::Event;
use super::view::View;

/// Interval of bookmarks.
const BOOKMARK_INTERVAL: Duration = Duration::from_secs(60);
/// Maximum duration of a watch in seconds; clients then reconnect.
const MAX_SECONDS: u64 = 1800;

pub(super) struct Watch {
    pub(super) kind: &'static Kind,
    /// `None` for all namespaces.
    pub(super) namespace: Option<String>,
    pub(super) selector: Selector,
    pub(super) view: View,
}

struct WatchProgress {
    from: u64,
    end: Instant,
    bookmarks: bool,
}

impl Watch {
    /// Starts a watch; the receiver yields the lines of the response.
    pub(super) fn start(
        self,
        server: &Arc<Server>,
        query: &Query,
    ) -> Result<mpsc::Receiver<Bytes>, StatusError> {
        let (changes, initial, from) = {
            let state = server.state();
            let version = query.get("resourceVersion");
            let now = state.store.revision();
            let (lines, from) = match version.parse::<u64>() {
                Ok(revision) if revision > 0 && !query.is("sendInitialEvents") => {
                    // Check now, so that a revision that is too old fails at once.
                    let available = state.store.since(revision).map(drop);
                    match available {
                        Ok(()) => (Vec::new(), revision),
                        Err(oldest) => {
                            (vec![error_line(&StatusError::expired(revision, oldest))], 0)
                        }
                    }
                }
                Err(_) if !version.is_empty() => {
                    let message = format!("resourceVersion: Invalid value: \"{version}\"");
                    return Err(StatusError::bad_request(message));
                }
                _ => {
                    let existing = state.store.all(self.kind);
                    let existing =
                        existing.filter(|(key, object)| self.selects(&key.namespace, object));
                    let lines = existing.map(|(_, object)| self.line("ADDED", object));
                    (lines.collect(), now)
                }
            };
            (state.store.subscribe(), lines, from)
        };
        let bookmarks = query.is("allowWatchBookmarks");
        let mut initial = initial;
        if query.is("sendInitialEvents") && bookmarks {
            initial.push(self.bookmark(from, true));
        }
        let limit = query
            .get("timeoutSeconds")
            .parse()
            .unwrap_or(MAX_SECONDS)
            .min(MAX_SECONDS);
        let progress = WatchProgress {
            from,
            end: Instant::now() + Duration::from_secs(limit),
            bookmarks,
        };
        let (lines, receiver) = mpsc::channel(64);
        let server = Arc::clone(server);
        tokio::spawn(async move {
            for line in initial {
                if lines.send(line).await.is_err() {
                    return;
                }
            }
            if progress.from > 0 {
                self.follow(&server, changes, &lines, progress).await;
            }
        });
        Ok(receiver)
    }

    async fn follow(
        &self,
        server: &Server,
        mut changes: tokio::sync::watch::Receiver<u64>,
        lines: &mpsc::Sender<Bytes>,
        progress: WatchProgress,
    ) {
        let mut from = progress.from;
        let mut bookmark = Instant::now() + BOOKMARK_INTERVAL;
        loop {
            changes.mark_unchanged();
            let new_lines = self.since(server, &mut from);
            for line in new_lines {
                if lines.send(line).await.is_err() {
                    return;
                }
            }
            if from == 0 {
                return;
            }
            let wake = progress.end.min(bookmark);
            let closed = tokio::select! {
                change = timeout_at(wake, changes.changed()) => {
                    if change.is_err() && bookmark <= Instant::now() && progress.bookmarks {
                        bookmark = Instant::now() + BOOKMARK_INTERVAL;
                        lines.send(self.bookmark(from, false)).await.is_err()
                    } else {
                        false
                    }
                }
                () = lines.closed() => true,
            };
            if closed || Instant::now() >= progress.end {
                return;
            }
        }
    }

    /// Lines since `from`, which is advanced; 0 ends the watch.
    fn since(&self, server: &Server, from: &mut u64) -> Vec<Bytes> {
        let state = server.state();
        let lines = match state.store.since(*from) {
            Ok(events) => events.filter_map(|event| self.event_line(event)).collect(),
            Err(oldest) => {
                let line = error_line(&StatusError::expired(*from, oldest));
                *from = 0;
                return vec![line];
            }
        };
        *from = (*from).max(state.store.revision());
        lines
    }

    /// A change that brings an object into the selection is sent as ADDED, one that removes it
    /// from the selection as DELETED.
    fn event_line(&self, event: &Event) -> Option<Bytes> {
        if !event.key.is_of(self.kind) {
            return None;
        }
        let if_selected = |object: &Option<Arc<Value>>| {
            let object = object.as_ref()?;
            self.selects(&event.key.namespace, object)
                .then(|| Arc::clone(object))
        };
        match (if_selected(&event.before), if_selected(&event.after)) {
            (None, Some(after)) => Some(self.line("ADDED", &after)),
            (Some(_), Some(after)) => Some(self.line("MODIFIED", &after)),
            (Some(before), None) => {
                let mut last = Value::clone(&before);
                let version = json!(event.revision.to_string());
                super::defaults::put(&mut last, &["metadata", "resourceVersion"], version);
                Some(self.line("DELETED", &last))
            }
            (None, None) => None,
        }
    }

    fn selects(&self, namespace: &str, object: &Value) -> bool {
        self.namespace
            .as_ref()
            .is_none_or(|expected| expected == namespace)
            && self.selector.matches(object)
    }

    fn line(&self, kind: &str, object: &Value) -> Bytes {
        let body = self.view.one(self.kind, object);
        line(json!({"type": kind, "object": body}))
    }

    fn bookmark(&self, revision: u64, initial: bool) -> Bytes {
        let mut object = json!({
            "kind": self.kind.kind, "apiVersion": self.kind.api_version(),
            "metadata": {"resourceVersion": revision.to_string()},
        });
        if initial {
            let annotation = json!({"k8s.io/initial-events-end": "true"});
            super::defaults::put(&mut object, &["metadata", "annotations"], annotation);
        }
        let body = self.view.bookmark(object);
        line(json!({"type": "BOOKMARK", "object": body}))
    }
}

fn error_line(status_error: &StatusError) -> Bytes {
    line(json!({"type": "ERROR", "object": status_error.status()}))
}

fn line(event: Value) -> Bytes {
    let mut text = event.to_string();
    text.push('\n');
    text.into()
}
