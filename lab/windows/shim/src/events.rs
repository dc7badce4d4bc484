//! Publishes task events to containerd, in order.

use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::Duration;

use containerd_shim::event::Event;
use containerd_shim::protos::protobuf::MessageDyn;
use containerd_shim::publisher::RemotePublisher;
use containerd_shim::{Context, Error, warn};

/// Attempts per event; enough for containerd to come back after a restart.
const MAX_ATTEMPTS: u32 = 10;

/// Time limit for containerd to accept an event.
const TIMEOUT: Duration = Duration::from_secs(5);

/// A queue that is processed by its own thread, so that requests do not block.
#[derive(Clone)]
pub struct Events(Sender<QueuedEvent>);

/// `message` is called once per attempt.
struct QueuedEvent {
    topic: String,
    message: Box<dyn Fn() -> Box<dyn MessageDyn> + Send>,
}

impl Events {
    /// Publishes on its own connection, and reconnects after an error.
    ///
    /// `first` is kept open but not used: it may be connected to the instance that
    /// nobody serves (see [`crate::pipe`]), and keeps later connections off it.
    pub fn new(first: RemotePublisher, namespace: String) -> Self {
        let (sender, events) = mpsc::channel();
        thread::spawn(move || {
            publish_all(&namespace, &events);
            drop(first);
        });
        Self(sender)
    }

    pub fn publish(&self, event: impl Event + Clone + 'static) {
        // The thread lives as long as any sender does.
        let _ = self.0.send(QueuedEvent {
            topic: event.topic(),
            message: Box::new(move || Box::new(event.clone())),
        });
    }
}

fn publish_all(namespace: &str, events: &Receiver<QueuedEvent>) {
    let mut publisher = None;
    for QueuedEvent { topic, message } in events {
        let mut delay = Duration::from_millis(20);
        for attempt in 1..=MAX_ATTEMPTS {
            match publish(&mut publisher, &topic, namespace, message()) {
                Ok(()) => break,
                Err(error) => warn!("event {topic}, attempt {attempt}: {error}"),
            }
            publisher = None;
            thread::sleep(delay);
            delay *= 2;
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
    publisher.publish(context(), topic, namespace, message)
}

fn context() -> Context {
    Context {
        timeout_nano: i64::try_from(TIMEOUT.as_nanos()).unwrap_or(i64::MAX),
        ..Context::default()
    }
}
