//! Sessions of a simulated host: like sshd, which puts the processes of a session into a
//! job object and kills them when the session ends. Services belong to no session.

use std::cell::Cell;
use std::sync::atomic::Ordering;

use super::{Killed, Sim};

thread_local! {
    /// The count of closed sessions when this thread's session started; `None` outside
    /// of a session.
    static SESSION: Cell<Option<u64>> = const { Cell::new(None) };
}

impl Sim {
    /// Runs `work` as a child of a session: it unwinds with [`Killed`] once the
    /// connection is lost.
    pub fn in_session<T>(&self, work: impl FnOnce() -> T) -> T {
        let before = SESSION.replace(Some(self.closed.load(Ordering::SeqCst)));
        let done = work();
        SESSION.set(before);
        done
    }

    /// Whether the calling thread belongs to a session, as the channel of a controller does.
    /// The service's runs do not.
    #[must_use]
    pub fn is_in_session(&self) -> bool {
        SESSION.get().is_some()
    }

    /// Kills everything that was started through a session.
    pub fn close_sessions(&self) {
        self.closed.fetch_add(1, Ordering::SeqCst);
    }

    /// Kills the caller if its session was closed.
    pub fn check_session(&self) {
        let session = SESSION.get();
        if session.is_some_and(|session| session != self.closed.load(Ordering::SeqCst)) {
            SESSION.set(None);
            std::panic::resume_unwind(Box::new(Killed));
        }
    }
}
