//! The progress of a run: redrawn on a terminal, line by line elsewhere, and
//! written to the log file and the record of the run.

mod board;
mod record;
mod screen;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use casement_diag::Problem;
use casement_report::ObjectChange;
use casement_report::record::HostSummary;
use casement_resource::wire::{Event, EventKind, Outcome};
use casement_resource::{Failure, NodeDocument, ResourceId};
use casement_run::RunError;
use casement_run::apply::RunEvent;
use casement_run::blob_source::BlobProgress;
use clap::Args;

use board::{Row, State};
pub use record::{ClosedRecord, RunRecord, head};
use screen::Screen;

use crate::{clock, errors, log_file, output};

#[derive(Debug, Default, Args)]
pub struct ProgressArgs {
    /// Print every event, line by line
    #[arg(short, long)]
    verbose: bool,
    /// Also write all output and every event to this file, without secrets
    #[arg(long, value_name = "PATH")]
    log_file: Option<PathBuf>,
}

impl ProgressArgs {
    pub fn log_file(&self) -> Option<&Path> {
        self.log_file.as_deref()
    }
}

/// In order.
const STAGES: [&str; 3] = ["prepare", "join", "network"];
/// The only stage of a reset.
pub const REMOVE: &str = "remove";

/// Shows the progress of a run, and keeps what its summary needs.
#[derive(Clone)]
pub struct Progress {
    shared: Arc<Mutex<Shared>>,
}

struct Shared {
    started: Instant,
    hosts: Vec<HostProgress>,
    screen: Option<Screen>,
    verbose: bool,
    record: Option<RunRecord>,
    /// The last failure of each host; `RunError::Failed` does not contain it.
    failures: BTreeMap<String, StepFailure>,
}

struct HostProgress {
    row: Row,
    began: Option<Instant>,
    steps: u32,
    finished: u32,
    /// The steps of the current stage by their ids, which events carry.
    names: BTreeMap<ResourceId, String>,
    /// Why it failed or was stopped.
    error: Option<Problem>,
}

struct StepFailure {
    failure: Failure,
    stage: &'static str,
    step: String,
    number: u32,
    steps: u32,
}

impl Progress {
    pub fn begin(arguments: &ProgressArgs, hosts: &[&str], record: RunRecord) -> Self {
        let hosts = hosts.iter().map(|name| HostProgress {
            row: Row::waiting(name),
            began: None,
            steps: 0,
            finished: 0,
            names: BTreeMap::new(),
            error: None,
        });
        let shared = Arc::new(Mutex::new(Shared {
            started: Instant::now(),
            hosts: hosts.collect(),
            screen: Screen::find(arguments.verbose),
            verbose: arguments.verbose,
            record: Some(record),
            failures: BTreeMap::new(),
        }));
        if lock(&shared).screen.is_some() {
            screen::redraw_regularly(Arc::downgrade(&shared));
        }
        Self { shared }
    }

    pub fn on_run_event(&self, event: &RunEvent<'_>) {
        let mut shared = lock(&self.shared);
        match event {
            RunEvent::Step { host, stage, event } => shared.agent_event(host, stage.name(), event),
            RunEvent::Observed {
                host,
                document,
                observed,
            } => {
                shared.begin_stage(host, document);
                if let Some(record) = &mut shared.record {
                    record.planned(document, &observed.steps);
                }
            }
            RunEvent::BlobProgress { host, progress } => shared.blob_progress(host, progress),
            RunEvent::Waiting { host, reason } => shared.note(host, reason, true),
            RunEvent::Finished { host, stage, .. } => shared.end_stage(host, stage.name()),
            RunEvent::Ready { host } => {
                shared.note(host, "Ready", true);
                shared.update(host, |host| host.finish("Ready"));
            }
            RunEvent::Ended { host, result } => shared.host_ended(host, result.as_ref().copied()),
        }
        shared.redraw();
    }

    /// For the record.
    pub fn planned_cluster(&self, changes: Vec<ObjectChange>) {
        if let Some(record) = &mut lock(&self.shared).record {
            record.planned_cluster(changes);
        }
    }

    /// An event of a run that has only one stage.
    pub fn on_agent_event(&self, host: &str, stage: &'static str, event: &Event) {
        let mut shared = lock(&self.shared);
        shared.agent_event(host, stage, event);
        shared.redraw();
    }

    pub fn waiting(&self, host: &str, reason: &str) {
        let mut shared = lock(&self.shared);
        shared.note(host, reason, true);
        shared.redraw();
    }

