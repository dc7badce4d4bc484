//! What a run leaves behind for whoever asks later what happened:
//! `.casement/runs/<time>/` with `plan.json`, `events.jsonl`, `summary.json`.
//!
//! The first two are written as things come to be known, so that a run that is killed
//! leaves them; the third when the run ends, whichever way it does.
//!
//! No secret is ever in there: documents and events name them only.

use std::fs::{self, File};
use std::io::{self, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::time::Instant;

use casement_resource::wire::{Event, ObservedStep};
use serde_json::{Value, json};

use crate::{clock, output, whole_file};

/// What ends a plan that has something in it.
const END: &str = "\n]\n";

/// The folder of one run. That something cannot be written there never stops the
/// run; it is said at the end.
#[derive(Debug)]
pub struct RunRecord {
    folder: PathBuf,
    verb: &'static str,
    began: String,
    started: Instant,
    plan: Option<File>,
    events: Option<File>,
    trouble: Option<String>,
}

impl RunRecord {
    /// Begins the record of a run; none where it cannot be kept, which is said.
    pub fn begin(verb: &'static str, run: &str) -> Option<Self> {
        let began = clock::stamp();
        let folder = Path::new(".casement/runs").join(format!("{began}-{run}"));
        // What a reader needs of a run that leaves no summary.
        let head = json!({"casement": env!("CARGO_PKG_VERSION"), "verb": verb, "began": began});
        let made = fs::create_dir_all(&folder).and_then(|()| {
            let mut plan = File::create(folder.join("plan.json"))?;
            plan.write_all(format!("[\n{head}{END}").as_bytes())?;
            Ok((plan, File::create(folder.join("events.jsonl"))?))
        });
        match made {
            Ok((plan, events)) => Some(Self {
                folder,
                verb,
                began,
                started: Instant::now(),
                plan: Some(plan),
                events: Some(events),
                trouble: None,
            }),
            Err(error) => {
                let folder = folder.display();
                output::say(&format!("no record of this run is kept: {folder}: {error}"));
                None
            }
        }
    }

    /// What a document would change on a host.
    pub fn planned(&mut self, host: &str, part: &str, steps: &[ObservedStep]) {
        self.plan(&json!({"host": host, "part": part, "steps": steps}));
    }

    /// What changes in the cluster.
    pub fn planned_cluster(&mut self, objects: &[String]) {
        self.plan(&json!({"cluster": objects}));
    }

    fn plan(&mut self, entry: &Value) {
        if let Some(plan) = &mut self.plan
            && let Err(error) = append(plan, entry)
        {
            self.trouble = Some(error.to_string());
            self.plan = None;
        }
    }

    /// One event of a host.
    pub fn event(&mut self, host: &str, part: &str, event: &Event) {
        let line = json!({"host": host, "part": part, "event": event});
        // In one go: a value that is formatted into a file goes there word by word.
        let line = format!("{line}\n");
        if let Some(events) = &mut self.events
            && let Err(error) = events.write_all(line.as_bytes())
        {
            self.trouble = Some(error.to_string());
            self.events = None;
        }
    }

    /// Closes the record; says where it is.
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
        let place = self.folder.join("summary.json");
        if let Err(error) = whole_file::replace(&place, text.as_bytes()) {
            self.trouble = Some(error.to_string());
        }
        if let Some(trouble) = &self.trouble {
            let folder = self.folder.display();
            output::say(&format!(
                "the record of this run is not whole: {folder}: {trouble}"
            ));
        }
        self.folder
    }
}

/// One more entry, in place of the end: what is there is JSON after each of them.
fn append(plan: &mut File, entry: &Value) -> io::Result<()> {
    let end = i64::try_from(END.len()).unwrap_or_default();
    plan.seek(SeekFrom::End(-end))?;
    plan.write_all(format!(",\n{entry}{END}").as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_is_whole_after_each_entry() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("plan.json");
        let mut plan = File::create(&place).unwrap();
        plan.write_all(format!("[\n{{}}{END}").as_bytes()).unwrap();
        for count in 1..4_usize {
            let text = fs::read_to_string(&place).unwrap();
            let entries: Vec<Value> = serde_json::from_str(&text).unwrap();
            assert_eq!(entries.len(), count, "{text}");
            append(&mut plan, &json!({"host": "win1"})).unwrap();
        }
    }
}
