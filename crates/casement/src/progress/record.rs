//! The record of a run: `.casement/runs/<time>/` with `plan.json`, `events.jsonl` and
//! `summary.json`.
//!
//! The first two are written as the run proceeds, so that they survive a kill; the third
//! when the run ends. Secrets are not recorded: documents and events only name them.

use std::fs::{self, File};
use std::io::{self, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::time::Instant;

use casement_resource::wire::{Event, ObservedStep};
use serde_json::{Value, json};

use crate::{atomic_file, clock, output};

/// The end of a plan that is not empty.
const END: &str = "\n]\n";

/// The directory of one run. A write error does not stop the run; it is reported at the end.
#[derive(Debug)]
pub struct RunRecord {
    dir: PathBuf,
    verb: &'static str,
    began: String,
    started: Instant,
    plan: Option<File>,
    events: Option<File>,
    write_error: Option<String>,
}

impl RunRecord {
    /// None if the record cannot be written, which is reported.
    pub fn begin(verb: &'static str, run: &str) -> Option<Self> {
        let began = clock::stamp();
        let dir = Path::new(".casement/runs").join(format!("{began}-{run}"));
        // For readers of a run that was killed before its summary.
        let head = json!({"casement": env!("CARGO_PKG_VERSION"), "verb": verb, "began": began});
        let created = fs::create_dir_all(&dir).and_then(|()| {
            let mut plan = File::create(dir.join("plan.json"))?;
            plan.write_all(format!("[\n{head}{END}").as_bytes())?;
            Ok((plan, File::create(dir.join("events.jsonl"))?))
        });
        match created {
            Ok((plan, events)) => Some(Self {
                dir,
                verb,
                began,
                started: Instant::now(),
                plan: Some(plan),
                events: Some(events),
                write_error: None,
            }),
            Err(error) => {
                let dir = dir.display();
                output::message(&format!(
                    "warning: this run is not recorded: failed to create {dir}: {error}"
                ));
                None
            }
        }
    }

    pub fn planned(&mut self, host: &str, part: &str, steps: &[ObservedStep]) {
        self.plan(&json!({"host": host, "part": part, "steps": steps}));
    }

    pub fn planned_cluster(&mut self, objects: &[String]) {
        self.plan(&json!({"cluster": objects}));
    }

    fn plan(&mut self, entry: &Value) {
        if let Some(plan) = &mut self.plan
            && let Err(error) = append(plan, entry)
        {
            self.write_error = Some(error.to_string());
            self.plan = None;
        }
    }

    pub fn event(&mut self, host: &str, part: &str, event: &Event) {
        let line = json!({"host": host, "part": part, "event": event});
        // One write: formatting into a file directly would make many small ones.
        let line = format!("{line}\n");
        if let Some(events) = &mut self.events
            && let Err(error) = events.write_all(line.as_bytes())
        {
            self.write_error = Some(error.to_string());
            self.events = None;
        }
    }

    /// Writes the summary; returns the directory.
    pub fn close(mut self, outcome: &str, hosts: &[Value]) -> PathBuf {
        let summary = json!({
            "casement": env!("CARGO_PKG_VERSION"),
            "verb": self.verb,
            "began": self.began,
            "seconds": self.started.elapsed().as_secs_f64(),
            "outcome": outcome,
            "hosts": hosts,
        });
        let text = format!("{summary:#}\n");
        let path = self.dir.join("summary.json");
        if let Err(error) = atomic_file::replace(&path, text.as_bytes()) {
            self.write_error = Some(error.to_string());
        }
        if let Some(error) = &self.write_error {
            let dir = self.dir.display();
            output::message(&format!(
                "warning: the record of this run in {dir} is incomplete: {error}"
            ));
        }
        self.dir
    }
}

/// Overwrites the end, so that the file is valid JSON after each entry.
fn append(plan: &mut File, entry: &Value) -> io::Result<()> {
    let end = i64::try_from(END.len()).unwrap_or_default();
    plan.seek(SeekFrom::End(-end))?;
    plan.write_all(format!(",\n{entry}{END}").as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plan_is_valid_json_after_each_entry() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("plan.json");
        let mut plan = File::create(&path).unwrap();
        plan.write_all(format!("[\n{{}}{END}").as_bytes()).unwrap();
        for count in 1..4_usize {
            let text = fs::read_to_string(&path).unwrap();
            let entries: Vec<Value> = serde_json::from_str(&text).unwrap();
            assert_eq!(entries.len(), count, "{text}");
            append(&mut plan, &json!({"host": "win1"})).unwrap();
        }
    }
}
