//! A command that is at work: what it says meanwhile, and Ctrl-C.

use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use casement_node::sim::Faults;
use casement_sim::SimHost;
use tokio::io::{AsyncBufReadExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStderr};

/// After which something does not come: as long as a slow machine may take.
const LONGEST: Duration = Duration::from_secs(60);

/// What comes in time.
pub async fn within<F: Future>(what: &str, comes: F) -> F::Output {
    match tokio::time::timeout(LONGEST, comes).await {
        Ok(came) => came,
        Err(_) => panic!("{what}: not for {} s", LONGEST.as_secs()),
    }
}

/// Ended with this, if it has not by itself.
pub struct AtWork {
    child: Child,
    lines: Lines<BufReader<ChildStderr>>,
    said: String,
}

impl AtWork {
    pub fn begin(mut command: Command) -> Self {
        command.stdin(Stdio::null());
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        let mut command = tokio::process::Command::from(command);
        let mut child = command.kill_on_drop(true).spawn().unwrap();
        let lines = BufReader::new(child.stderr.take().unwrap()).lines();
        Self {
            child,
            lines,
            said: String::new(),
        }
    }

    /// Waits until it says something.
    pub async fn says(&mut self, words: &str) {
        while !self.said.contains(words) {
            let line = within(words, self.lines.next_line()).await.unwrap();
            let said = &mut self.said;
            let line = line.unwrap_or_else(|| panic!("`{words}` is not in: {said}"));
            *said += &format!("{line}\n");
        }
    }

    /// Ctrl-C.
    pub fn interrupt(&self) {
        let pid = self.child.id().unwrap().to_string();
        let sent = Command::new("kill").args(["-INT", &pid]).status();
        assert!(sent.unwrap().success());
    }

    /// Its exit code, and all that it said.
    pub async fn ends(mut self) -> (Option<i32>, String) {
        let ended = async {
            while let Some(line) = self.lines.next_line().await.unwrap() {
                self.said += &format!("{line}\n");
            }
            self.child.wait().await.unwrap()
        };
        let ended = tokio::time::timeout(LONGEST, ended).await;
        let Ok(status) = ended else {
            panic!("it does not end. It said: {}", self.said);
        };
        (status.code(), self.said)
    }

    /// Ends it from outside.
    pub async fn kill(mut self) {
        self.child.kill().await.unwrap();
    }
}

/// Holds a host up in the middle of its changes. Whoever comes to it anew waits too.
pub struct Gate(Arc<State>);

#[derive(Default)]
struct State {
    open: AtomicBool,
    holds: AtomicBool,
}

impl Gate {
    /// After so many changes, counted from now.
    pub fn close(host: &SimHost, changes: u64) -> Self {
        host.sim().set_faults(Faults::default());
        let gate = Self(Arc::default());
        let state = Arc::clone(&gate.0);
        host.sim().on_moment(move |sim| {
            while sim.changes() >= changes && !state.open.load(Ordering::SeqCst) {
                state.holds.store(true, Ordering::SeqCst);
                thread::sleep(Duration::from_millis(5));
            }
        });
        gate
    }

    /// Whether it holds the host now.
    pub fn holds(&self) -> bool {
        self.0.holds.load(Ordering::SeqCst)
    }

    pub fn open(&self) {
        self.0.open.store(true, Ordering::SeqCst);
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        self.open();
    }
}
