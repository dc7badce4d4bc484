//! A run, read from the record that it left.

use std::collections::BTreeMap;

use casement_resource::Failure;
use casement_resource::wire::{Event, What};
use serde::{Deserialize, Serialize};

/// Why a record cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("{file} cannot be understood: {source}")]
pub struct ReadError {
    /// Which of the record's files, and where in it.
    pub file: String,
    /// What is wrong there.
    source: serde_json::Error,
}

/// How a run ended that did not come to say how: it was killed, or is still at work.
pub const CUT_OFF: &str = "cut off";

/// A run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Run {
    /// `apply`, `reset`.
    pub verb: String,
    /// When, in UTC.
    pub began: String,
    /// How long, in milliseconds.
    pub milliseconds: u64,
    /// `done`, `failed`, `stopped`, [`CUT_OFF`].
    pub outcome: String,
    /// casement's version.
    pub version: String,
    /// What changed in the cluster.
    pub objects: Vec<String>,
    /// Each host.
    pub hosts: Vec<HostRun>,
}

/// One host's part.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HostRun {
    /// Its name.
    pub name: String,
    /// How many things changed.
    pub changed: u32,
    /// Why it did not end well.
    pub error: Option<String>,
    /// The network of its pods.
    pub pods: Option<String>,
    /// The parts of the run, as they were at work.
    pub parts: Vec<Span>,
    /// Everything that was done.
    pub steps: Vec<StepRun>,
}

/// Some time of a run, in milliseconds since its first event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Span {
    /// What was going on.
    pub name: String,
    /// From when.
    pub from: u64,
    /// Until when.
    pub to: u64,
}

/// One step that did something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StepRun {
    /// When it was at work; its name is the step's id.
    #[serde(flatten)]
    pub span: Span,
    /// In which part.
    pub part: String,
    /// How it ended.
    pub state: StepState,
    /// What it changed.
    pub changes: Vec<Change>,
    /// Why it failed.
    pub failure: Option<Failure>,
}

/// How a step ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum StepState {
    /// The run ended before it did.
    Begun,
    /// It changed something.
    Changed,
    /// It took something back.
    Removed,
    /// It could not.
    Failed,
    /// It was left out, since one before it failed.
    Skipped,
}

/// One field of a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Change {
    /// Which field.
    pub field: String,
    /// What it was.
    pub before: Option<String>,
    /// What it is.
    pub after: Option<String>,
}

#[derive(Deserialize)]
struct Summary {
    casement: String,
    verb: String,
    began: String,
    seconds: f64,
    outcome: String,
    hosts: Vec<HostSummary>,
}

#[derive(Deserialize)]
struct HostSummary {
    name: String,
    #[serde(default)]
    changed: u32,
    #[serde(default)]
    removed: Vec<String>,
    error: Option<String>,
    pods: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Planned {
    Head(Head),
    Cluster { cluster: Vec<String> },
    Host { host: String },
}

/// What is known of a run from its beginning on.
#[derive(Debug, Clone, Default, Deserialize)]
struct Head {
    casement: String,
    verb: String,
    began: String,
}

#[derive(Deserialize)]
struct EventLine {
    host: String,
    part: String,
    event: Event,
}

impl Run {
    /// Reads the files of a record; one that was cut off has no summary.
    pub fn read(plan: &str, events: &str, summary: Option<&str>) -> Result<Self, ReadError> {
        let plan: Vec<Planned> = serde_json::from_str(plan).map_err(wrong("plan.json"))?;
        // What was killed may have been writing its last line.
        let events = match (summary, events.rsplit_once('\n')) {
            (None, Some((whole, _))) => whole,
            (None, None) => "",
            (Some(_), _) => events,
        };
        let lines = events.lines().enumerate();
        let events: Vec<EventLine> = lines
            .map(|(at, line)| {
                let place = format!("events.jsonl, line {}", at + 1);
                serde_json::from_str(line).map_err(wrong(&place))
            })
            .collect::<Result<_, _>>()?;
        let summary = match summary {
            Some(text) => serde_json::from_str(text).map_err(wrong("summary.json"))?,
            None => Summary::of_cut_off(&plan, &events),
        };
        let objects = plan.into_iter().flat_map(|planned| match planned {
            Planned::Cluster { cluster } => cluster,
            Planned::Head(_) | Planned::Host { .. } => Vec::new(),
        });
        let start = events.iter().map(|line| line.event.at).min().unwrap_or(0);
        let hosts = summary.hosts.iter();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a run takes less than an age, and never less than nothing"
        )]
        let milliseconds = (summary.seconds.max(0.0) * 1000.0) as u64;
        Ok(Self {
            verb: summary.verb,
            began: summary.began,
            milliseconds,
            outcome: summary.outcome,
            version: summary.casement,
            objects: objects.collect(),
            hosts: hosts.map(|host| host_run(host, &events, start)).collect(),
        })
    }

    /// Whether nothing says how it ended.
    #[must_use]
    pub fn is_cut_off(&self) -> bool {
        self.outcome == CUT_OFF
    }

    /// When the last thing happened, counted from the first.
    #[must_use]
    pub fn end(&self) -> u64 {
        let steps = self.hosts.iter().flat_map(|host| &host.steps);
        let parts = self.hosts.iter().flat_map(|host| &host.parts);
        let ends = steps.map(|step| step.span.to);
        ends.chain(parts.map(|part| part.to)).max().unwrap_or(0)
    }
}

