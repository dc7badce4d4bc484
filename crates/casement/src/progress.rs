//! What happens in a run, for people: a picture on a terminal, lines elsewhere;
//! and all of it into the log file and the run's record.

mod board;
mod record;
mod screen;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use casement_diag::Problem;
use casement_resource::Failure;
use casement_resource::wire::{Event, What};
use casement_run::RunError;
use casement_run::apply::Happening;
use casement_run::source::Bringing;
use clap::Args;
use serde_json::{Value, json};

use board::{Row, State};
pub use record::RunRecord;
use screen::Screen;

use crate::{clock, log_file, output, told};

/// How much is shown, and where else it goes.
#[derive(Debug, Default, Args)]
pub struct ProgressArgs {
    /// Show every event, line by line
    #[arg(short, long)]
    verbose: bool,
    /// Also write everything into this file, every event too, without secrets
    #[arg(long, value_name = "PATH")]
    log_file: Option<PathBuf>,
}

impl ProgressArgs {
    /// Where else everything goes.
    pub fn log_file(&self) -> Option<&Path> {
        self.log_file.as_deref()
    }
}

/// The parts of a run, in their order.
const PARTS: [&str; 3] = ["prepare", "join", "network"];
/// The one part of a reset.
pub const REMOVE: &str = "remove";

/// Shows a run; remembers what is needed at its end.
#[derive(Clone)]
pub struct Progress {
    shared: Arc<Mutex<Shared>>,
}

struct Shared {
    started: Instant,
    hosts: Vec<Tracked>,
    screen: Option<Screen>,
    verbose: bool,
    record: Option<RunRecord>,
    /// The last failure of each host says more than the run's word that it failed.
    failures: BTreeMap<String, Failure>,
}

struct Tracked {
    row: Row,
    began: Option<Instant>,
    steps: u32,
    passed: u32,
}

impl Progress {
    /// Begins to show; `record` gets every event.
    pub fn begin(arguments: &ProgressArgs, hosts: &[&str], record: Option<RunRecord>) -> Self {
        let hosts = hosts.iter().map(|name| Tracked {
            row: Row::waiting(name),
            began: None,
            steps: 0,
            passed: 0,
        });
        let shared = Arc::new(Mutex::new(Shared {
            started: Instant::now(),
            hosts: hosts.collect(),
            screen: Screen::find(arguments.verbose),
            verbose: arguments.verbose,
            record,
            failures: BTreeMap::new(),
        }));
        if lock(&shared).screen.is_some() {
            screen::keep_fresh(Arc::downgrade(&shared));
        }
        Self { shared }
    }

    /// Something happened in an apply.
    pub fn hear(&self, happening: &Happening<'_>) {
        let mut shared = lock(&self.shared);
        match happening {
            Happening::Step { host, stage, event } => shared.event(host, stage.name(), event),
            Happening::Seen {
                host,
                stage,
                observed,
            } => {
                shared.begin_part(host, stage.name());
                if let Some(record) = &mut shared.record {
                    record.planned(host, stage.name(), &observed.steps);
                }
            }
            Happening::Bringing { host, how } => shared.bringing(host, how),
            Happening::Waiting { host, reason } => shared.note(host, reason, true),
            Happening::Finished { host, stage, .. } => shared.end_part(host, stage.name()),
            Happening::Ready { host } => {
                shared.note(host, "Ready", true);
                shared.update(host, |tracked| tracked.finish("Ready"));
            }
            Happening::Ended { host, result } => shared.ended(host, result.as_ref().copied()),
        }
        shared.redraw();
    }

    /// An event of a run that has only one part.
    pub fn event(&self, host: &str, part: &'static str, event: &Event) {
        let mut shared = lock(&self.shared);
        shared.event(host, part, event);
        shared.redraw();
    }

    /// A host waits.
    pub fn waiting(&self, host: &str, reason: &str) {
        let mut shared = lock(&self.shared);
        shared.note(host, reason, true);
        shared.redraw();
    }

    /// Something that belongs to no host.
    pub fn line(&self, text: &str) {
        let mut shared = lock(&self.shared);
        shared.say(text, true);
    }

    /// A word to the person, above the picture.
    pub fn announce(&self, text: &str) {
        let mut shared = lock(&self.shared);
        match &mut shared.screen {
            Some(screen) => screen.above(text),
            None => eprintln!("{text}"),
        }
        log_file::write(text);
        shared.redraw();
    }

    /// A host's part is over: how many things changed, or that it failed.
    pub fn ended(&self, host: &str, result: Result<u32, &RunError>) {
        let mut shared = lock(&self.shared);
        shared.ended(host, result);
        shared.redraw();
    }

    /// How long a host's part took, or has taken so far.
    pub fn took(&self, host: &str) -> Option<Duration> {
        lock(&self.shared).took(host)
    }

