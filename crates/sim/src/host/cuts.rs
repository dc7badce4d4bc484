//! Cuts a host's connections at chosen lines of the protocol between controllers and its
//! agent, so that a test can try each line.

use std::collections::VecDeque;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};

use super::{Inner, SimHost};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cut {
    /// Line number from 1, counted over both directions and all connections.
    pub line: u64,
    /// Whether that line is still delivered.
    pub arrives: bool,
}

/// Counts forwarded lines and holds the pending cuts.
#[derive(Default)]
pub(crate) struct CutSchedule(Mutex<CutState>);

#[derive(Default)]
struct CutState {
    lines: u64,
    cuts: VecDeque<Cut>,
    /// Incremented at each cut: connections of an older generation are dead.
    generation: u64,
}

enum CutOutcome {
    Forward,
    CutAfter,
    CutBefore,
    /// The connection was cut before.
    Disconnected,
}

impl CutSchedule {
    fn lock(&self) -> MutexGuard<'_, CutState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn close(&self) {
        self.lock().generation += 1;
    }

    pub(crate) fn generation(&self) -> u64 {
        self.lock().generation
    }

    pub(crate) fn lines(&self) -> u64 {
        self.lock().lines
    }

    fn next(&self, generation: u64) -> CutOutcome {
        let mut state = self.lock();
        if state.generation != generation {
            return CutOutcome::Disconnected;
        }
        state.lines += 1;
        let line = state.lines;
        match state.cuts.pop_front_if(|cut| cut.line <= line) {
            None => CutOutcome::Forward,
            Some(cut) if cut.arrives => CutOutcome::CutAfter,
            Some(_) => CutOutcome::CutBefore,
        }
    }
}

impl SimHost {
    /// Cuts every connection at these lines, which must be in ascending order. Restarts the
    /// line count.
    pub fn cut_at(&self, cuts: &[Cut]) {
        let mut state = self.inner.cuts.lock();
        state.lines = 0;
        state.cuts = cuts.iter().copied().collect();
    }

    #[must_use]
    pub fn cuts_left(&self) -> usize {
        self.inner.cuts.lock().cuts.len()
    }
}

/// Forwards lines until either side closes or the connection is cut; `arrived` resolves
/// once the last line is delivered.
pub(crate) async fn forward_lines(
    host: Arc<Inner>,
    generation: u64,
    from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    arrived: impl Future<Output = ()>,
) {
    let mut lines = BufReader::new(from);
    let mut line = Vec::new();
    while let Ok(1..) = lines.read_until(b'\n', &mut line).await {
        let outcome = host.cuts.next(generation);
        if let CutOutcome::Forward | CutOutcome::CutAfter = outcome
            && (to.write_all(&line).await.is_err() || to.flush().await.is_err())
        {
            return;
        }
        if let CutOutcome::Forward | CutOutcome::CutAfter = outcome {
            host.record_observation(&line);
        }
        match outcome {
            CutOutcome::Forward => line.clear(),
            CutOutcome::CutAfter => {
                arrived.await;
                return host.cut();
            }
            CutOutcome::CutBefore => return host.cut(),
            CutOutcome::Disconnected => return,
        }
    }
}
