//! The shim's log, a file on the host.
//!
//! containerd would read the log from a named pipe, but the pipe server of the
//! crate `containerd-shim` busy-waits under Wine and uses half a processor per
//! pod. containerd works without it.

use std::fs::File;
use std::io::Write;
use std::sync::{Mutex, PoisonError};

use containerd_shim::util::timestamp;
use log::{LevelFilter, Log, Metadata, Record};

/// Shared by all shims; each line is written with a single call.
const PATH: &str = r"C:\ProgramData\containerd\shim.log";

struct Logger {
    id: String,
    file: Mutex<File>,
}

/// Installs the logger. The shim runs without a log if the file cannot be opened.
pub fn init(id: &str) {
    let Ok(file) = File::options().create(true).append(true).open(PATH) else {
        return;
    };
    let logger = Logger {
        id: id.chars().take(12).collect(),
        file: Mutex::new(file),
    };
    if log::set_boxed_logger(Box::new(logger)).is_ok() {
        log::set_max_level(LevelFilter::Info);
    }
}

impl Log for Logger {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("containerd_shim_runhcs")
    }

    fn log(&self, record: &Record<'_>) {
        if !self.enabled(record.metadata()) {
            return;
        }
        let now = timestamp().unwrap_or_default();
        let line = format!(
            "{}.{:03} {} {} {}\n",
            now.seconds,
            now.nanos / 1_000_000,
            self.id,
            record.level(),
            record.args()
        );
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = file.write_all(line.as_bytes());
    }

    fn flush(&self) {}
}