    /// Ends the picture; what it showed last stays on the screen.
    pub fn finish(&self) {
        let mut shared = lock(&self.shared);
        shared.redraw();
        shared.screen = None;
    }

    /// Closes the record, where there is one that is open, and says where it is. Who
    /// leaves at once waits for that.
    pub fn close(&self, outcome: &str, hosts: &[Value]) -> Option<PathBuf> {
        let mut shared = lock(&self.shared);
        let record = shared.record.take();
        record.map(|record| record.close(outcome, hosts))
    }

    /// The whole run ends here, for the same reason for all hosts that are not through.
    pub fn give_up(&self, outcome: &str, why: &str) {
        self.finish();
        let hosts = {
            let shared = lock(&self.shared);
            let hosts = shared.hosts.iter();
            let hosts = hosts.map(|each| match each.row.state {
                State::Done => json!({"name": each.row.name}),
                State::Failed => json!({"name": each.row.name, "error": each.row.text}),
                _ => json!({"name": each.row.name, "error": why}),
            });
            hosts.collect::<Vec<_>>()
        };
        self.close(outcome, &hosts);
    }

    /// Why a host's part did not end well.
    pub fn problem(&self, host: &str, error: &RunError) -> Problem {
        let shared = lock(&self.shared);
        match (error, shared.failures.get(host)) {
            (RunError::Failed { .. }, Some(failure)) => told::step(host, failure),
            _ => told::problem(error),
        }
    }
}

impl Tracked {
    fn finish(&mut self, text: &str) {
        self.row.state = State::Done;
        self.row.text = text.to_owned();
        self.row.share = 1.0;
    }

    fn advance(&mut self) {
        self.reach(f64::from(self.passed.min(self.steps)) / f64::from(self.steps.max(1)));
    }

    /// So much of the present part is done; the bar never goes back.
    fn reach(&mut self, done: f64) {
        let place = PARTS.iter().position(|part| *part == self.row.part);
        let (place, parts) = place.map_or((0, 1), |place| (place, PARTS.len()));
        #[expect(clippy::cast_precision_loss, reason = "three parts")]
        let share = (place as f64 + done) / parts as f64;
        self.row.share = self.row.share.max(share);
    }

    fn take(&mut self, part: &'static str, what: &What) {
        self.row.state = State::Working;
        self.row.part = part;
        match what {
            What::Began { steps, .. } => (self.steps, self.passed) = (*steps, 0),
            What::StepBegan { id, disruptive, .. } => {
                let cut = if *disruptive {
                    " (the connection may drop)"
                } else {
                    ""
                };
                self.row.text = format!("{id}{cut}");
            }
            What::StepChanged { .. }
            | What::StepRight { .. }
            | What::StepFailed { .. }
            | What::StepSkipped { .. }
            | What::StepRemoved { .. } => self.passed += 1,
            _ => {}
        }
        self.advance();
    }
}

impl Shared {
    fn took(&self, host: &str) -> Option<Duration> {
        let tracked = self.hosts.iter().find(|each| each.row.name == host);
        tracked.map(|tracked| tracked.row.elapsed)
    }

    fn update(&mut self, host: &str, change: impl FnOnce(&mut Tracked)) {
        let tracked = self.hosts.iter_mut().find(|each| each.row.name == host);
        if let Some(tracked) = tracked {
            change(tracked);
            if tracked.row.state != State::Waiting {
                let began = *tracked.began.get_or_insert_with(Instant::now);
                tracked.row.elapsed = began.elapsed();
            }
        }
    }

    fn ended(&mut self, host: &str, result: Result<u32, &RunError>) {
        let (state, text) = match result {
            Ok(0) => (State::Done, "as it should be".to_owned()),
            Ok(changed) => (State::Done, format!("{changed} changed")),
            Err(RunError::Stopped { .. }) => (State::Stopped, "stopped".to_owned()),
            Err(error) => (State::Failed, self.why(host, error)),
        };
        self.update(host, |tracked| match state {
            State::Done => tracked.finish(&text),
            _ => {
                text.clone_into(&mut tracked.row.text);
                tracked.row.state = state;
            }
        });
        let took = clock::duration(self.took(host).unwrap_or_default());
        self.say(&format!("{host}: {text} (after {took})"), true);
    }

    fn begin_part(&mut self, host: &str, part: &'static str) {
        self.update(host, |tracked| {
            tracked.row.state = State::Working;
            tracked.row.part = part;
            tracked.row.text = String::new();
            (tracked.steps, tracked.passed) = (0, 0);
            tracked.advance();
        });
    }

    fn end_part(&mut self, host: &str, part: &'static str) {
        self.update(host, |tracked| {
            tracked.row.part = part;
            (tracked.steps, tracked.passed) = (1, 1);
            tracked.advance();
        });
    }

