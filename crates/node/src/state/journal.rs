//! The journal of a run: append-only, one event per line with its checksum,
//! on disk before what it tells about happens.
//!
//! A line is the first 8 digits of the SHA-256 of its JSON, a blank, the JSON.
//! A last line that is torn (power was lost while it was written) is cut off.
//! A wrong line anywhere else means that the disk cannot be trusted: what the
//! run did is not known, so it is not gone on with, and whoever asks for it is
//! told. The next run looks at the host itself and does what is left.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use casement_resource::wire::{Event, What};
use casement_resource::{Code, Failure, RunId, Sha256};

use super::lock::milliseconds;
use super::{Layout, order, state_failure, sync_folder};
use crate::platform::Result;

/// A journal that is being written.
#[derive(Debug)]
pub struct Journal {
    run: RunId,
    path: PathBuf,
    file: File,
    next: u64,
}

impl Journal {
    /// Opens the journal of a run, new or not, and gives the events that are
    /// in it already.
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
        let (events, good) = parse(&bytes).map_err(|damage| damage.failure(&path))?;
        file.set_len(good).map_err(failure)?;
        file.seek(SeekFrom::Start(good)).map_err(failure)?;
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

    /// Writes an event down; it is on disk when this returns.
    pub fn append(&mut self, what: What) -> Result<Event> {
        let event = Event {
            run: self.run.clone(),
            sequence: self.next,
            at: milliseconds(),
            what,
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
    // Every part of an event is a plain value with text keys: it always has a
    // JSON form.
    let json = serde_json::to_string(event).unwrap_or_default();
    format!("{} {json}\n", checksum(json.as_bytes()))
}

fn checksum(json: &[u8]) -> String {
    Sha256::of(json).to_string().chars().take(8).collect()
}

/// A bad line that is not the last.
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
            "apply again: a new run does what is left; then check the host's disk",
        )
        .values(self.wanted, self.found)
    }
}

/// The events and the length of the good part.
fn parse(bytes: &[u8]) -> std::result::Result<(Vec<Event>, u64), Damage> {
    let mut events: Vec<Event> = Vec::new();
    let mut good = 0;
    let mut lines = bytes
        .split_inclusive(|byte| *byte == b'\n')
        .enumerate()
        .peekable();
    while let Some((number, line)) = lines.next() {
        let expected = events.last().map_or(1, |event| event.sequence + 1);
        match event(line, expected) {
            Ok(event) => {
                events.push(event);
                good += line.len();
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
    Ok((events, good as u64))
}

/// The event of a line, or what should be there and what is.
fn event(line: &[u8], expected: u64) -> std::result::Result<Event, (String, String)> {
    let Some(line) = line.strip_suffix(b"\n") else {
        return Err(("a whole line".to_owned(), "its beginning".to_owned()));
    };
    let (sum, rest) = line.split_at_checked(8).unwrap_or((line, b""));
    let json = rest.strip_prefix(b" ").unwrap_or(rest);
    let (said, found) = (String::from_utf8_lossy(sum), checksum(json));
    if rest.len() == json.len() || said != found {
        return Err((format!("checksum {found}"), format!("checksum {said}")));
    }
    let wanted = format!("event {expected}");
    match serde_json::from_slice::<Event>(json) {
        Ok(event) if event.sequence == expected => Ok(event),
        Ok(event) => Err((wanted, format!("event {}", event.sequence))),
        Err(error) => Err((wanted, error.to_string())),
    }
}

/// The events of a run as they are on disk now; none if the run is unknown.
pub fn events(layout: &Layout, run: &RunId) -> Result<Option<Vec<Event>>> {
    let path = layout.journal(run);
    let Some(bytes) = super::read(&path)? else {
        return Ok(None);
    };
    let (events, _) = parse(&bytes).map_err(|damage| damage.failure(&path))?;
    Ok(Some(events))
}

/// The run that was asked for last, if it is not finished. One before it is of
/// no interest any more: what it wanted may not be wanted now. Nor is one whose
/// journal is damaged, or whose order another version wrote.
pub fn unfinished(layout: &Layout) -> Result<Option<RunId>> {
    let Some(last) = runs(layout)?.pop() else {
        return Ok(None);
    };
    let events = events(layout, &last);
    let open = events.is_ok_and(|events| !is_over(&events.unwrap_or_default()));
    let understood = order::Order::load(layout, &last).is_ok();
    Ok(Some(last).filter(|_| open && understood))
}

/// What is wrong with the run that was asked for last, so that it cannot be
/// gone on with.
pub fn damage(layout: &Layout) -> Result<Option<Failure>> {
    let Some(last) = runs(layout)?.pop() else {
        return Ok(None);
    };
    let whole = events(layout, &last).map(drop);
    Ok(whole
        .and_then(|()| order::Order::load(layout, &last).map(drop))
        .err())
}

/// Deletes all but the last few journals.
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

/// All runs, in the order in which they were asked for.
pub fn runs(layout: &Layout) -> Result<Vec<RunId>> {
    let mut runs = Vec::new();
    for run in order::runs(layout)? {
        runs.push((order::number(layout, &run)?, run));
    }
    runs.sort();
    Ok(runs.into_iter().map(|(_, run)| run).collect())
}

/// Whether the last event is among them.
#[must_use]
pub fn is_over(events: &[Event]) -> bool {
    events
        .iter()
        .any(|event| matches!(event.what, What::Finished { .. }))
}

#[cfg(test)]
mod tests;
