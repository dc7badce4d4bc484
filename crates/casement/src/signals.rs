//! Ctrl-C, the first and the second, from the beginning of a verb to its end.

use std::io::IsTerminal as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use casement_run::stop::{Stop, StopSwitch};
use tokio::signal::ctrl_c;
use tokio::task::AbortHandle;

use crate::output;
use crate::progress::Progress;

/// The exit code of who was interrupted.
pub const INTERRUPTED: u8 = 130;

/// Heeds Ctrl-C for one verb, until it is dropped.
pub struct Heed {
    verb: &'static str,
    started: Instant,
    stop: Stop,
    work: Arc<Mutex<Option<Progress>>>,
    listens: AbortHandle,
}

/// Begins to heed it. As long as nothing is changed, Ctrl-C ends this program at once,
/// whatever it waits for: a host, a download, an answer to a question.
pub fn heed(verb: &'static str) -> Heed {
    let (switch, stop) = StopSwitch::new();
    let work = Arc::new(Mutex::new(None));
    let listens = tokio::spawn(listen(verb, switch, Arc::clone(&work)));
    Heed {
        verb,
        started: Instant::now(),
        stop,
        work,
        listens: listens.abort_handle(),
    }
}

impl Heed {
    /// From now on something is changed: the first Ctrl-C lets the hosts finish what
    /// they are at, and ends every wait; the second ends this program at once. Hosts
    /// come to no harm either way.
    pub fn working(&self, progress: &Progress) -> Stop {
        *lock(&self.work) = Some(progress.clone());
        self.stop.clone()
    }

    /// The verb that goes on where this one was stopped.
    pub fn verb(&self) -> &'static str {
        self.verb
    }

    /// How long it has taken so far.
    pub fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }
}

impl Drop for Heed {
    fn drop(&mut self) {
        self.listens.abort();
    }
}

async fn listen(verb: &'static str, switch: StopSwitch, work: Arc<Mutex<Option<Progress>>>) {
    // Where nobody can press it, nobody will.
    if ctrl_c().await.is_err() {
        return;
    }
    let progress = begun(verb, &work);
    progress.announce(&format!(
        "Stopping after the current step … (Ctrl-C again to leave at once)\n\
         `casement {verb}` goes on from here."
    ));
    switch.stop();
    if ctrl_c().await.is_ok() {
        progress.give_up("stopped", "left at once");
        leave();
    }
}

/// What is at work. If nothing is, this is the end; nothing can begin meanwhile.
fn begun(verb: &str, work: &Mutex<Option<Progress>>) -> Progress {
    let work = lock(work);
    if let Some(progress) = &*work {
        return progress.clone();
    }
    // The line may be one that a person was typing in.
    let start = match std::io::stderr().is_terminal() {
        true => "\n",
        false => "",
    };
    output::say(&format!(
        "{start}Stopped before anything was changed; `casement {verb}` begins anew."
    ));
    leave()
}

fn leave() -> ! {
    std::process::exit(i32::from(INTERRUPTED))
}

fn lock(work: &Mutex<Option<Progress>>) -> MutexGuard<'_, Option<Progress>> {
    work.lock().unwrap_or_else(PoisonError::into_inner)
}
