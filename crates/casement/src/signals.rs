//! Ctrl-C, the first and the second, from the beginning of a verb to its end.

use std::io::IsTerminal as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use casement_run::stop::{Stop, StopSwitch};
#[cfg(unix)]
use tokio::signal::unix::{Signal as Presses, SignalKind, signal};
#[cfg(windows)]
use tokio::signal::windows::{CtrlC as Presses, ctrl_c};
use tokio::task::AbortHandle;

use crate::failure::CommandError;
use crate::progress::Progress;
use crate::{clock, output};

/// The exit code of who was interrupted.
pub const INTERRUPTED: u8 = 130;

static ELSEWHERE: AtomicBool = AtomicBool::new(false);

/// The verbs of this process do not heed it: whoever shows them does.
#[cfg(unix)]
pub fn leave_to_another() {
    ELSEWHERE.store(true, Ordering::SeqCst);
}

/// Heeds Ctrl-C for one verb, until it is dropped.
pub struct Heed {
    verb: &'static str,
    started: Instant,
    stop: Stop,
    work: Arc<Mutex<Option<Progress>>>,
    /// Where nobody can press it, nobody listens.
    listens: Option<AbortHandle>,
}

/// Every Ctrl-C from now on, also one that comes while nobody waits for it.
fn presses() -> std::io::Result<Presses> {
    #[cfg(unix)]
    return signal(SignalKind::interrupt());
    #[cfg(windows)]
    return ctrl_c();
}

/// Begins to heed it. As long as nothing is changed, Ctrl-C ends this program at once,
/// whatever it waits for: a host, a download, an answer to a question.
pub fn heed(verb: &'static str) -> Heed {
    let (switch, stop) = StopSwitch::new();
    let work = Arc::new(Mutex::new(None));
    let presses = presses().ok().filter(|_| !ELSEWHERE.load(Ordering::SeqCst));
    let listens = presses.map(|presses| {
        let listens = listen(verb, presses, switch, Arc::clone(&work));
        tokio::spawn(listens).abort_handle()
    });
    Heed {
        verb,
        started: Instant::now(),
        stop,
        work,
        listens,
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

    /// Says that somebody has stopped it, and how it goes on.
    pub fn stopped(&self) -> CommandError {
        let (took, verb) = (clock::duration(self.elapsed()), self.verb);
        output::say(&format!(
            "Stopped after {took}; `casement {verb}` goes on from there."
        ));
        CommandError::told(INTERRUPTED)
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
        if let Some(listens) = &self.listens {
            listens.abort();
        }
    }
}

async fn listen(
    verb: &'static str,
    mut presses: Presses,
    switch: StopSwitch,
    work: Arc<Mutex<Option<Progress>>>,
) {
    if presses.recv().await.is_none() {
        return;
    }
    let progress = begun(verb, &work);
    switch.stop();
    progress.announce(&format!(
        "Stopping after the current step … (Ctrl-C again to leave at once)\n\
         `casement {verb}` goes on from here."
    ));
    if presses.recv().await.is_some() {
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
