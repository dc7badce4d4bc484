//! A run: what happened on each host, put together from the entries of its record.

use std::collections::BTreeMap;

use casement_diag::Problem;
use casement_resource::ResourceId;
use casement_resource::wire::{EventKind, Outcome};
use serde::{Serialize, Serializer};

use crate::record::{EventEntry, Head, HostSummary, PlanEntry, Record, Summary};
use crate::step::{Action, ObjectChange, Step, problem};

/// The outcome of a run without a summary: it was killed, or is still in progress.
const INCOMPLETE: &str = "incomplete";

/// Printed by `-o json`, see `docs/reference/json-output.md`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Run {
    /// `apply`, `reset`, `converge`; empty if the run was killed before it was recorded.
    pub verb: String,
    /// The version of casement.
    pub version: String,
    /// Start time in UTC.
    pub began: String,
    #[serde(rename = "seconds", serialize_with = "seconds")]
    pub milliseconds: u64,
    /// None if there is no summary.
    #[serde(serialize_with = "outcome_or_incomplete")]
    pub outcome: Option<Outcome>,
    /// Changed cluster objects.
    pub objects: Vec<ObjectChange>,
    pub hosts: Vec<HostRun>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HostRun {
    pub name: String,
    /// The number of changes.
    pub changed: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<Problem>,
    /// The pod network.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pods: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
    /// How many resources were searched for again after a removal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verified: Option<u32>,
    pub stages: Vec<StageRun>,
    pub steps: Vec<StepRun>,
}

/// Times are in milliseconds since the first event of the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StageRun {
    pub name: String,
    /// The number of its steps.
    pub steps: u32,
    pub from: u64,
    pub to: u64,
}

/// A step that changed something, failed or was skipped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StepRun {
    pub host: String,
    pub stage: String,
    /// Its position in the stage, counted from 1 in the order of execution.
    pub number: u32,
    #[serde(flatten)]
    pub step: Step,
    pub result: StepResult,
    /// In milliseconds since the first event of the run.
    pub from: u64,
    pub to: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum StepResult {
    /// The run ended during the step.
    Incomplete,
    Changed,
    Removed,
    Failed,
    /// A step it depends on failed.
    Skipped,
}

impl StepResult {
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Incomplete => INCOMPLETE,
            Self::Changed => "changed",
            Self::Removed => "removed",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
        }
    }
}

/// Puts a run together entry by entry, as they are written or read.
#[derive(Debug, Default)]
pub struct RunBuilder {
    objects: Vec<ObjectChange>,
    hosts: Vec<HostBuilder>,
    /// When the first event happened, and the last; clocks of hosts differ.
    times: Option<(u64, u64)>,
}

#[derive(Debug, Default)]
struct HostBuilder {
    run: HostRun,
    /// The steps of the current stage, which events only name.
    planned: BTreeMap<ResourceId, Step>,
    /// The finished steps of the current stage.
    finished: u32,
    /// Where the steps of the current stage are in [`HostRun::steps`].
    started: BTreeMap<ResourceId, usize>,
}

impl Run {
    #[must_use]
    pub fn of(record: &Record) -> Self {
        let mut builder = RunBuilder::default();
        record.plan.iter().for_each(|entry| builder.plan(entry));
        record.events.iter().for_each(|entry| builder.event(entry));
        builder.finish(record.head.as_ref(), record.summary.as_ref())
    }

    /// Whether the run has no summary.
    #[must_use]
    pub fn is_incomplete(&self) -> bool {
        self.outcome.is_none()
    }

    #[must_use]
    pub fn outcome_name(&self) -> &'static str {
        outcome_name(self.outcome)
    }

    /// The time of the last event, in milliseconds since the first.
    #[must_use]
    pub fn end(&self) -> u64 {
        let steps = self.hosts.iter().flat_map(|host| &host.steps);
        let stages = self.hosts.iter().flat_map(|host| &host.stages);
        let ends = steps.map(|step| step.to);
        ends.chain(stages.map(|stage| stage.to)).max().unwrap_or(0)
    }
}

