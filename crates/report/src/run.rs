//! A run, read from its record.

use std::collections::BTreeMap;

use casement_resource::wire::{Event, EventKind};
use casement_resource::{Failure, ResourceId};
use serde::{Deserialize, Serialize};

#[derive(Debug, thiserror::Error)]
#[error("failed to parse {file}: {source}")]
pub struct ReadError {
    /// A file of the record, with the line.
    pub file: String,
    source: serde_json::Error,
}

/// The outcome of a run without a summary: it was killed, or is still in progress.
pub const CUT_OFF: &str = "incomplete";

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Run {
    /// `apply`, `reset`.
    pub verb: String,
    /// Start time in UTC.
    pub began: String,
    /// Duration.
    pub milliseconds: u64,
    /// `done`, `failed`, `stopped`, [`CUT_OFF`].
    pub outcome: String,
    /// The version of casement.
    pub version: String,
    /// Changed cluster objects.
    pub objects: Vec<String>,
    pub hosts: Vec<HostRun>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HostRun {
    pub name: String,
    /// The number of changes.
    pub changed: u32,
    pub error: Option<String>,
    /// The pod network.
    pub pods: Option<String>,
    /// The stages of the run.
    pub parts: Vec<Span>,
    pub steps: Vec<StepRun>,
}

/// A period, in milliseconds since the first event of the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Span {
    pub name: String,
    pub from: u64,
    pub to: u64,
}

/// A step that changed something, failed or was skipped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StepRun {
    /// Its name is the id of the step.
    #[serde(flatten)]
    pub span: Span,
    /// The stage.
    pub part: String,
    pub state: StepState,
    pub changes: Vec<Change>,
    pub failure: Option<Failure>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum StepState {
    /// The run ended before the step.
    Begun,
    Changed,
    Removed,
    Failed,
    /// A step it depends on failed.
    Skipped,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Change {
    pub field: String,
    pub before: Option<String>,
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

/// Written at the start of a run.
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
    /// Reads the files of a record; an incomplete run has no summary.
    pub fn read(plan: &str, events: &str, summary: Option<&str>) -> Result<Self, ReadError> {
        let plan: Vec<Planned> = serde_json::from_str(plan).map_err(parse_error("plan.json"))?;
        // The last line of a killed run may be incomplete.
        let events = match (summary, events.rsplit_once('\n')) {
            (None, Some((whole, _))) => whole,
            (None, None) => "",
            (Some(_), _) => events,
        };
        let lines = events.lines().enumerate();
        let events: Vec<EventLine> = lines
            .map(|(at, line)| {
                let location = format!("events.jsonl, line {}", at + 1);
                serde_json::from_str(line).map_err(parse_error(&location))
            })
            .collect::<Result<_, _>>()?;
        let summary = match summary {
            Some(text) => serde_json::from_str(text).map_err(parse_error("summary.json"))?,
            None => Summary::of_incomplete(&plan, &events),
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
            reason = "the duration of a run is not negative and far below u64::MAX milliseconds"
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

    /// Whether the run has no summary.
    #[must_use]
    pub fn is_cut_off(&self) -> bool {
        self.outcome == CUT_OFF
    }

    /// The time of the last event, in milliseconds since the first.
    #[must_use]
    pub fn end(&self) -> u64 {
        let steps = self.hosts.iter().flat_map(|host| &host.steps);
        let parts = self.hosts.iter().flat_map(|host| &host.parts);
        let ends = steps.map(|step| step.span.to);
        ends.chain(parts.map(|part| part.to)).max().unwrap_or(0)
    }
}

fn parse_error(file: &str) -> impl FnOnce(serde_json::Error) -> ReadError {
    let file = file.to_owned();
    move |source| ReadError { file, source }
}

impl Summary {
    /// The summary of a run that did not write one.
    fn of_incomplete(plan: &[Planned], events: &[EventLine]) -> Self {
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
        // Hosts with only removals are not part of the plan.
        for name in planned.chain(events.iter().map(|line| &line.host)) {
            if !hosts.iter().any(|host| host.name == *name) {
                hosts.push(HostSummary::of_incomplete(name, events));
            }
        }
        let times = || events.iter().map(|line| line.event.at);
        let elapsed = times().max().unwrap_or(0) - times().min().unwrap_or(0);
        #[expect(clippy::cast_precision_loss, reason = "milliseconds of one run")]
        let seconds = elapsed as f64 / 1000.0;
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
    fn of_incomplete(name: &str, events: &[EventLine]) -> Self {
        let changed = events.iter().filter(|line| line.host == name);
        let changed = changed.filter(|line| {
            matches!(
                line.event.kind,
                EventKind::StepChanged { .. } | EventKind::StepRemoved { .. }
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
    let mut started = BTreeMap::new();
    for line in events.iter().filter(|line| line.host == summary.name) {
        let at = line.event.at.saturating_sub(start);
        host.extend_stage(&line.part, at);
        host.record(&line.part, at, &line.event.kind, &mut started);
    }
    host
}

impl HostRun {
    fn extend_stage(&mut self, part: &str, at: u64) {
        match self.parts.last_mut() {
            Some(last) if last.name == part => last.to = at,
            _ => self.parts.push(Span {
                name: part.to_owned(),
                from: at,
                to: at,
            }),
        }
    }

    fn record(
        &mut self,
        part: &str,
        at: u64,
        event: &EventKind,
        started: &mut BTreeMap<String, usize>,
    ) {
        let (id, name, state, failure) = match event {
            EventKind::StepBegan {
                id, name, changes, ..
            } => {
                started.insert(id.to_string(), self.steps.len());
                let changes = changes.iter().map(|change| Change {
                    field: change.field.clone(),
                    before: change.before.clone(),
                    after: change.after.clone(),
                });
                self.steps.push(StepRun {
                    span: Span {
                        name: step_name(id, name),
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
            EventKind::StepChanged { id, .. } => (id, "", StepState::Changed, None),
            EventKind::StepRemoved { id, thing } => (id, thing.as_str(), StepState::Removed, None),
            EventKind::StepFailed { id, failure } => {
                (id, "", StepState::Failed, Some(failure.clone()))
            }
            EventKind::StepSkipped { id, name, .. } => {
                (id, name.as_str(), StepState::Skipped, None)
            }
            _ => return,
        };
        let known = started.get(&id.to_string()).copied();
        match known.and_then(|index| self.steps.get_mut(index)) {
            Some(step) => {
                step.span.to = at;
                step.state = state;
                step.failure = failure;
            }
            // It failed or was skipped before it started.
            None => self.steps.push(StepRun {
                span: Span {
                    name: step_name(id, name),
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

/// The name that the plan shows; the id in records of older versions.
fn step_name(id: &ResourceId, name: &str) -> String {
    match name {
        "" => id.to_string(),
        name => name.to_owned(),
    }
}
