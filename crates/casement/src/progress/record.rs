//! Writes the record of a run to `.casement/runs/<time>/`, see [`casement_report::record`].
//!
//! Plan and events are appended as the run proceeds, so that they survive a kill. Secrets
//! are not recorded: documents and events only name them.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Instant;

use casement_report::record::{
    self, EventEntry, Head, HostSummary, PlanEntry, RECORD_VERSION, Summary,
};
use casement_report::{ObjectChange, Run, RunBuilder, Step};
use casement_resource::NodeDocument;
use casement_resource::wire::{Event, ObservedStep, Outcome};

use crate::{atomic_file, clock, output};

/// The start of a record.
pub fn head(verb: &str) -> Head {
    Head {
        record_version: RECORD_VERSION,
        casement: env!("CARGO_PKG_VERSION").to_owned(),
        verb: verb.to_owned(),
        began: clock::stamp(),
    }
}

/// The record of one run. A write error does not stop the run; it is reported at the end.
#[derive(Debug)]
pub struct RunRecord {
    head: Head,
    started: Instant,
    /// None if the directory could not be created, which was reported.
    files: Option<Files>,
    /// The run as a value, if it is printed at the end.
    collected: Option<RunBuilder>,
}

#[derive(Debug)]
struct Files {
    dir: PathBuf,
    plan: Lines,
    events: Lines,
}

/// A file that is not written to any more after a write has failed.
#[derive(Debug)]
struct Lines {
    file: File,
    write_error: Option<String>,
}

/// A record that is complete.
pub struct ClosedRecord {
    /// Its directory, if it could be created.
    pub dir: Option<PathBuf>,
    /// None unless it was collected.
    pub run: Option<Run>,
}

impl RunRecord {
    /// `collect`: keep the run in memory as well, for [`ClosedRecord::run`].
    pub fn begin(verb: &str, run: &str, collect: bool) -> Self {
        let head = head(verb);
        let dir = Path::new(".casement/runs").join(format!("{}-{run}", head.began));
        let files = Files::create(&dir, &head);
        if let Err(error) = &files {
            let dir = dir.display();
            output::message(&format!(
                "warning: this run is not recorded: failed to create {dir}: {error}"
            ));
        }
        Self {
            head,
            started: Instant::now(),
            files: files.ok(),
            collected: collect.then(RunBuilder::default),
        }
    }

    pub fn planned(&mut self, document: &NodeDocument, observed: &[ObservedStep]) {
        let steps = document.steps().iter().zip(observed);
        let steps = steps.map(|(step, observed)| {
            let identity = step.resource.identity();
            Step::observed(&observed.id, &identity, &observed.result)
        });
        self.plan(&PlanEntry::Stage {
            host: document.host().to_owned(),
            stage: document.stage().name().to_owned(),
            steps: steps.collect(),
        });
    }

    pub fn planned_cluster(&mut self, changes: Vec<ObjectChange>) {
        self.plan(&PlanEntry::Cluster { changes });
    }

    fn plan(&mut self, entry: &PlanEntry) {
        if let Some(collected) = &mut self.collected {
            collected.plan(entry);
        }
        if let Some(files) = &mut self.files {
            files.plan.append(&record::line(entry));
        }
    }

    pub fn event(&mut self, host: &str, stage: &str, event: &Event) {
        let entry = EventEntry {
            host: host.to_owned(),
            stage: stage.to_owned(),
            event: event.clone(),
        };
        if let Some(collected) = &mut self.collected {
            collected.event(&entry);
        }
        if let Some(files) = &mut self.files {
            files.events.append(&record::line(&entry));
        }
    }

    /// Writes the summary.
    pub fn close(self, outcome: Outcome, hosts: Vec<HostSummary>) -> ClosedRecord {
        let write_error = self.files.as_ref().and_then(Files::write_error);
        let summary = Summary {
            head: self.head,
            seconds: clock::seconds(self.started.elapsed()),
            outcome,
            hosts,
            write_error,
        };
        let collected = self.collected;
        ClosedRecord {
            dir: self.files.map(|files| files.close(&summary)),
            run: collected.map(|collected| collected.finish(None, Some(&summary))),
        }
    }
}

impl Files {
    fn create(dir: &Path, head: &Head) -> io::Result<Self> {
        fs::create_dir_all(dir)?;
        let mut plan = File::create(dir.join(record::PLAN))?;
        plan.write_all(record::line(head).as_bytes())?;
        Ok(Self {
            dir: dir.to_owned(),
            plan: Lines::new(plan),
            events: Lines::new(File::create(dir.join(record::EVENTS))?),
        })
    }

    fn write_error(&self) -> Option<String> {
        let errors = [&self.plan.write_error, &self.events.write_error];
        errors.into_iter().flatten().next().cloned()
    }

    fn close(self, summary: &Summary) -> PathBuf {
        let path = self.dir.join(record::SUMMARY);
        let written = atomic_file::replace(&path, record::summary(summary).as_bytes());
        let error = written.err().map(|error| error.to_string());
        if let Some(error) = error.or(self.write_error()) {
            let dir = self.dir.display();
            output::message(&format!(
                "warning: the record of this run in {dir} is incomplete: {error}"
            ));
        }
        self.dir
    }
}

impl Lines {
    fn new(file: File) -> Self {
        Self {
            file,
            write_error: None,
        }
    }

    /// One write: formatting into a file directly would make many small ones.
    fn append(&mut self, line: &str) {
        if self.write_error.is_none()
            && let Err(error) = self.file.write_all(line.as_bytes())
        {
            self.write_error = Some(error.to_string());
        }
    }
}

#[cfg(test)]
mod tests {
    use casement_report::record::Record;

    use super::*;

    #[test]
    fn record_is_readable_after_each_entry() {
        let dir = tempfile::tempdir().unwrap();
        let mut files = Files::create(dir.path(), &head("apply")).unwrap();
        for count in 0..3_usize {
            let read = |name: &str| fs::read(dir.path().join(name)).unwrap();
            let (plan, events) = (read(record::PLAN), read(record::EVENTS));
            let record = Record::parse(&plan, &events, None).unwrap();
            assert_eq!(record.head.unwrap().verb, "apply");
            assert_eq!(record.plan.len(), count);
            let changes = Vec::new();
            files
                .plan
                .append(&record::line(&PlanEntry::Cluster { changes }));
        }
    }
}
