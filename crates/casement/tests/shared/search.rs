//! The search for secrets where they must not be.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Files below a folder that hold a text, by their path in it.
pub fn files_with(folder: &Path, secret: &str) -> Vec<String> {
    let mut found = Command::new("grep");
    found.args([
        "--recursive",
        "--files-with-matches",
        "--fixed-strings",
        "--text",
    ]);
    found
        .args(["--devices=skip", "--directories=recurse", "--", secret])
        .arg(folder);
    let output = found.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let paths = text.lines().map(PathBuf::from);
    let inside = paths.map(|path| path.strip_prefix(folder).unwrap().display().to_string());
    inside.collect()
}

/// The arguments of all processes of the machine, as long as they are watched.
pub struct Arguments {
    over: Arc<AtomicBool>,
    seen: JoinHandle<BTreeSet<String>>,
}

impl Arguments {
    pub fn watch() -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let ends = Arc::clone(&over);
        let seen = thread::spawn(move || {
            let mut seen = BTreeSet::new();
            while !ends.load(Ordering::SeqCst) {
                for entry in fs::read_dir("/proc").unwrap().flatten() {
                    let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
                    seen.insert(String::from_utf8_lossy(&line).into_owned());
                }
                thread::sleep(Duration::from_millis(20));
            }
            seen
        });
        Self { over, seen }
    }

    /// All that were seen.
    pub fn end(self) -> BTreeSet<String> {
        self.over.store(true, Ordering::SeqCst);
        self.seen.join().unwrap()
    }
}
