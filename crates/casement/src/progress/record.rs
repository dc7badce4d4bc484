//! What a run leaves behind for whoever asks later what happened:
//! `.casement/runs/<time>/` with `plan.json`, `events.jsonl`, `summary.json`.
//!
//! No secret is ever in there: documents and events name them only.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use casement_resource::wire::{Event, ObservedStep};
use serde_json::{Value, json};

use crate::clock;

/// The folder of one run. That something cannot be written there never stops the
/// run; it is said at the end.
#[derive(Debug)]
pub struct RunRecord {
    folder: PathBuf,
    verb: &'static str,
    began: String,
    started: Instant,
    plan: Vec<Value>,
    events: Option<File>,
    trouble: Option<String>,
}

impl RunRecord {
    /// Begins the record of a run; none where it cannot be kept, which is said.
    pub fn begin(verb: &'static str, run: &str) -> Option<Self> {
        let began = clock::stamp();
        let folder = Path::new(".casement/runs").join(format!("{began}-{run}"));
        let made = fs::create_dir_all(&folder).and_then(|()| {
            let events = folder.join("events.jsonl");
            File::create(events)
        });
        match made {
            Ok(events) => Some(Self {
                folder,
                verb,
                began,
                started: Instant::now(),
                plan: Vec::new(),
                events: Some(events),
                trouble: None,
            }),
            Err(error) => {
                eprintln!(
                    "no record of this run is kept: {}: {error}",
                    folder.display()
                );
                None
            }
        }
    }

    /// What a document would change on a host.
    pub fn planned(&mut self, host: &str, part: &str, steps: &[ObservedStep]) {
        self.plan
            .push(json!({"host": host, "part": part, "steps": steps}));
    }

    /// What changes in the cluster.
    pub fn planned_cluster(&mut self, objects: &[String]) {
        self.plan.push(json!({"cluster": objects}));
    }

    /// One event of a host.
    pub fn event(&mut self, host: &str, part: &str, event: &Event) {
        let line = json!({"host": host, "part": part, "event": event});
        if let Some(events) = &mut self.events
            && let Err(error) = writeln!(events, "{line}")
        {
            self.trouble = Some(error.to_string());
            self.events = None;
        }
    }

    /// Closes the record; says where it is.
    pub fn close(mut self, outcome: &str, hosts: &[Value]) -> PathBuf {
        let plan = Value::Array(std::mem::take(&mut self.plan));
        let summary = json!({
            "casement": env!("CARGO_PKG_VERSION"),
            "verb": self.verb,
            "began": self.began,
            "seconds": self.started.elapsed().as_secs_f64(),
            "outcome": outcome,
            "hosts": hosts,
        });
        for (name, value) in [("plan.json", &plan), ("summary.json", &summary)] {
            if let Err(error) = fs::write(self.folder.join(name), format!("{value:#}\n")) {
                self.trouble = Some(error.to_string());
            }
        }
        if let Some(trouble) = &self.trouble {
            eprintln!(
                "the record of this run is not whole: {}: {trouble}",
                self.folder.display()
            );
        }
        self.folder
    }
}