    /// Files are most of a part's work where there are any.
    fn bringing(&mut self, host: &str, how: &Bringing<'_>) {
        const MOST: f64 = 0.7;
        match *how {
            Bringing::Progress { done, size, pulled } => {
                let verb = if pulled { "pulls" } else { "brings" };
                let text = format!("{verb} files, {} of {} MB", done >> 20, size >> 20);
                self.note(host, &text, done >= size && !pulled);
                #[expect(clippy::cast_precision_loss, reason = "a share of a bar")]
                let share = done as f64 / size.max(1) as f64;
                self.update(host, |tracked| tracked.reach(MOST * share));
            }
            Bringing::NotPulled { names, why } => {
                let text = format!("{host}: {}", not_pulled(names, why));
                if let Some(screen) = &mut self.screen {
                    screen.above(&text);
                }
                self.say(&text, true);
            }
            Bringing::Brought { pulled: 0, .. } => {}
            Bringing::Brought { pulled, sent } => {
                let (pulled, sent) = (output::amount(pulled), output::amount(sent));
                let text = format!("pulled {pulled} from the mirror, {sent} were sent");
                self.note(host, &text, true);
            }
        }
    }

    fn note(&mut self, host: &str, text: &str, matters: bool) {
        let mut again = false;
        self.update(host, |tracked| {
            again = tracked.row.text == text;
            tracked.row.state = State::Working;
            text.clone_into(&mut tracked.row.text);
        });
        // Many parts of a file are one megabyte.
        if matters || !again {
            self.say(&format!("{host}: {text}"), matters);
        }
    }

    fn event(&mut self, host: &str, part: &'static str, event: &Event) {
        if let Some(record) = &mut self.record {
            record.event(host, part, event);
        }
        self.update(host, |tracked| tracked.take(part, &event.what));
        let (text, matters) = words(&event.what);
        if let What::StepFailed { failure, .. } = &event.what {
            self.failures.insert(host.to_owned(), failure.clone());
        }
        if let Some(text) = text {
            self.say(&format!("{host}: {text}"), matters);
        }
    }

    /// A line; one that does not matter is for who wants everything.
    fn say(&mut self, text: &str, matters: bool) {
        let line = format!("{} {text}", clock::now());
        log_file::write(&line);
        match &mut self.screen {
            Some(_) => {}
            None if matters || self.verbose => eprintln!("{line}"),
            None => {}
        }
    }

    fn why(&self, host: &str, error: &RunError) -> String {
        match (error, self.failures.get(host)) {
            (RunError::Failed { .. }, Some(failure)) => failure.what.clone(),
            _ => error.to_string(),
        }
    }

    fn redraw(&mut self) {
        if self.screen.is_none() {
            return;
        }
        for tracked in &mut self.hosts {
            if let (State::Working, Some(began)) = (&tracked.row.state, tracked.began) {
                tracked.row.elapsed = began.elapsed();
            }
        }
        let rows: Vec<Row> = self.hosts.iter().map(|each| each.row.clone()).collect();
        let elapsed = self.started.elapsed();
        if let Some(screen) = &mut self.screen {
            screen.draw(|width, height| board::lines(&rows, elapsed, width, height));
        }
    }
}

/// Why something is sent that the mirror has: what, and both values or what was said.
fn not_pulled(names: &[&str], why: &Failure) -> String {
    let verb = if names.len() == 1 { "is" } else { "are" };
    let names = names.join(", ");
    let mut text = format!("{names} {verb} sent, not pulled: {}", why.what);
    if let Some(found) = &why.found {
        text += &format!(": {found}");
    }
    if let Some(wanted) = &why.wanted {
        text += &format!("; wanted {wanted}");
    }
    text
}

/// An event in a line, and whether it matters to everybody.
fn words(what: &What) -> (Option<String>, bool) {
    let (text, matters) = match what {
        What::Began { steps, .. } => (format!("{steps} steps"), false),
        What::Resumed => ("the agent was started anew, and goes on".to_owned(), true),
        What::StepBegan { id, .. } => (format!("{id} …"), false),
        What::StepChanged { id, .. } => (id.to_string(), true),
        What::StepRight { id, reason } => (format!("{id} is right: {reason}"), false),
        What::StepFailed { id, failure } => (format!("{id} failed: {}", failure.what), true),
        What::StepSkipped { id, because } => {
            (format!("{id} left out, because {because} failed"), true)
        }
        What::StepRemoved { thing, .. } => (format!("{thing} removed"), true),
        What::Looked { things, left } => {
            let left = left.len();
            (
                format!("looked for {things} things again, {left} are left"),
                false,
            )
        }
        What::NeedSecret { id, .. } => (format!("{id} asks for a secret"), false),
        What::Finished { .. } => return (None, false),
    };
    (Some(text), matters)
}

fn lock(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