    /// A line that belongs to no host.
    pub fn line(&self, text: &str) {
        let mut shared = lock(&self.shared);
        shared.print(text, true);
    }

    /// A message above the drawn lines.
    pub fn announce(&self, text: &str) {
        let text = &output::encode(text);
        let mut shared = lock(&self.shared);
        match &mut shared.screen {
            Some(screen) => screen.print_above(text),
            None => eprintln!("{text}"),
        }
        log_file::write(text);
        shared.redraw();
    }

    /// A host has finished: how many steps changed, or why it failed.
    pub fn host_ended(&self, host: &str, result: Result<u32, &RunError>) {
        let mut shared = lock(&self.shared);
        shared.host_ended(host, result);
        shared.redraw();
    }

    pub fn elapsed(&self, host: &str) -> Option<Duration> {
        lock(&self.shared).elapsed(host)
    }

    /// Closes the screen; the lines that were drawn last stay.
    pub fn finish(&self) {
        let mut shared = lock(&self.shared);
        shared.redraw();
        shared.screen = None;
    }

    /// Closes the record if it is open. An immediate exit waits for this lock.
    pub fn close(&self, outcome: Outcome, hosts: Vec<HostSummary>) -> Option<ClosedRecord> {
        let mut shared = lock(&self.shared);
        let record = shared.record.take();
        record.map(|record| record.close(outcome, hosts))
    }

    /// Ends the run for the same reason on all hosts that have not finished.
    pub fn abandon(&self, outcome: Outcome, reason: &Problem) -> Option<ClosedRecord> {
        self.finish();
        let hosts = {
            let shared = lock(&self.shared);
            let hosts = shared.hosts.iter().map(|host| HostSummary {
                name: host.row.name.clone(),
                error: match host.row.state {
                    State::Done => None,
                    _ => Some(host.error.as_ref().unwrap_or(reason).clone()),
                },
                seconds: Some(clock::seconds(host.row.elapsed)),
                ..HostSummary::default()
            });
            hosts.collect()
        };
        self.close(outcome, hosts)
    }

    /// Why a host failed: the failed step where one is known.
    pub fn problem(&self, host: &str, error: &RunError) -> Problem {
        lock(&self.shared).problem(host, error)
    }

    /// Reports why a host failed, with the failed step where one is known.
    pub fn report_failure(&self, host: &str, error: &RunError) {
        let (heading, problem) = {
            let shared = lock(&self.shared);
            let heading = match (error, shared.failures.get(host)) {
                (RunError::Failed { .. }, Some(failed)) => failed.heading(host),
                _ => format!("{host} failed"),
            };
            (heading, shared.problem(host, error))
        };
        output::report(&format!("\n{heading}\n"), &problem);
    }
}

impl StepFailure {
    fn heading(&self, host: &str) -> String {
        let Self {
            stage,
            step,
            number,
            steps,
            ..
        } = self;
        format!("{host} failed in stage \"{stage}\", step {number} of {steps}: {step}")
    }
}

impl HostProgress {
    fn finish(&mut self, text: &str) {
        self.row.state = State::Done;
        self.row.text = text.to_owned();
        self.row.fraction = 1.0;
    }

    /// The step's name for users; its id if an older agent did not send the name.
    fn name(&self, id: &ResourceId) -> String {
        self.names
            .get(id)
            .cloned()
            .unwrap_or_else(|| id.to_string())
    }

    /// A removal has no document; its events have the names.
    fn learn_name(&mut self, kind: &EventKind) {
        let (EventKind::StepBegan { id, name, .. } | EventKind::StepSkipped { id, name, .. }) =
            kind
        else {
            return;
        };
        if !name.is_empty() {
            self.names.insert(id.clone(), name.clone());
        }
    }

    fn advance(&mut self) {
        self.reach(f64::from(self.finished.min(self.steps)) / f64::from(self.steps.max(1)));
    }

    /// Sets the finished fraction of the current stage; the bar never moves back.
    fn reach(&mut self, done: f64) {
        let index = STAGES.iter().position(|stage| *stage == self.row.stage);
        let (index, stages) = index.map_or((0, 1), |index| (index, STAGES.len()));
        #[expect(clippy::cast_precision_loss, reason = "three stages")]
        let fraction = (index as f64 + done) / stages as f64;
        self.row.fraction = self.row.fraction.max(fraction);
    }

