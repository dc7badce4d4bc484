//! Cuts of a host's connections at chosen lines of what controllers and its agent say to
//! each other: a test can try every one of them.

use std::collections::VecDeque;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};

use super::{Inner, SimHost};

/// A cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cut {
    /// The line that it comes at: both directions and all connections are counted
    /// together, from 1.
    pub line: u64,
    /// Whether that line still arrives.
    pub arrives: bool,
}

/// The lines that have passed, and the cuts to come.
#[derive(Default)]
pub(crate) struct Scissors(Mutex<Passed>);

#[derive(Default)]
struct Passed {
    lines: u64,
    cuts: VecDeque<Cut>,
    /// How often the connections were cut: who spoke before says nothing more.
    connections: u64,
}

/// What becomes of a line.
enum Fate {
    Passes,
    CutAfter,
    CutBefore,
    /// Its connection is gone already.
    Gone,
}

impl Scissors {
    fn lock(&self) -> MutexGuard<'_, Passed> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The connections are cut now.
    pub(crate) fn close(&self) {
        self.lock().connections += 1;
    }

    /// The number of the connections that are there now.
    pub(crate) fn connections(&self) -> u64 {
        self.lock().connections
    }

    pub(crate) fn lines(&self) -> u64 {
        self.lock().lines
    }

    fn next(&self, connections: u64) -> Fate {
        let mut passed = self.lock();
        if passed.connections != connections {
            return Fate::Gone;
        }
        passed.lines += 1;
        let now = passed.lines;
        match passed.cuts.pop_front_if(|cut| cut.line <= now) {
            None => Fate::Passes,
            Some(cut) if cut.arrives => Fate::CutAfter,
            Some(_) => Fate::CutBefore,
        }
    }
}

impl SimHost {
    /// Cuts every connection at these lines, which are in order; lines are counted anew
    /// from here.
    pub fn cut_at(&self, cuts: &[Cut]) {
        let mut passed = self.inner.scissors.lock();
        passed.lines = 0;
        passed.cuts = cuts.iter().copied().collect();
    }

    /// How many cuts have not come yet.
    #[must_use]
    pub fn cuts_left(&self) -> usize {
        self.inner.scissors.lock().cuts.len()
    }
}

/// Passes lines on until one of both sides has gone, or the connection was cut;
/// `arrived` waits until the last one is there.
pub(crate) async fn pass(
    host: Arc<Inner>,
    connections: u64,
    from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    arrived: impl Future<Output = ()>,
) {
    let mut lines = BufReader::new(from);
    let mut line = Vec::new();
    while let Ok(1..) = lines.read_until(b'\n', &mut line).await {
        let fate = host.scissors.next(connections);
        if let Fate::Passes | Fate::CutAfter = fate
            && (to.write_all(&line).await.is_err() || to.flush().await.is_err())
        {
            return;
        }
        match fate {
            Fate::Passes => line.clear(),
            Fate::CutAfter => {
                arrived.await;
                return host.cut();
            }
            Fate::CutBefore => return host.cut(),
            Fate::Gone => return,
        }
    }
}