fn wrong(file: &str) -> impl FnOnce(serde_json::Error) -> ReadError {
    let file = file.to_owned();
    move |source| ReadError { file, source }
}

impl Summary {
    /// What is known of a run without one.
    fn of_cut_off(plan: &[Planned], events: &[EventLine]) -> Self {
        let head = plan.iter().find_map(|planned| match planned {
            Planned::Head(head) => Some(head.clone()),
            _ => None,
        });
        let head = head.unwrap_or_default();
        let mut hosts: Vec<HostSummary> = Vec::new();
        let planned = plan.iter().filter_map(|planned| match planned {
            Planned::Host { host } => Some(host),
            _ => None,
        });
        // What is only taken back is not planned step by step.
        for name in planned.chain(events.iter().map(|line| &line.host)) {
            if !hosts.iter().any(|host| host.name == *name) {
                hosts.push(HostSummary::of_cut_off(name, events));
            }
        }
        let times = || events.iter().map(|line| line.event.at);
        let took = times().max().unwrap_or(0) - times().min().unwrap_or(0);
        #[expect(clippy::cast_precision_loss, reason = "milliseconds of one run")]
        let seconds = took as f64 / 1000.0;
        Self {
            casement: head.casement,
            verb: head.verb,
            began: head.began,
            seconds,
            outcome: CUT_OFF.to_owned(),
            hosts,
        }
    }
}

impl HostSummary {
    fn of_cut_off(name: &str, events: &[EventLine]) -> Self {
        let changed = events.iter().filter(|line| line.host == name);
        let changed = changed.filter(|line| {
            matches!(
                line.event.what,
                What::StepChanged { .. } | What::StepRemoved { .. }
            )
        });
        Self {
            name: name.to_owned(),
            changed: u32::try_from(changed.count()).unwrap_or(u32::MAX),
            removed: Vec::new(),
            error: None,
            pods: None,
        }
    }
}

fn host_run(summary: &HostSummary, events: &[EventLine], start: u64) -> HostRun {
    let removed = u32::try_from(summary.removed.len()).unwrap_or(u32::MAX);
    let mut host = HostRun {
        name: summary.name.clone(),
        changed: summary.changed.max(removed),
        error: summary.error.clone(),
        pods: summary.pods.clone(),
        ..HostRun::default()
    };
    let mut begun = BTreeMap::new();
    for line in events.iter().filter(|line| line.host == summary.name) {
        let at = line.event.at.saturating_sub(start);
        host.stretch(&line.part, at);
        host.take(&line.part, at, &line.event.what, &mut begun);
    }
    host
}

impl HostRun {
    fn stretch(&mut self, part: &str, at: u64) {
        match self.parts.last_mut() {
            Some(last) if last.name == part => last.to = at,
            _ => self.parts.push(Span {
                name: part.to_owned(),
                from: at,
                to: at,
            }),
        }
    }

    fn take(&mut self, part: &str, at: u64, what: &What, begun: &mut BTreeMap<String, usize>) {
        let (id, state, failure) = match what {
            What::StepBegan { id, changes, .. } => {
                begun.insert(id.to_string(), self.steps.len());
                let changes = changes.iter().map(|change| Change {
                    field: change.field.clone(),
                    before: change.before.clone(),
                    after: change.after.clone(),
                });
                self.steps.push(StepRun {
                    span: Span {
                        name: id.to_string(),
                        from: at,
                        to: at,
                    },
                    part: part.to_owned(),
                    state: StepState::Begun,
                    changes: changes.collect(),
                    failure: None,
                });
                return;
            }
            What::StepChanged { id, .. } => (id, StepState::Changed, None),
            What::StepRemoved { id, .. } => (id, StepState::Removed, None),
            What::StepFailed { id, failure } => (id, StepState::Failed, Some(failure.clone())),
            What::StepSkipped { id, .. } => (id, StepState::Skipped, None),
            _ => return,
        };
        let known = begun.get(&id.to_string()).copied();
        match known.and_then(|place| self.steps.get_mut(place)) {
            Some(step) => {
                step.span.to = at;
                step.state = state;
                step.failure = failure;
            }
            // It failed, or was left out, before it began.
            None => self.steps.push(StepRun {
                span: Span {
                    name: id.to_string(),
                    from: at,
                    to: at,
                },
                part: part.to_owned(),
                state,
                changes: Vec::new(),
                failure,
            }),
        }
    }
}
