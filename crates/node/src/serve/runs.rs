//! The runs of a host: one at a time, each on its own thread.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use casement_resource::wire::{Event, EventKind, LockHolder};
use casement_resource::{Code, Failure, RunId, Secret, SecretName};

use super::secrets::{RunSecrets, SecretStore};
use crate::engine::{Engine, EventSink};
use crate::platform::{Platform, Result};
use crate::state::journal::{self, Journal};
use crate::state::lock::{Lock, holder};
use crate::state::order::Order;
use crate::state::{Layout, lock};

#[derive(Debug)]
pub enum Submitted {
    /// The run is active or finished; its events can be streamed.
    Accepted,
    Busy(LockHolder),
}

pub struct Runs {
    platform: Arc<dyn Platform>,
    layout: Layout,
    secrets: SecretStore,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    current: Option<Current>,
    /// Runs that failed without being able to write that to their journal.
    broken: BTreeMap<RunId, Failure>,
    connections: usize,
}

struct Current {
    run: RunId,
    stop: Arc<AtomicBool>,
}

impl Runs {
    pub fn new(platform: Arc<dyn Platform>, layout: Layout) -> Self {
        Self {
            platform,
            layout,
            secrets: SecretStore::default(),
            state: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a run, or resumes one that this host knows.
    pub(super) fn submit(self: &Arc<Self>, order: Order) -> Result<Submitted> {
        let mut state = self.lock();
        while let Some(current) = &state.current {
            if current.run == order.run {
                return Ok(Submitted::Accepted);
            }
            // A run whose last event was delivered is about to release the lock.
            if !finished(&self.layout, &current.run)? {
                if !self.is_abandoned(&state) {
                    return Ok(Submitted::Busy(self.holder_of(&current.run)?));
                }
                current.stop.store(true, Ordering::SeqCst);
                self.secrets.wake();
            }
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
        let order = match Order::load(&self.layout, &order.run)? {
            Some(known) if finished(&self.layout, &known.run)? => return Ok(Submitted::Accepted),
            Some(known) => known,
            None => order,
        };
        let lock = match Lock::acquire(&self.layout, &order.run, &order.controller)? {
            Ok(lock) => lock,
            Err(holder) => return Ok(Submitted::Busy(holder.unwrap_or_else(unknown_holder))),
        };
        journal::prune(&self.layout)?;
        order.save(&self.layout)?;
        let stop = Arc::new(AtomicBool::new(false));
        state.current = Some(Current {
            run: order.run.clone(),
            stop: Arc::clone(&stop),
        });
        state.broken.remove(&order.run);
        drop(state);
        let runs = Arc::clone(self);
        thread::spawn(move || runs.execute(&order, &stop, lock));
        Ok(Submitted::Accepted)
    }

    /// Whether the active run waits for a secret that will not come: its controller
    /// is disconnected or has been silent for too long. It would block the host
    /// forever; nothing is half done at that point.
    fn is_abandoned(&self, state: &State) -> bool {
        const SECRET_TIMEOUT: Duration = Duration::from_secs(15);
        let alone = state.connections <= 1;
        self.secrets
            .waiting_time()
            .is_some_and(|waiting| alone || waiting > SECRET_TIMEOUT)
    }

    /// Resumes an interrupted run.
    pub(super) fn resume(self: &Arc<Self>, run: &RunId) -> Result<()> {
        match Order::load(&self.layout, run)? {
            Some(order) => self.submit(order).map(drop),
            None => Ok(()),
        }
    }

    fn execute(&self, order: &Order, stop: &AtomicBool, lock: Lock) {
        let result = self.engine(order, stop);
        self.secrets.clear();
        drop(lock);
        let mut state = self.lock();
        state.current = None;
        if let Err(failure) = result {
            state.broken.insert(order.run.clone(), failure);
        }
        self.changed.notify_all();
    }

    fn engine(&self, order: &Order, stop: &AtomicBool) -> Result<()> {
        let (journal, before) = Journal::open(&self.layout, &order.run)?;
        let mut sink = NotifyingSink {
            journal,
            runs: self,
        };
        let secrets = RunSecrets {
            store: &self.secrets,
            stop,
        };
        let mut engine = Engine {
            platform: &*self.platform,
            layout: &self.layout,
            sink: &mut sink,
            secrets: &secrets,
            stop,
        };
        engine.run(order, &before).map(drop)
    }

    pub(super) fn secrets(&self, values: BTreeMap<SecretName, Secret>) {
        self.secrets.put(values);
    }

    /// Cancels a run after its current step.
    pub(super) fn cancel(&self, run: &RunId) {
        if let Some(current) = &self.lock().current
            && current.run == *run
        {
            current.stop.store(true, Ordering::SeqCst);
        }
        self.secrets.wake();
    }

    /// The events of a run from a sequence number on: waits for at least one; empty
    /// when no more will come.
    pub(super) fn events(&self, run: &RunId, from: u64) -> Result<Vec<Event>> {
        let mut state = self.lock();
        loop {
            let mut events = journal::events(&self.layout, run)?.unwrap_or_default();
            let over = journal::is_finished(&events);
            events.retain(|event| event.sequence >= from);
            if !events.is_empty() || over {
                return Ok(events);
            }
            let active = state.current.as_ref().map(|current| &current.run);
            if active != Some(run) {
                return Err(state
                    .broken
                    .get(run)
                    .cloned()
                    .unwrap_or_else(|| run_not_found(run)));
            }
            // Another process may also write to the journal, so poll it.
            let waited = self.changed.wait_timeout(state, Duration::from_secs(1));
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    pub(super) fn platform(&self) -> &dyn Platform {
        &*self.platform
    }

    pub(super) fn layout(&self) -> &Layout {
        &self.layout
    }

    pub(super) fn is_active(&self) -> bool {
        self.lock().current.is_some()
    }

    /// Whether a run is active or a client is connected.
    pub(super) fn busy(&self) -> bool {
        let state = self.lock();
        state.current.is_some() || state.connections > 0
    }

    /// Waits until a run or a connection ends, at most 1 s.
    pub(super) fn wait_for_change(&self) {
        let waited = self
            .changed
            .wait_timeout(self.lock(), Duration::from_secs(1));
        drop(waited);
    }

    /// Counts a connection until the guard is dropped.
    pub(super) fn connect(self: &Arc<Self>) -> ConnectionGuard {
        self.lock().connections += 1;
        ConnectionGuard(Arc::clone(self))
    }

    fn holder_of(&self, run: &RunId) -> Result<LockHolder> {
        let known = holder(&self.layout)?.filter(|holder| holder.run == *run);
        Ok(known.unwrap_or_else(|| LockHolder {
            run: run.clone(),
            ..unknown_holder()
        }))
    }
}

pub(super) struct ConnectionGuard(Arc<Runs>);

impl Drop for ConnectionGuard {
    fn drop(&mut self) {
        self.0.lock().connections -= 1;
        self.0.changed.notify_all();
    }
}

/// Writes to the journal, then wakes its readers.
struct NotifyingSink<'a> {
    journal: Journal,
    runs: &'a Runs,
}

impl EventSink for NotifyingSink<'_> {
    fn write(&mut self, event: EventKind) -> Result<()> {
        self.journal.append(event)?;
        drop(self.runs.lock());
        self.runs.changed.notify_all();
        Ok(())
    }
}

fn finished(layout: &Layout, run: &RunId) -> Result<bool> {
    let events = journal::events(layout, run)?.unwrap_or_default();
    Ok(journal::is_finished(&events))
}

/// The lock holder while its name is not written yet.
#[expect(clippy::expect_used, reason = "a unit test covers this constant")]
fn unknown_holder() -> LockHolder {
    LockHolder {
        run: "unknown".parse().expect("`unknown` is a valid run ID"),
        controller: "unknown".to_owned(),
        since: lock::seconds(),
    }
}

fn run_not_found(run: &RunId) -> Failure {
    Failure::new(
        Code::Protocol,
        format!("run `{run}` is not active on this host"),
        "run `casement apply` again",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_holder_has_a_valid_run_id() {
        assert_eq!(unknown_holder().run.as_str(), "unknown");
    }
}
