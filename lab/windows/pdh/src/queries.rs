//! Open queries, their counters, and the last two samples of each counter.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::counter::Counter;
use crate::samples::{self, AdapterTotal, ProcessorTimes};

/// `PDH_HQUERY` and `PDH_HCOUNTER`.
pub type Handle = usize;

/// The value of one instance.
#[derive(Debug, Clone, PartialEq)]
pub struct Value {
    /// UTF-16, without a NUL.
    pub instance: Vec<u16>,
    pub number: f64,
}

struct Registry {
    last_handle: Handle,
    queries: BTreeMap<Handle, Vec<Handle>>,
    counters: BTreeMap<Handle, OpenCounter>,
}

struct OpenCounter {
    counter: Counter,
    previous: Option<Sample>,
    current: Option<Sample>,
}

#[derive(Clone)]
struct Sample {
    at: Instant,
    value: RawValue,
}

#[derive(Clone)]
enum RawValue {
    Times(ProcessorTimes),
    Number(u64),
    Adapters(Vec<AdapterTotal>),
}

static REGISTRY: Mutex<Registry> = Mutex::new(Registry {
    last_handle: 0,
    queries: BTreeMap::new(),
    counters: BTreeMap::new(),
});

pub fn open() -> Handle {
    let mut registry = lock();
    let handle = registry.next_handle();
    registry.queries.insert(handle, Vec::new());
    handle
}

/// `None` for an unknown handle, as in the functions below.
pub fn close(query: Handle) -> Option<()> {
    let mut registry = lock();
    for counter in registry.queries.remove(&query)? {
        registry.counters.remove(&counter);
    }
    Some(())
}

pub fn add(query: Handle, counter: Counter) -> Option<Handle> {
    let mut registry = lock();
    let handle = registry.next_handle();
    registry.queries.get_mut(&query)?.push(handle);
    let counter = OpenCounter {
        counter,
        previous: None,
        current: None,
    };
    registry.counters.insert(handle, counter);
    Some(handle)
}

/// Samples all counters of a query.
pub fn collect(query: Handle) -> Option<()> {
    let mut registry = lock();
    for handle in registry.queries.get(&query)?.clone() {
        if let Some(open) = registry.counters.get_mut(&handle) {
            open.previous = open.current.take();
            open.current = Some(Sample::take(open.counter));
        }
    }
    Some(())
}

/// Computed from the last two samples.
pub fn values(counter: Handle) -> Option<Vec<Value>> {
    let registry = lock();
    let open = registry.counters.get(&counter)?;
    let Some(current) = &open.current else {
        return Some(Vec::new());
    };
    let previous = open.previous.as_ref().unwrap_or(current);
    Some(match (&current.value, &previous.value) {
        (RawValue::Times(current), RawValue::Times(previous)) => {
            vec![total(busy_percent(*previous, *current))]
        }
        (RawValue::Adapters(totals), RawValue::Adapters(previous_totals)) => {
            let seconds = (current.at - previous.at).as_secs_f64();
            let is_rate = matches!(open.counter, Counter::Adapter(kind) if kind.is_rate());
            totals
                .iter()
                .map(|adapter| Value {
                    instance: adapter.adapter.clone(),
                    number: if is_rate {
                        per_second(adapter, previous_totals, seconds)
                    } else {
                        adapter.total as f64
                    },
                })
                .collect()
        }
        (RawValue::Number(number), _) => vec![total(*number as f64)],
        _ => Vec::new(),
    })
}

impl Registry {
    fn next_handle(&mut self) -> Handle {
        self.last_handle += 1;
        self.last_handle
    }
}

impl Sample {
    fn take(counter: Counter) -> Self {
        let value = match counter {
            Counter::ProcessorTime => RawValue::Times(samples::processor_times()),
            Counter::WorkingSet => RawValue::Number(samples::working_set()),
            Counter::CommittedBytes => RawValue::Number(samples::committed_bytes()),
            Counter::Adapter(kind) => RawValue::Adapters(samples::adapters(kind)),
        };
        Self {
            at: Instant::now(),
            value,
        }
    }
}

fn busy_percent(previous: ProcessorTimes, current: ProcessorTimes) -> f64 {
    let total = current.total.saturating_sub(previous.total);
    let idle = current.idle.saturating_sub(previous.idle).min(total);
    match total {
        0 => 0.0,
        _ => 100.0 * (total - idle) as f64 / total as f64,
    }
}

fn per_second(current: &AdapterTotal, previous: &[AdapterTotal], seconds: f64) -> f64 {
    let previous = previous
        .iter()
        .find(|previous| previous.adapter == current.adapter);
    match previous {
        Some(previous) if seconds > 0.0 => {
            current.total.saturating_sub(previous.total) as f64 / seconds
        }
        _ => 0.0,
    }
}

fn total(number: f64) -> Value {
    Value {
        instance: "_Total".encode_utf16().collect(),
        number,
    }
}

fn lock() -> MutexGuard<'static, Registry> {
    REGISTRY.lock().unwrap_or_else(PoisonError::into_inner)
}
