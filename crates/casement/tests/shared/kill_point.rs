//! Named points of a run at which a test kills something, chosen by a seed: the same seed
//! gives the same points, which the run record of a controller proves.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::random::SeededRng;

/// The events of a stage of one host after which a kill may be chosen.
#[derive(Debug, Clone, Copy)]
pub struct StageEvents {
    pub stage: &'static str,
    /// Sequence number of the last one. A constant, so that a schedule depends on nothing but
    /// its seed.
    pub last: u64,
    /// Events that another one follows at once, so that nothing can be killed in between.
    pub except: &'static [u64],
}

impl StageEvents {
    pub fn events(&self) -> impl Iterator<Item = u64> {
        (1..=self.last).filter(|event| !self.except.contains(event))
    }
}

/// After an event of a stage of a host, and before the next one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KillPoint {
    pub host: String,
    pub stage: &'static str,
    /// The sequence number of the event, from 1.
    pub event: u64,
}

impl KillPoint {
    /// One of the first events of one of the stages.
    pub fn choose(rng: &mut SeededRng, host: &str, stages: &[StageEvents]) -> Self {
        let index = rng.below(stages.len().try_into().unwrap());
        let stage = stages[usize::try_from(index).unwrap()];
        let events: Vec<u64> = stage.events().collect();
        let index = rng.below(events.len().try_into().unwrap());
        let event = events[usize::try_from(index).unwrap()];
        Self {
            host: host.to_owned(),
            stage: stage.stage,
            event,
        }
    }
}

impl fmt::Display for KillPoint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (host, stage, event) = (&self.host, self.stage, self.event);
        write!(formatter, "{host} after event {event} of {stage}")
    }
}

/// The run record of a controller, which is in the folder of its cluster file.
pub fn run_record(folder: &Path, pid: u32) -> Option<PathBuf> {
    let suffix = format!("-{pid}");
    let runs = fs::read_dir(folder.join(".casement/runs"));
    let mut runs = runs.into_iter().flatten().map(Result::unwrap);
    let run = runs.find(|run| run.file_name().to_string_lossy().ends_with(&suffix));
    run.map(|run| run.path())
}

/// The complete lines of a record: host, stage and the event of the agent.
pub fn recorded(record: &Path) -> Vec<Value> {
    let text = fs::read_to_string(record.join("events.jsonl")).unwrap_or_default();
    // The last line may be half written.
    let lines = text.lines().map(serde_json::from_str);
    lines.filter_map(Result::ok).collect()
}

/// The number of events of a stage of a host in a record; they are in order, without gaps.
pub fn recorded_events(record: &Path, host: &str, stage: &str) -> u64 {
    let mut last = 0;
    for line in recorded(record) {
        if line["host"] == host && line["stage"] == stage {
            assert_eq!(
                line["event"]["sequence"],
                last + 1,
                "{host} {stage}: {line}"
            );
            last += 1;
        }
    }
    last
}
