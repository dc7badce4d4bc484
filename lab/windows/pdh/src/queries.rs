//! What is open: queries, their counters, and the last two readings of each.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::counter::Counter;
use crate::readings::{self, AdapterSum, ProcessorTimes};

/// `PDH_HQUERY` and `PDH_HCOUNTER`.
pub type Handle = usize;

/// One instance's value.
#[derive(Debug, Clone, PartialEq)]
pub struct Value {
    /// UTF-16, without a NUL.
    pub instance: Vec<u16>,
    /// The value.
    pub number: f64,
}

struct Open {
    last: Handle,
    /// Each query's counters.
    queries: BTreeMap<Handle, Vec<Handle>>,
    counters: BTreeMap<Handle, State>,
}

struct State {
    counter: Counter,
    before: Option<Reading>,
    now: Option<Reading>,
}

#[derive(Clone)]
struct Reading {
    at: Instant,
    value: Raw,
}

#[derive(Clone)]
enum Raw {
    Times(ProcessorTimes),
    Number(u64),
    Adapters(Vec<AdapterSum>),
}

static OPEN: Mutex<Open> = Mutex::new(Open {
    last: 0,
    queries: BTreeMap::new(),
    counters: BTreeMap::new(),
});

/// A new query.
pub fn open() -> Handle {
    let mut open = lock();
    let handle = open.next();
    open.queries.insert(handle, Vec::new());
    handle
}

/// Ends a query; `None` if there is none such, as for the others here.
pub fn close(query: Handle) -> Option<()> {
    let mut open = lock();
    for counter in open.queries.remove(&query)? {
        open.counters.remove(&counter);
    }
    Some(())
}

/// A new counter of a query.
pub fn add(query: Handle, counter: Counter) -> Option<Handle> {
    let mut open = lock();
    let handle = open.next();
    open.queries.get_mut(&query)?.push(handle);
    let state = State {
        counter,
        before: None,
        now: None,
    };
    open.counters.insert(handle, state);
    Some(handle)
}

/// Reads all counters of a query.
pub fn collect(query: Handle) -> Option<()> {
    let mut open = lock();
    for handle in open.queries.get(&query)?.clone() {
        if let Some(state) = open.counters.get_mut(&handle) {
            state.before = state.now.take();
            state.now = Some(Reading::take(state.counter));
        }
    }
    Some(())
}

/// A counter's values by its last two readings.
pub fn values(counter: Handle) -> Option<Vec<Value>> {
    let open = lock();
    let state = open.counters.get(&counter)?;
    let Some(now) = &state.now else {
        return Some(Vec::new());
    };
    let before = state.before.as_ref().unwrap_or(now);
    Some(match (&now.value, &before.value) {
        (Raw::Times(now), Raw::Times(before)) => vec![total(busy_percent(*before, *now))],
        (Raw::Adapters(sums), Raw::Adapters(last)) => {
            let seconds = (now.at - before.at).as_secs_f64();
            let rate = matches!(state.counter, Counter::Adapter(kind) if kind.per_second());
            sums.iter()
                .map(|sum| Value {
                    instance: sum.adapter.clone(),
                    number: if rate {
                        per_second(sum, last, seconds)
                    } else {
                        sum.sum as f64
                    },
                })
                .collect()
        }
        (Raw::Number(number), _) => vec![total(*number as f64)],
        _ => Vec::new(),
    })
}

impl Open {
    fn next(&mut self) -> Handle {
        self.last += 1;
        self.last
    }
}

impl Reading {
    fn take(counter: Counter) -> Self {
        let value = match counter {
            Counter::ProcessorTime => Raw::Times(readings::processor_times()),
            Counter::WorkingSet => Raw::Number(readings::working_set()),
            Counter::CommittedBytes => Raw::Number(readings::committed_bytes()),
            Counter::Adapter(kind) => Raw::Adapters(readings::adapters(kind)),
        };
        Self {
            at: Instant::now(),
            value,
        }
    }
}

fn busy_percent(before: ProcessorTimes, now: ProcessorTimes) -> f64 {
    let all = now.all.saturating_sub(before.all);
    let idle = now.idle.saturating_sub(before.idle).min(all);
    match all {
        0 => 0.0,
        _ => 100.0 * (all - idle) as f64 / all as f64,
    }
}

fn per_second(now: &AdapterSum, before: &[AdapterSum], seconds: f64) -> f64 {
    let last = before.iter().find(|last| last.adapter == now.adapter);
    match last {
        Some(last) if seconds > 0.0 => now.sum.saturating_sub(last.sum) as f64 / seconds,
        _ => 0.0,
    }
}

fn total(number: f64) -> Value {
    Value {
        instance: "_Total".encode_utf16().collect(),
        number,
    }
}

fn lock() -> MutexGuard<'static, Open> {
    OPEN.lock().unwrap_or_else(PoisonError::into_inner)
}