fn outcome_name(outcome: Option<Outcome>) -> &'static str {
    match outcome {
        None => INCOMPLETE,
        Some(Outcome::Done) => "done",
        Some(Outcome::Failed) => "failed",
        Some(Outcome::Stopped) => "stopped",
    }
}

fn outcome_or_incomplete<S: Serializer>(
    outcome: &Option<Outcome>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(outcome_name(*outcome))
}

#[expect(clippy::cast_precision_loss, reason = "milliseconds of one run")]
fn seconds<S: Serializer>(milliseconds: &u64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(*milliseconds as f64 / 1000.0)
}

impl RunBuilder {
    pub fn plan(&mut self, entry: &PlanEntry) {
        match entry {
            PlanEntry::Cluster { changes } => self.objects.extend_from_slice(changes),
            PlanEntry::Stage { host, steps, .. } => {
                let steps = steps.iter().map(|step| (step.id.clone(), step.clone()));
                self.host(host).planned = steps.collect();
            }
        }
    }

    pub fn event(&mut self, entry: &EventEntry) {
        let at = entry.event.at;
        let (first, last) = self.times.unwrap_or((at, at));
        self.times = Some((first.min(at), last.max(at)));
        let host = self.host(&entry.host);
        host.extend_stage(&entry.stage, at);
        host.record(&entry.stage, at, &entry.event.kind);
    }

    /// Without a summary, the run ends with its last event, on the hosts that are known.
    #[must_use]
    pub fn finish(mut self, head: Option<&Head>, summary: Option<&Summary>) -> Run {
        let (start, end) = self.times.unwrap_or_default();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "the duration of a run is not negative and far below u64::MAX milliseconds"
        )]
        let milliseconds = match summary {
            Some(summary) => (summary.seconds.max(0.0) * 1000.0).round() as u64,
            None => end - start,
        };
        if let Some(summary) = summary {
            // In the order of the summary, with the hosts that never answered.
            let known = &mut self.hosts;
            let hosts = summary.hosts.iter().map(|host| conclude(known, host));
            self.hosts = hosts.collect();
        }
        let hosts = self.hosts.into_iter().map(|host| host.finish(start));
        let head = summary.map(|summary| &summary.head).or(head);
        let text = |field: fn(&Head) -> &String| head.map(field).cloned().unwrap_or_default();
        Run {
            verb: text(|head| &head.verb),
            version: text(|head| &head.casement),
            began: text(|head| &head.began),
            milliseconds,
            outcome: summary.map(|summary| summary.outcome),
            objects: self.objects,
            hosts: hosts.collect(),
        }
    }

    fn host(&mut self, name: &str) -> &mut HostBuilder {
        let known = self.hosts.iter().position(|host| host.run.name == name);
        let index = known.unwrap_or(self.hosts.len());
        if known.is_none() {
            self.hosts.push(HostBuilder::new(name));
        }
        #[expect(clippy::indexing_slicing, reason = "it was found or added")]
        &mut self.hosts[index]
    }
}

/// Takes a host out of `known`, with what only its summary has.
fn conclude(known: &mut Vec<HostBuilder>, summary: &HostSummary) -> HostBuilder {
    let index = known.iter().position(|host| host.run.name == summary.name);
    let mut host = match index {
        Some(index) => known.swap_remove(index),
        None => HostBuilder::new(&summary.name),
    };
    let removed = u32::try_from(summary.removed.len()).unwrap_or(u32::MAX);
    host.run.changed = summary.changed.max(removed);
    host.run.error.clone_from(&summary.error);
    host.run.pods.clone_from(&summary.pods);
    host.run.seconds = summary.seconds;
    host
}

impl HostBuilder {
    fn new(name: &str) -> Self {
        let mut host = Self::default();
        name.clone_into(&mut host.run.name);
        host
    }

