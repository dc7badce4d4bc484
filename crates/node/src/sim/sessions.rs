//! Sessions of a simulated host: sshd puts what it starts for a session into a
//! job object, and when the session ends, all of that is killed. Services are
//! nobody's session.

use std::cell::Cell;
use std::sync::atomic::Ordering;

use super::{Killed, Sim};

thread_local! {
    /// How often sessions had been closed when this thread's one began; none for
    /// what belongs to no session.
    static BEGUN: Cell<Option<u64>> = const { Cell::new(None) };
}

impl Sim {
    /// Does something as a child of a session: it unwinds with [`Killed`] once the
    /// connection is gone.
    pub fn in_session<T>(&self, work: impl FnOnce() -> T) -> T {
        let before = BEGUN.replace(Some(self.closed.load(Ordering::SeqCst)));
        let done = work();
        BEGUN.set(before);
        done
    }

    /// Every connection is gone, and what was started through one goes too.
    pub fn close_sessions(&self) {
        self.closed.fetch_add(1, Ordering::SeqCst);
    }

    /// Ends the caller if its session was closed.
    pub fn outlive(&self) {
        let begun = BEGUN.get();
        if begun.is_some_and(|begun| begun != self.closed.load(Ordering::SeqCst)) {
            BEGUN.set(None);
            std::panic::resume_unwind(Box::new(Killed));
        }
    }
}
