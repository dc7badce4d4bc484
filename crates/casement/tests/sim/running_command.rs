//! A command that is still running: its output so far, and Ctrl-C.

use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use casement_node::sim::Faults;
use casement_sim::SimHost;
use tokio::io::{AsyncBufReadExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStderr};

/// Generous, for slow CI machines.
const TIMEOUT: Duration = Duration::from_secs(60);

pub async fn with_timeout<F: Future>(what: &str, future: F) -> F::Output {
    match tokio::time::timeout(TIMEOUT, future).await {
        Ok(output) => output,
        Err(_) => panic!("timed out after {} s: {what}", TIMEOUT.as_secs()),
    }
}

/// Sends SIGINT, as Ctrl-C does.
pub fn interrupt(pid: u32) {
    let pid = rustix::process::Pid::from_raw(pid.try_into().unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
}

/// Killed on drop.
pub struct RunningCommand {
    child: Child,
    lines: Lines<BufReader<ChildStderr>>,
    printed: String,
}

impl RunningCommand {
    pub fn start(command: Command) -> Self {
        Self::start_with_stdout(command, Stdio::null())
    }

    pub fn start_with_stdout(mut command: Command, stdout: Stdio) -> Self {
        command.stdin(Stdio::null());
        command.stdout(stdout).stderr(Stdio::piped());
        let mut command = tokio::process::Command::from(command);
        let mut child = command.kill_on_drop(true).spawn().unwrap();
        let lines = BufReader::new(child.stderr.take().unwrap()).lines();
        Self {
            child,
            lines,
            printed: String::new(),
        }
    }

    pub async fn wait_for(&mut self, expected: &str) {
        while !self.printed.contains(expected) {
            let line = with_timeout(expected, self.lines.next_line())
                .await
                .unwrap();
            let printed = &mut self.printed;
            let line = line.unwrap_or_else(|| panic!("`{expected}` is not in: {printed}"));
            *printed += &format!("{line}\n");
        }
    }

    /// Sends SIGINT, as Ctrl-C does.
    pub fn interrupt(&self) {
        interrupt(self.child.id().unwrap());
    }

    /// Returns the exit code and stderr.
    pub async fn wait(mut self) -> (Option<i32>, String) {
        let exit = async {
            while let Some(line) = self.lines.next_line().await.unwrap() {
                self.printed += &format!("{line}\n");
            }
            self.child.wait().await.unwrap()
        };
        let exit = tokio::time::timeout(TIMEOUT, exit).await;
        let Ok(status) = exit else {
            panic!(
                "timed out waiting for the command to exit. Output: {}",
                self.printed
            );
        };
        (status.code(), self.printed)
    }

    pub async fn kill(mut self) {
        self.child.kill().await.unwrap();
    }
}

/// Blocks the run of a host in the middle of its changes. Connections are still served: a
/// controller that reconnects, for example after a reboot, gets the events so far.
pub struct Barrier(Arc<State>);

#[derive(Default)]
struct State {
    open: AtomicBool,
    blocking: AtomicBool,
}

impl Barrier {
    /// Blocks after this many changes, counted from now.
    pub fn after_changes(host: &SimHost, changes: u64) -> Self {
        host.sim().set_faults(Faults::default());
        let barrier = Self(Arc::default());
        let state = Arc::clone(&barrier.0);
        host.sim().on_kill_point(move |sim| {
            if sim.is_in_session() {
                return;
            }
            while sim.changes() >= changes && !state.open.load(Ordering::SeqCst) {
                state.blocking.store(true, Ordering::SeqCst);
                thread::sleep(Duration::from_millis(5));
            }
        });
        barrier
    }

    pub fn is_blocking(&self) -> bool {
        self.0.blocking.load(Ordering::SeqCst)
    }

    pub fn open(&self) {
        self.0.open.store(true, Ordering::SeqCst);
    }
}

impl Drop for Barrier {
    fn drop(&mut self) {
        self.open();
    }
}