    fn agent_event(&mut self, stage: &'static str, kind: &EventKind) {
        self.learn_name(kind);
        self.row.state = State::Running;
        self.row.stage = stage;
        match kind {
            EventKind::Began { steps, .. } => (self.steps, self.finished) = (*steps, 0),
            EventKind::StepBegan { id, disruptive, .. } => {
                let suffix = if *disruptive {
                    " (the connection may drop)"
                } else {
                    ""
                };
                self.row.text = format!("{}{suffix}", self.name(id));
            }
            EventKind::StepChanged { .. }
            | EventKind::StepInSync { .. }
            | EventKind::StepFailed { .. }
            | EventKind::StepSkipped { .. }
            | EventKind::StepRemoved { .. } => self.finished += 1,
            _ => {}
        }
        self.advance();
    }

    /// The event as a line, and whether it is printed without `-v`.
    fn describe(&self, kind: &EventKind) -> (Option<String>, bool) {
        let (text, always) = match kind {
            EventKind::Began { steps, .. } => (output::count(*steps as usize, "step"), false),
            EventKind::Resumed => ("the agent restarted and resumes the run".to_owned(), true),
            EventKind::StepBegan { id, .. } if self.row.stage == REMOVE => {
                (format!("removing {}", self.name(id)), false)
            }
            EventKind::StepBegan { id, .. } => (format!("applying {}", self.name(id)), false),
            EventKind::StepChanged { id, .. } => (format!("{} changed", self.name(id)), true),
            EventKind::StepInSync { id, reason } => {
                (format!("{} in sync: {reason}", self.name(id)), false)
            }
            EventKind::StepFailed { id, failure } => (
                format!("{} failed: {}", self.name(id), failure.message),
                true,
            ),
            EventKind::StepSkipped { id, because, .. } => {
                let (name, because) = (self.name(id), self.name(because));
                (format!("{name} skipped: {because} failed"), true)
            }
            EventKind::StepRemoved { thing, .. } => (format!("{thing} removed"), true),
            EventKind::Verified { things, left } => {
                let checked = output::count(*things as usize, "removed object");
                let left = left.len();
                (
                    format!("checked {checked} again, {left} still present"),
                    false,
                )
            }
            EventKind::NeedSecret { id, .. } => {
                (format!("{} requests a secret", self.name(id)), false)
            }
            EventKind::Finished { .. } => return (None, false),
        };
        (Some(text), always)
    }
}

impl Shared {
    fn elapsed(&self, host: &str) -> Option<Duration> {
        self.host(host).map(|host| host.row.elapsed)
    }

    fn host(&self, name: &str) -> Option<&HostProgress> {
        self.hosts.iter().find(|host| host.row.name == name)
    }

    fn update(&mut self, host: &str, change: impl FnOnce(&mut HostProgress)) {
        let host = self.hosts.iter_mut().find(|each| each.row.name == host);
        if let Some(host) = host {
            change(host);
            if host.row.state != State::Waiting {
                let began = *host.began.get_or_insert_with(Instant::now);
                host.row.elapsed = began.elapsed();
            }
        }
    }

    fn host_ended(&mut self, host: &str, result: Result<u32, &RunError>) {
        let removes = self.host(host).is_some_and(|it| it.row.stage == REMOVE);
        let (state, text) = match result {
            Ok(0) if !removes => (State::Done, "in sync".to_owned()),
            Ok(count) if removes => (State::Done, format!("{count} removed")),
            Ok(count) => (State::Done, format!("{count} changed")),
            Err(RunError::Canceled { .. }) => (State::Canceled, "stopped".to_owned()),
            Err(error) => (State::Failed, self.reason(host, error)),
        };
        let error = result.err().map(|error| self.problem(host, error));
        self.update(host, |host| {
            host.names.clear();
            host.error = error;
            match state {
                State::Done => host.finish(&text),
                _ => {
                    text.clone_into(&mut host.row.text);
                    host.row.state = state;
                }
            }
        });
        let elapsed = clock::duration(self.elapsed(host).unwrap_or_default());
        self.print(&format!("{host}: {text} (after {elapsed})"), true);
    }

    fn begin_stage(&mut self, host: &str, document: &NodeDocument) {
        self.update(host, |host| {
            let steps = document.steps().iter();
            let names = steps.map(|step| (step.id.clone(), step.resource.identity()));
            host.names = names.collect();
            host.row.state = State::Running;
            host.row.stage = document.stage().name();
            host.row.text = String::new();
            (host.steps, host.finished) = (0, 0);
            host.advance();
        });
    }

