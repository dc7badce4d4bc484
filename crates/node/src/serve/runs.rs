//! Runs: one at a time, each in a thread of its own.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use casement_resource::wire::{Event, LockHolder, What};
use casement_resource::{Code, Failure, RunId, Secret, SecretName};

use super::secrets::{ForRun, Store};
use crate::engine::{Engine, Sink};
use crate::platform::{Platform, Result};
use crate::state::journal::{self, Journal};
use crate::state::lock::{Lock, holder};
use crate::state::order::Order;
use crate::state::{Layout, lock};

/// What happens when a run is asked for.
#[derive(Debug)]
pub enum Asked {
    /// It runs, or has run: its events can be told.
    Accepted,
    /// Another one has the host.
    Busy(LockHolder),
}

/// The runs of this host.
pub struct Runs {
    platform: Arc<dyn Platform>,
    layout: Layout,
    secrets: Store,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    current: Option<Current>,
    /// Runs that ended without being able to say so in their journal.
    broken: BTreeMap<RunId, Failure>,
    guests: usize,
}

struct Current {
    run: RunId,
    stop: Arc<AtomicBool>,
}

impl Runs {
    /// No run yet.
    pub fn new(platform: Arc<dyn Platform>, layout: Layout) -> Self {
        Self {
            platform,
            layout,
            secrets: Store::default(),
            state: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a run, or goes on with one that the host knows.
    pub(super) fn ask(self: &Arc<Self>, order: Order) -> Result<Asked> {
        let mut state = self.lock();
        while let Some(current) = &state.current {
            if current.run == order.run {
                return Ok(Asked::Accepted);
            }
            // One whose last event was heard is about to free the lock.
            if !finished(&self.layout, &current.run)? {
                if !self.is_abandoned(&state) {
                    return Ok(Asked::Busy(self.holder_of(&current.run)?));
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
            Some(known) if finished(&self.layout, &known.run)? => return Ok(Asked::Accepted),
            Some(known) => known,
            None => order,
        };
        let lock = match Lock::take(&self.layout, &order.run, &order.controller)? {
            Ok(lock) => lock,
            Err(holder) => return Ok(Asked::Busy(holder.unwrap_or_else(nobody))),
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
        thread::spawn(move || runs.carry_out(&order, &stop, lock));
        Ok(Asked::Accepted)
    }

    /// Whether the run at work waits for a secret that nobody will send: its
    /// controller is gone, or has been silent for too long. It would hold the
    /// host for ever, and has nothing half done.
    fn is_abandoned(&self, state: &State) -> bool {
        const SILENCE: Duration = Duration::from_secs(15);
        let alone = state.guests <= 1;
        self.secrets
            .waited()
            .is_some_and(|waited| alone || waited > SILENCE)
    }

    /// Goes on with a run that was cut off.
    pub(super) fn resume(self: &Arc<Self>, run: &RunId) -> Result<()> {
        match Order::load(&self.layout, run)? {
            Some(order) => self.ask(order).map(drop),
            None => Ok(()),
        }
    }

    fn carry_out(&self, order: &Order, stop: &AtomicBool, lock: Lock) {
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
        let mut sink = Announced {
            journal,
            runs: self,
        };
        let secrets = ForRun {
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

    /// Keeps values for a run that asks for them.
    pub(super) fn secrets(&self, values: BTreeMap<SecretName, Secret>) {
        self.secrets.put(values);
    }

    /// Lets a run finish its step and stop.
    pub(super) fn stop(&self, run: &RunId) {
        if let Some(current) = &self.lock().current
            && current.run == *run
        {
            current.stop.store(true, Ordering::SeqCst);
        }
        self.secrets.wake();
    }

    /// The events of a run from a number on: waits until there is at least one,
    /// or none will come any more (then the list is empty).
    pub(super) fn events(&self, run: &RunId, from: u64) -> Result<Vec<Event>> {
        let mut state = self.lock();
        loop {
            let mut events = journal::events(&self.layout, run)?.unwrap_or_default();
            let over = journal::is_over(&events);
            events.retain(|event| event.sequence >= from);
            if !events.is_empty() || over {
                return Ok(events);
            }
            let at_work = state.current.as_ref().map(|current| &current.run);
            if at_work != Some(run) {
                return Err(state
                    .broken
                    .get(run)
                    .cloned()
                    .unwrap_or_else(|| unknown(run)));
            }
            // The journal may also grow in another process; look now and then.
            let waited = self.changed.wait_timeout(state, Duration::from_secs(1));
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// The host.
    pub(super) fn platform(&self) -> &dyn Platform {
        &*self.platform
    }

    /// The state folder.
    pub(super) fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Whether a run is at work.
    pub(super) fn at_work(&self) -> bool {
        self.lock().current.is_some()
    }

    /// Whether a run is at work or somebody is connected.
    pub(super) fn busy(&self) -> bool {
        let state = self.lock();
        state.current.is_some() || state.guests > 0
    }

    /// Waits until a run or a connection ends, or for a while.
    pub(super) fn until_changed(&self) {
        let waited = self
            .changed
            .wait_timeout(self.lock(), Duration::from_secs(1));
        drop(waited);
    }

    /// Counts a connection until it is dropped.
    pub(super) fn enter(self: &Arc<Self>) -> Guest {
        self.lock().guests += 1;
        Guest(Arc::clone(self))
    }

    fn holder_of(&self, run: &RunId) -> Result<LockHolder> {
        let known = holder(&self.layout)?.filter(|holder| holder.run == *run);
        Ok(known.unwrap_or_else(|| LockHolder {
            run: run.clone(),
            ..nobody()
        }))
    }
}

/// One connection.
pub(super) struct Guest(Arc<Runs>);

impl Drop for Guest {
    fn drop(&mut self) {
        self.0.lock().guests -= 1;
        self.0.changed.notify_all();
    }
}

/// Writes to the journal, then wakes those who read it.
struct Announced<'a> {
    journal: Journal,
    runs: &'a Runs,
}

impl Sink for Announced<'_> {
    fn write(&mut self, what: What) -> Result<()> {
        self.journal.append(what)?;
        drop(self.runs.lock());
        self.runs.changed.notify_all();
        Ok(())
    }
}

fn finished(layout: &Layout, run: &RunId) -> Result<bool> {
    let events = journal::events(layout, run)?.unwrap_or_default();
    Ok(journal::is_over(&events))
}

/// The holder between taking the lock and writing its name down.
#[expect(
    clippy::expect_used,
    reason = "the text is a run id, as its test shows"
)]
fn nobody() -> LockHolder {
    LockHolder {
        run: "unknown".parse().expect("a plain word is a run id"),
        controller: "unknown".to_owned(),
        since: lock::seconds(),
    }
}

fn unknown(run: &RunId) -> Failure {
    Failure::new(
        Code::Protocol,
        format!("this host knows no run `{run}` that is at work"),
        "apply again",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_holder_has_a_run_id() {
        assert_eq!(nobody().run.as_str(), "unknown");
    }
}
