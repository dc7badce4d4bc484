//! Watches: what was written since a revision, then whatever comes.

use std::sync::Arc;
use std::time::Duration;

use hyper::body::Bytes;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};

use super::kinds::Kind;
use super::refusal::Refusal;
use super::route::Query;
use super::selector::Selector;
use super::state::Server;
use super::store::Event;
use super::view::View;

/// How often a client that wants bookmarks is told where it is.
const BOOKMARK: Duration = Duration::from_secs(60);
/// A watch ends after this, and is resumed by its client.
const LONGEST: u64 = 1800;

/// What is watched.
pub(super) struct Watch {
    pub(super) kind: &'static Kind,
    /// None: in every namespace.
    pub(super) namespace: Option<String>,
    pub(super) selector: Selector,
    pub(super) view: View,
}

/// How it goes on.
struct Course {
    from: u64,
    end: Instant,
    bookmarks: bool,
}

impl Watch {
    /// Starts a watch; the lines of its answer come out of the receiver.
    pub(super) fn start(
        self,
        server: &Arc<Server>,
        query: &Query,
    ) -> Result<mpsc::Receiver<Bytes>, Refusal> {
        let (news, first, from) = {
            let state = server.state();
            let asked = query.get("resourceVersion");
            let now = state.store.revision();
            let (lines, from) = match asked.parse::<u64>() {
                Ok(revision) if revision > 0 && !query.is("sendInitialEvents") => {
                    // Looked at once here, so that what is too old is told at once.
                    let known = state.store.since(revision).map(drop);
                    match known {
                        Ok(()) => (Vec::new(), revision),
                        Err(oldest) => (vec![failed(&Refusal::expired(revision, oldest))], 0),
                    }
                }
                Err(_) if !asked.is_empty() => {
                    let message = format!("resourceVersion: Invalid value: \"{asked}\"");
                    return Err(Refusal::bad_request(message));
                }
                _ => {
                    let met = state.store.all(self.kind);
                    let met = met.filter(|(key, object)| self.means(&key.namespace, object));
                    let lines = met.map(|(_, object)| self.line("ADDED", object));
                    (lines.collect(), now)
                }
            };
            (state.store.news(), lines, from)
        };
        let bookmarks = query.is("allowWatchBookmarks");
        let mut first = first;
        if query.is("sendInitialEvents") && bookmarks {
            first.push(self.bookmark(from, true));
        }
        let limit = query
            .get("timeoutSeconds")
            .parse()
            .unwrap_or(LONGEST)
            .min(LONGEST);
        let course = Course {
            from,
            end: Instant::now() + Duration::from_secs(limit),
            bookmarks,
        };
        let (lines, receiver) = mpsc::channel(64);
        let server = Arc::clone(server);
        tokio::spawn(async move {
            for line in first {
                if lines.send(line).await.is_err() {
                    return;
                }
            }
            if course.from > 0 {
                self.follow(&server, news, &lines, course).await;
            }
        });
        Ok(receiver)
    }

    async fn follow(
        &self,
        server: &Server,
        mut news: tokio::sync::watch::Receiver<u64>,
        lines: &mpsc::Sender<Bytes>,
        course: Course,
    ) {
        let mut from = course.from;
        let mut bookmark = Instant::now() + BOOKMARK;
        loop {
            news.mark_unchanged();
            let told = self.since(server, &mut from);
            for line in told {
                if lines.send(line).await.is_err() {
                    return;
                }
            }
            if from == 0 {
                return;
            }
            let wake = course.end.min(bookmark);
            let gone = tokio::select! {
                woken = timeout_at(wake, news.changed()) => {
                    if woken.is_err() && bookmark <= Instant::now() && course.bookmarks {
                        bookmark = Instant::now() + BOOKMARK;
                        lines.send(self.bookmark(from, false)).await.is_err()
                    } else {
                        false
                    }
                }
                () = lines.closed() => true,
            };
            if gone || Instant::now() >= course.end {
                return;
            }
        }
    }

    /// The lines since a revision, which moves on; 0 ends the watch.
    fn since(&self, server: &Server, from: &mut u64) -> Vec<Bytes> {
        let state = server.state();
        let lines = match state.store.since(*from) {
            Ok(events) => events.filter_map(|event| self.told(event)).collect(),
            Err(oldest) => {
                let line = failed(&Refusal::expired(*from, oldest));
                *from = 0;
                return vec![line];
            }
        };
        *from = (*from).max(state.store.revision());
        lines
    }

    /// A change that brings an object into the selection is an addition to those
    /// who watch, and one that takes it out a deletion.
    fn told(&self, event: &Event) -> Option<Bytes> {
        if !event.key.is_of(self.kind) {
            return None;
        }
        let meant = |object: &Option<Arc<Value>>| {
            let object = object.as_ref()?;
            self.means(&event.key.namespace, object)
                .then(|| Arc::clone(object))
        };
        match (meant(&event.before), meant(&event.after)) {
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

    fn means(&self, namespace: &str, object: &Value) -> bool {
        self.namespace
            .as_ref()
            .is_none_or(|wanted| wanted == namespace)
            && self.selector.fits(object)
    }

    fn line(&self, kind: &str, object: &Value) -> Bytes {
        let shown = self.view.one(self.kind, object);
        line(json!({"type": kind, "object": shown}))
    }

    fn bookmark(&self, revision: u64, first: bool) -> Bytes {
        let mut object = json!({
            "kind": self.kind.kind, "apiVersion": self.kind.api_version(),
            "metadata": {"resourceVersion": revision.to_string()},
        });
        if first {
            let note = json!({"k8s.io/initial-events-end": "true"});
            super::defaults::put(&mut object, &["metadata", "annotations"], note);
        }
        let shown = self.view.bookmark(object);
        line(json!({"type": "BOOKMARK", "object": shown}))
    }
}

fn failed(refusal: &Refusal) -> Bytes {
    line(json!({"type": "ERROR", "object": refusal.status()}))
}

fn line(event: Value) -> Bytes {
    let mut text = event.to_string();
    text.push('\n');
    text.into()
}
