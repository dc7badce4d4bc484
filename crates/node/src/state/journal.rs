//! The journal of a run: append-only, one event per line with its checksum. An event
//! is on disk before the change that it announces.
//!
//! A line is the first 8 digits of the SHA-256 of its JSON, a space, the JSON. A
//! torn last line (power loss during the write) is truncated. A bad line anywhere else
//! means that the disk cannot be trusted: the run is not resumed, and requests for it
//! fail. The next run observes the host and applies what is left.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use casement_resource::wire::{Event, EventKind};
use casement_resource::{Code, Failure, RunId, Sha256};

use super::lock::milliseconds;
use super::{Layout, order, state_failure, sync_folder};
use crate::platform::Result;

#[derive(Debug)]
pub struct Journal {
    run: RunId,
    path: PathBuf,
    file: File,
    next: u64,
}

impl Journal {
    /// Opens or creates the journal of a run and returns its events.
    pub fn open(layout: &Layout, run: &RunId) -> Result<(Self, Vec<Event>)> {
        let path = layout.journal(run);
        let failure = |error| state_failure("opened", &path, &error);
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(failure)?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(failure)?;
        let (events, valid) = parse(&bytes).map_err(|damage| damage.failure(&path))?;
        file.set_len(valid).map_err(failure)?;
        file.seek(SeekFrom::Start(valid)).map_err(failure)?;
        file.sync_all().map_err(failure)?;
        sync_folder(&path).map_err(failure)?;
        let next = events.last().map_or(1, |event| event.sequence + 1);
        let run = run.clone();
        Ok((
            Self {
                run,
                path,
                file,
                next,
            },
            events,
        ))
    }

    /// The event is on disk when this returns.
    pub fn append(&mut self, kind: EventKind) -> Result<Event> {
        let event = Event {
            run: self.run.clone(),
            sequence: self.next,
            at: milliseconds(),
            kind,
        };
        let line = line(&event);
        self.file
            .write_all(line.as_bytes())
            .and_then(|()| self.file.sync_data())
            .map_err(|error| state_failure("written", &self.path, &error))?;
        self.next += 1;
        Ok(event)
    }
}

fn line(event: &Event) -> String {
    // Cannot fail: events contain only plain values with string keys.
    let json = serde_json::to_string(event).unwrap_or_default();
    format!("{} {json}\n", checksum(json.as_bytes()))
}

fn checksum(json: &[u8]) -> String {
    Sha256::of(json).to_string().chars().take(8).collect()
}

/// A bad line before the last one.
struct Damage {
    line: usize,
    wanted: String,
    found: String,
}

impl Damage {
    fn failure(self, path: &Path) -> Failure {
        let (line, path) = (self.line, path.display());
        Failure::new(
            Code::State,
            format!("line {line} of the journal `{path}` is damaged"),
            "run `casement apply` again to apply what is left, then check the disk of the host",
        )
        .values(self.wanted, self.found)
    }
}

/// Returns the events and the length of the valid part.
fn parse(bytes: &[u8]) -> std::result::Result<(Vec<Event>, u64), Damage> {
    let mut events: Vec<Event> = Vec::new();
    let mut valid = 0;
    let mut lines = bytes
        .split_inclusive(|byte| *byte == b'\n')
        .enumerate()
        .peekable();
    while let Some((number, line)) = lines.next() {
        let expected = events.last().map_or(1, |event| event.sequence + 1);
        match event(line, expected) {
            Ok(event) => {
                events.push(event);
                valid += line.len();
            }
            Err(_) if lines.peek().is_none() => break,
            Err((wanted, found)) => {
                return Err(Damage {
                    line: number + 1,
                    wanted,
                    found,
                });
            }
        }
    }
    Ok((events, valid as u64))
}

/// The event of a line, or the expected and found values.
fn event(line: &[u8], expected: u64) -> std::result::Result<Event, (String, String)> {
    let Some(line) = line.strip_suffix(b"\n") else {
        return Err((
            "a complete line".to_owned(),
            "an incomplete line".to_owned(),
        ));
    };
    let (sum, rest) = line.split_at_checked(8).unwrap_or((line, b""));
    let json = rest.strip_prefix(b" ").unwrap_or(rest);
    let (stored, computed) = (String::from_utf8_lossy(sum), checksum(json));
    if rest.len() == json.len() || stored != computed {
        return Err((format!("checksum {computed}"), format!("checksum {stored}")));
    }
    let wanted = format!("event {expected}");
    match serde_json::from_slice::<Event>(json) {
        Ok(event) if event.sequence == expected => Ok(event),
        Ok(event) => Err((wanted, format!("event {}", event.sequence))),
        Err(error) => Err((wanted, error.to_string())),
    }
}

/// The events of a run on disk; `None` if the run is unknown.
pub fn events(layout: &Layout, run: &RunId) -> Result<Option<Vec<Event>>> {
    let path = layout.journal(run);
    let Some(bytes) = super::read(&path)? else {
        return Ok(None);
    };
    let (events, _) = parse(&bytes).map_err(|damage| damage.failure(&path))?;
    Ok(Some(events))
}

/// The latest run, if it is not finished. Earlier runs are outdated. A run is ignored
/// if its journal is damaged, or its order is from another version.
pub fn unfinished(layout: &Layout) -> Result<Option<RunId>> {
    let Some(last) = runs(layout)?.pop() else {
        return Ok(None);
    };
    let events = events(layout, &last);
    let open = events.is_ok_and(|events| !is_finished(&events.unwrap_or_default()));
    let readable = order::Order::load(layout, &last).is_ok();
    Ok(Some(last).filter(|_| open && readable))
}

/// Why the latest run cannot be resumed.
pub fn damage(layout: &Layout) -> Result<Option<Failure>> {
    let Some(last) = runs(layout)?.pop() else {
        return Ok(None);
    };
    let readable = events(layout, &last).map(drop);
    Ok(readable
        .and_then(|()| order::Order::load(layout, &last).map(drop))
        .err())
}

pub fn prune(layout: &Layout) -> Result<()> {
    const KEPT: usize = 16;
    let runs = runs(layout)?;
    let old = runs.len().saturating_sub(KEPT);
    for run in runs.iter().take(old) {
        super::delete(&layout.order(run))?;
        super::delete(&layout.journal(run))?;
    }
    Ok(())
}

/// All runs, oldest first.
pub fn runs(layout: &Layout) -> Result<Vec<RunId>> {
    let mut runs = Vec::new();
    for run in order::runs(layout)? {
        runs.push((order::number(layout, &run)?, run));
    }
    runs.sort();
    Ok(runs.into_iter().map(|(_, run)| run).collect())
}

#[must_use]
pub fn is_finished(events: &[Event]) -> bool {
    events
        .iter()
        .any(|event| matches!(event.kind, EventKind::Finished { .. }))
}

#[cfg(test)]
mod tests;
