//! Tells containerd what happened, in order.

use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::Duration;

use containerd_shim::event::Event;
use containerd_shim::protos::protobuf::MessageDyn;
use containerd_shim::publisher::RemotePublisher;
use containerd_shim::{Context, Error, warn};

/// Tries for one event; a containerd that restarts is back within them.
const TRIES: u32 = 10;

/// How long containerd may take to accept an event.
const PATIENCE: Duration = Duration::from_secs(5);

/// One after the other, by a thread of its own: a request never waits for it.
#[derive(Clone)]
pub struct Events(Sender<Announcement>);

/// A topic, and its message as often as it takes.
struct Announcement {
    topic: String,
    message: Box<dyn Fn() -> Box<dyn MessageDyn> + Send>,
}

impl Events {
    /// Publishes on a connection of its own, and on a new one after a break.
    ///
    /// `first` is kept and not used: it may have gone where nobody answers
    /// (see [`crate::pipe`]), and it keeps the next one from going there.
    pub fn new(first: RemotePublisher, namespace: String) -> Self {
        let (sender, events) = mpsc::channel();
        thread::spawn(move || {
            publish_all(&namespace, &events);
            drop(first);
        });
        Self(sender)
    }

    /// Queues an event.
    pub fn publish(&self, event: impl Event + Clone + 'static) {
        // The thread lives as long as any sender does.
        let _ = self.0.send(Announcement {
            topic: event.topic(),
            message: Box::new(move || Box::new(event.clone())),
        });
    }
}

fn publish_all(namespace: &str, events: &Receiver<Announcement>) {
    let mut publisher = None;
    for Announcement { topic, message } in events {
        let mut pause = Duration::from_millis(20);
        for attempt in 1..=TRIES {
            match publish(&mut publisher, &topic, namespace, message()) {
                Ok(()) => break,
                Err(error) => warn!("event {topic}, attempt {attempt}: {error}"),
            }
            publisher = None;
            thread::sleep(pause);
            pause *= 2;
        }
    }
}

fn publish(
    publisher: &mut Option<RemotePublisher>,
    topic: &str,
    namespace: &str,
    message: Box<dyn MessageDyn>,
) -> Result<(), Error> {
    let publisher = match publisher {
        Some(publisher) => publisher,
        None => publisher.insert(RemotePublisher::new(std::env::var("TTRPC_ADDRESS")?)?),
    };
    publisher.publish(limited(), topic, namespace, message)
}

fn limited() -> Context {
    Context {
        timeout_nano: i64::try_from(PATIENCE.as_nanos()).unwrap_or(i64::MAX),
        ..Context::default()
    }
}
