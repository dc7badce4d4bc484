//! Ctrl-C: the first press cancels the run, the second exits immediately.

use std::io::IsTerminal as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use casement_diag::Problem;
use casement_resource::wire::Outcome;
use casement_run::cancel::{CancelSource, CancelToken};
#[cfg(unix)]
use tokio::signal::unix::{Signal as Interrupts, SignalKind, signal};
#[cfg(windows)]
use tokio::signal::windows::{CtrlC as Interrupts, ctrl_c};
use tokio::task::AbortHandle;

use crate::failure::CommandError;
use crate::progress::Progress;
use crate::{clock, output};

/// 128 + SIGINT.
pub const INTERRUPTED: u8 = 130;

static DISABLED: AtomicBool = AtomicBool::new(false);

/// Leaves Ctrl-C to the caller, for all verbs of this process.
#[cfg(unix)]
pub fn disable() {
    DISABLED.store(true, Ordering::SeqCst);
}

/// Handles Ctrl-C for one verb, until it is dropped.
pub struct InterruptWatch {
    verb: &'static str,
    started: Instant,
    cancel: CancelToken,
    /// Set while changes are made.
    progress: Arc<Mutex<Option<Progress>>>,
    /// None where Ctrl-C cannot be handled or is left to the caller.
    listener: Option<AbortHandle>,
}

/// Receives every Ctrl-C from now on, including those between two calls of `recv`.
fn interrupts() -> std::io::Result<Interrupts> {
    #[cfg(unix)]
    return signal(SignalKind::interrupt());
    #[cfg(windows)]
    return ctrl_c();
}

/// Starts to handle Ctrl-C. Until `begin_changes`, it exits the process immediately,
/// whatever that waits for: a host, a download, an answer to a prompt.
pub fn watch(verb: &'static str) -> InterruptWatch {
    let (source, cancel) = CancelSource::new();
    let progress = Arc::new(Mutex::new(None));
    let interrupts = interrupts()
        .ok()
        .filter(|_| !DISABLED.load(Ordering::SeqCst));
    let listener = interrupts.map(|interrupts| {
        let listener = listen(verb, interrupts, source, Arc::clone(&progress));
        tokio::spawn(listener).abort_handle()
    });
    InterruptWatch {
        verb,
        started: Instant::now(),
        cancel,
        progress,
        listener,
    }
}

impl InterruptWatch {
    /// From now on the first Ctrl-C lets hosts finish their current step and ends every
    /// wait; the second exits the process immediately. Both are safe for the hosts.
    pub fn begin_changes(&self, progress: &Progress) -> CancelToken {
        *lock(&self.progress) = Some(progress.clone());
        self.cancel.clone()
    }

    /// Reports that the run was canceled, and how to resume it.
    pub fn stopped(&self) -> CommandError {
        let (elapsed, verb) = (clock::duration(self.elapsed()), self.verb);
        output::message(&format!(
            "Stopped after {elapsed}. Run `casement {verb}` to resume."
        ));
        CommandError::reported(INTERRUPTED)
    }

    /// The verb that resumes the run.
    pub fn verb(&self) -> &'static str {
        self.verb
    }

    pub fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }
}

impl Drop for InterruptWatch {
    fn drop(&mut self) {
        if let Some(listener) = &self.listener {
            listener.abort();
        }
    }
}

async fn listen(
    verb: &'static str,
    mut interrupts: Interrupts,
    source: CancelSource,
    progress: Arc<Mutex<Option<Progress>>>,
) {
    if interrupts.recv().await.is_none() {
        return;
    }
    let progress = progress_or_exit(verb, &progress);
    source.cancel();
    progress.announce(&format!(
        "Stopping after the current step … (press again to exit now).\n\
         Run `casement {verb}` to resume."
    ));
    if interrupts.recv().await.is_some() {
        let what = "exited before the host finished";
        let reason = Problem::new("CAS-RUN-001", what, "run the command again to resume");
        progress.abandon(Outcome::Stopped, &reason);
        exit();
    }
}

/// Exits if no changes have begun; the lock keeps them from beginning meanwhile.
fn progress_or_exit(verb: &str, progress: &Mutex<Option<Progress>>) -> Progress {
    let progress = lock(progress);
    if let Some(progress) = &*progress {
        return progress.clone();
    }
    // The cursor may be behind a prompt.
    let start = match std::io::stderr().is_terminal() {
        true => "\n",
        false => "",
    };
    output::message(&format!(
        "{start}Stopped before any changes were made. Run `casement {verb}` to start again."
    ));
    exit()
}

fn exit() -> ! {
    std::process::exit(i32::from(INTERRUPTED))
}

fn lock(progress: &Mutex<Option<Progress>>) -> MutexGuard<'_, Option<Progress>> {
    progress.lock().unwrap_or_else(PoisonError::into_inner)
}