    fn extend_stage(&mut self, stage: &str, at: u64) {
        match self.run.stages.last_mut() {
            Some(last) if last.name == stage => last.to = at,
            _ => {
                self.finished = 0;
                self.started.clear();
                self.run.stages.push(StageRun {
                    name: stage.to_owned(),
                    steps: 0,
                    from: at,
                    to: at,
                });
            }
        }
    }

    fn record(&mut self, stage: &str, at: u64, event: &EventKind) {
        match event {
            EventKind::Began { steps, .. } => {
                (self.finished, self.started) = (0, BTreeMap::new());
                if let Some(stage) = self.run.stages.last_mut() {
                    stage.steps = *steps;
                }
            }
            EventKind::StepBegan {
                id, name, changes, ..
            } => {
                let mut step = self.step(id, name, Action::Change);
                if !changes.is_empty() {
                    step.action = Action::of_all(changes);
                }
                step.changes.clone_from(changes);
                (step.reason, step.error) = (None, None);
                self.started.insert(id.clone(), self.run.steps.len());
                let run = self.step_run(stage, step, at);
                self.run.steps.push(run);
            }
            EventKind::StepInSync { .. } => self.finished += 1,
            EventKind::StepChanged { id, unobserved } => {
                let step = self.ended(stage, id, "", at, StepResult::Changed);
                step.unobserved.clone_from(unobserved);
            }
            EventKind::StepRemoved { id, thing } => {
                let step = self.ended(stage, id, thing, at, StepResult::Removed);
                step.action = Action::Remove;
            }
            EventKind::StepFailed { id, failure } => {
                let step = self.ended(stage, id, "", at, StepResult::Failed);
                step.error = Some(problem(failure));
            }
            EventKind::StepSkipped { id, name, because } => {
                let because = self.step(because, "", Action::None).identity();
                let step = self.ended(stage, id, name, at, StepResult::Skipped);
                step.reason = Some(format!("{because} failed"));
            }
            EventKind::Verified { things, .. } => self.run.verified = Some(*things),
            EventKind::Resumed | EventKind::NeedSecret { .. } | EventKind::Finished { .. } => {}
        }
    }

    /// A step by what is known of it: the plan, else the event, which older agents sent
    /// without a name.
    fn step(&self, id: &ResourceId, name: &str, action: Action) -> Step {
        match (self.planned.get(id), name) {
            (Some(planned), _) => planned.clone(),
            (None, "") => Step::new(id, id.as_str(), action),
            (None, name) => Step::new(id, name, action),
        }
    }

    fn step_run(&self, stage: &str, step: Step, at: u64) -> StepRun {
        StepRun {
            host: self.run.name.clone(),
            stage: stage.to_owned(),
            number: self.finished + 1,
            step,
            result: StepResult::Incomplete,
            from: at,
            to: at,
        }
    }

    /// The step, which may have failed or been skipped before it started.
    fn ended(
        &mut self,
        stage: &str,
        id: &ResourceId,
        name: &str,
        at: u64,
        result: StepResult,
    ) -> &mut Step {
        self.finished += 1;
        let index = match self.started.get(id) {
            Some(index) => *index,
            None => {
                let step = self.step(id, name, Action::Unknown);
                let run = StepRun {
                    number: self.finished,
                    ..self.step_run(stage, step, at)
                };
                self.run.steps.push(run);
                self.run.steps.len() - 1
            }
        };
        #[expect(clippy::indexing_slicing, reason = "an index of this list")]
        let step = &mut self.run.steps[index];
        (step.to, step.result) = (at, result);
        &mut step.step
    }

    /// With times that count from the start of the run.
    fn finish(self, start: u64) -> HostRun {
        let mut run = self.run;
        let done =
            |step: &&StepRun| matches!(step.result, StepResult::Changed | StepResult::Removed);
        let done = run.steps.iter().filter(done).count();
        run.changed = run.changed.max(u32::try_from(done).unwrap_or(u32::MAX));
        for stage in &mut run.stages {
            (stage.from, stage.to) = (stage.from - start, stage.to - start);
        }
        for step in &mut run.steps {
            (step.from, step.to) = (step.from - start, step.to - start);
        }
        run
    }
}
