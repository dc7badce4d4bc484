//! A running `apply`, its output and its run record; and hosts that wait at a named point.

use std::fs::{self, File};
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use casement_sim::{Console, SimHost};

use crate::kill_point::{self, KillPoint};

const SIGKILL: i32 = 9;

/// Killed on drop.
pub struct Controller {
    process: Child,
    folder: PathBuf,
}

impl Controller {
    /// `folder` is that of the cluster file, in which `command` runs.
    pub fn start(mut command: Command, folder: PathBuf) -> Self {
        let stderr = File::create(folder.join("stderr")).unwrap();
        command.stdout(Stdio::null()).stderr(stderr);
        let process = command.spawn().unwrap();
        Self { process, folder }
    }

    pub fn stderr(&self) -> String {
        fs::read_to_string(self.folder.join("stderr")).unwrap()
    }

    /// `None` until it has begun.
    pub fn record(&self) -> Option<PathBuf> {
        kill_point::run_record(&self.folder, self.process.id())
    }

    /// Whether the record has these events, and none after them.
    pub fn has_reached(&self, points: &[KillPoint]) -> bool {
        let Some(record) = self.record() else {
            return false;
        };
        let mut points = points.iter();
        points.all(|it| kill_point::recorded_events(&record, &it.host, it.stage) == it.event)
    }

    /// Kills the controller, which must still be running.
    pub fn kill(&mut self) {
        self.process.kill().unwrap();
        let ended = self.process.wait().unwrap();
        assert_eq!(ended.signal(), Some(SIGKILL), "{}", self.stderr());
    }
}

impl Drop for Controller {
    fn drop(&mut self) {
        // Still running only if the test failed.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Blocks the run of a host after an event, before it changes or reads anything more.
/// Connections are still served. Opened on drop.
pub struct EventBarrier {
    open: Arc<AtomicBool>,
    blocking: Arc<AtomicBool>,
}

impl EventBarrier {
    pub fn after(point: &KillPoint, host: &SimHost) -> Self {
        let barrier = Self {
            open: Arc::default(),
            blocking: Arc::default(),
        };
        let (open, blocking) = (Arc::clone(&barrier.open), Arc::clone(&barrier.blocking));
        let (console, point) = (host.console(), point.clone());
        host.sim().on_kill_point(move |sim| {
            if sim.is_in_session() || open.load(Ordering::SeqCst) {
                return;
            }
            if journal_lines(&console, point.stage) < point.event {
                return;
            }
            blocking.store(true, Ordering::SeqCst);
            while !open.load(Ordering::SeqCst) {
                thread::sleep(Duration::from_millis(5));
            }
        });
        barrier
    }

    pub fn is_blocking(&self) -> bool {
        self.blocking.load(Ordering::SeqCst)
    }
}

/// The number of events that a host has written for a stage. Lines, without a check of each,
/// because barriers count them often.
pub fn journal_lines(host: &Console, stage: &str) -> u64 {
    let suffix = format!("-{stage}.jsonl");
    let files = fs::read_dir(host.layout().root().join("journal"));
    let mut files = files.into_iter().flatten().flatten();
    let file = files.find(|file| file.file_name().to_string_lossy().ends_with(&suffix));
    let bytes = file.and_then(|file| fs::read(file.path()).ok());
    let lines = bytes.unwrap_or_default();
    lines.iter().map(|byte| u64::from(*byte == b'\n')).sum()
}

impl Drop for EventBarrier {
    fn drop(&mut self) {
        self.open.store(true, Ordering::SeqCst);
    }
}