    fn end_stage(&mut self, host: &str, stage: &'static str) {
        self.update(host, |host| {
            host.row.stage = stage;
            (host.steps, host.finished) = (1, 1);
            host.advance();
        });
    }

    /// Where files are transferred, that is most of a stage's work.
    fn blob_progress(&mut self, host: &str, progress: &BlobProgress<'_>) {
        const STAGE_FRACTION: f64 = 0.7;
        match *progress {
            BlobProgress::Progress { done, size, pulled } => {
                let verb = if pulled { "pulling" } else { "uploading" };
                let text = format!("{verb} files, {} of {} MB", done >> 20, size >> 20);
                self.note(host, &text, done >= size && !pulled);
                #[expect(clippy::cast_precision_loss, reason = "a fraction of a bar")]
                let fraction = done as f64 / size.max(1) as f64;
                self.update(host, |host| host.reach(STAGE_FRACTION * fraction));
            }
            BlobProgress::PullFailed { names, failure } => {
                let text = format!("{host}: {}", pull_failed(names, failure));
                if let Some(screen) = &mut self.screen {
                    screen.print_above(&text);
                }
                self.print(&text, true);
            }
            BlobProgress::Delivered { pulled: 0, .. } => {}
            BlobProgress::Delivered { pulled, sent } => {
                let (pulled, sent) = (output::bytes(pulled), output::bytes(sent));
                let text = format!("pulled {pulled} from the mirror, uploaded {sent}");
                self.note(host, &text, true);
            }
        }
    }

    fn note(&mut self, host: &str, text: &str, always: bool) {
        let mut repeated = false;
        self.update(host, |host| {
            repeated = host.row.text == text;
            host.row.state = State::Running;
            text.clone_into(&mut host.row.text);
        });
        // Many chunks of a file round to the same megabyte.
        if always || !repeated {
            self.print(&format!("{host}: {text}"), always);
        }
    }

    fn agent_event(&mut self, name: &str, stage: &'static str, event: &Event) {
        if let Some(record) = &mut self.record {
            record.event(name, stage, event);
        }
        self.update(name, |host| host.agent_event(stage, &event.kind));
        let Some(host) = self.host(name) else { return };
        let (text, always) = host.describe(&event.kind);
        if let EventKind::StepFailed { id, failure } = &event.kind {
            let failed = StepFailure {
                failure: failure.clone(),
                stage,
                step: host.name(id),
                number: host.finished,
                steps: host.steps,
            };
            self.failures.insert(name.to_owned(), failed);
        }
        if let Some(text) = text {
            self.print(&format!("{name}: {text}"), always);
        }
    }

    /// Prints a line where no screen is drawn; the log file gets every line.
    fn print(&mut self, text: &str, always: bool) {
        let line = format!("{} {}", clock::now(), output::encode(text));
        log_file::write(&line);
        if self.screen.is_none() && (always || self.verbose) {
            eprintln!("{line}");
        }
    }

    fn reason(&self, host: &str, error: &RunError) -> String {
        match (error, self.failures.get(host)) {
            (RunError::Failed { .. }, Some(failed)) => failed.failure.message.clone(),
            _ => error.to_string(),
        }
    }

    fn problem(&self, host: &str, error: &RunError) -> Problem {
        match (error, self.failures.get(host)) {
            (RunError::Failed { .. }, Some(failed)) => errors::step(host, &failed.failure),
            _ => errors::problem(error),
        }
    }

    fn redraw(&mut self) {
        if self.screen.is_none() {
            return;
        }
        for host in &mut self.hosts {
            if let (State::Running, Some(began)) = (&host.row.state, host.began) {
                host.row.elapsed = began.elapsed();
            }
        }
        let rows: Vec<Row> = self.hosts.iter().map(|host| host.row.clone()).collect();
        let elapsed = self.started.elapsed();
        if let Some(screen) = &mut self.screen {
            screen.draw(|canvas| board::lines(&rows, elapsed, canvas));
        }
    }
}

/// Why files are uploaded although the mirror has them, with both values where known.
fn pull_failed(names: &[&str], failure: &Failure) -> String {
    let names = names.join(", ");
    let mut text = format!(
        "{names}: pull failed, uploading instead: {}",
        failure.message
    );
    if let Some(found) = &failure.found {
        text += &format!(": {found}");
    }
    if let Some(expected) = &failure.expected {
        text += &format!("; expected {expected}");
    }
    text + &format!(" [{}]", failure.code)
}

fn lock(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
