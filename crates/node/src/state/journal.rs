//! The journal of a run: append-only, one event per line with its checksum,
//! on disk before what it tells about happens.
//!
//! A line is the first 8 digits of the SHA-256 of its JSON, a blank, the JSON.
//! A last line that is torn (power was lost while it was written) is cut off;
//! a wrong line anywhere else is an error.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::PathBuf;

use casement_resource::wire::{Event, What};
use casement_resource::{Code, Failure, RunId, Sha256};

use super::lock::milliseconds;
use super::{Layout, state_failure, sync_folder};
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
        let (events, good) = parse(&bytes).map_err(|line| damaged(&path, line))?;
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

/// The events and the length of the good part, or the number of a bad line
/// that is not the last.
fn parse(bytes: &[u8]) -> std::result::Result<(Vec<Event>, u64), usize> {
    let mut events: Vec<Event> = Vec::new();
    let mut good = 0;
    let mut lines = bytes
        .split_inclusive(|byte| *byte == b'\n')
        .enumerate()
        .peekable();
    while let Some((number, line)) = lines.next() {
        let expected = events.last().map_or(1, |event| event.sequence + 1);
        match event(line).filter(|event| event.sequence == expected) {
            Some(event) => {
                events.push(event);
                good += line.len();
            }
            None if lines.peek().is_none() => break,
            None => return Err(number + 1),
        }
    }
    Ok((events, good as u64))
}

fn event(line: &[u8]) -> Option<Event> {
    let line = line.strip_suffix(b"\n")?;
    let (sum, rest) = line.split_at_checked(8)?;
    let json = rest.strip_prefix(b" ")?;
    (checksum(json).as_bytes() == sum).then(|| serde_json::from_slice(json).ok())?
}

fn damaged(path: &std::path::Path, line: usize) -> Failure {
    Failure::new(
        Code::State,
        format!("line {line} of the journal `{}` is damaged", path.display()),
        "check the disk; then delete this journal and apply again",
    )
}

/// The events of a run as they are on disk now; none if the run is unknown.
pub fn events(layout: &Layout, run: &RunId) -> Result<Option<Vec<Event>>> {
    let path = layout.journal(run);
    let Some(bytes) = super::read(&path)? else {
        return Ok(None);
    };
    let (events, _) = parse(&bytes).map_err(|line| damaged(&path, line))?;
    Ok(Some(events))
}

/// The run that was begun last, if it is not finished. One before it is of no
/// interest any more: what it wanted may not be wanted now.
pub fn unfinished(layout: &Layout) -> Result<Option<RunId>> {
    let last = runs(layout)?.pop();
    Ok(last.filter(|run| !run.finished).map(|run| run.id))
}

/// Deletes all but the last few journals.
pub fn prune(layout: &Layout) -> Result<()> {
    const KEPT: usize = 16;
    let runs = runs(layout)?;
    let old = runs.len().saturating_sub(KEPT);
    for run in runs.iter().take(old) {
        super::delete(&layout.order(&run.id))?;
        super::delete(&layout.journal(&run.id))?;
    }
    Ok(())
}

struct Known {
    id: RunId,
    began: u64,
    finished: bool,
}

/// All runs, oldest first; one that was accepted and has no event yet is the
/// latest.
fn runs(layout: &Layout) -> Result<Vec<Known>> {
    let folder = layout.journals();
    let failure = |error| state_failure("read", &folder, &error);
    let mut runs = Vec::new();
    for entry in fs::read_dir(&folder).map_err(failure)? {
        let name = entry.map_err(failure)?.file_name();
        let name = name
            .to_str()
            .and_then(|name| name.strip_suffix(".order.json"));
        let Some(Ok(id)) = name.map(str::parse::<RunId>) else {
            continue;
        };
        let events = events(layout, &id)?.unwrap_or_default();
        runs.push(Known {
            began: events.first().map_or(u64::MAX, |event| event.at),
            finished: is_over(&events),
            id,
        });
    }
    runs.sort_by(|one, other| (one.began, &one.id).cmp(&(other.began, &other.id)));
    Ok(runs)
}

/// Whether the last event is among them.
#[must_use]
pub fn is_over(events: &[Event]) -> bool {
    events
        .iter()
        .any(|event| matches!(event.what, What::Finished { .. }))
}

#[cfg(test)]
mod tests {
    use casement_resource::wire::{Outcome, RemoveWhat, Tally};

    use super::*;
    use crate::state::order::{Order, Task};

    fn resumed(journal: &mut Journal) -> u64 {
        journal.append(What::Resumed).unwrap().sequence
    }

    fn setting() -> (tempfile::TempDir, Layout, RunId) {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::new(folder.path().to_owned());
        fs::create_dir(layout.journals()).unwrap();
        (folder, layout, "r1".parse().unwrap())
    }

    #[test]
    fn numbers_go_on_after_the_journal_is_opened_anew() {
        let (_folder, layout, run) = setting();
        let (mut journal, before) = Journal::open(&layout, &run).unwrap();
        assert!(before.is_empty());
        assert_eq!([resumed(&mut journal), resumed(&mut journal)], [1, 2]);
        let (mut journal, before) = Journal::open(&layout, &run).unwrap();
        assert_eq!(before.len(), 2);
        assert_eq!(resumed(&mut journal), 3);
    }

    #[test]
    fn a_torn_last_line_is_cut_off_whatever_its_length() {
        let (_folder, layout, run) = setting();
        let (mut journal, _) = Journal::open(&layout, &run).unwrap();
        resumed(&mut journal);
        let whole = fs::read(layout.journal(&run)).unwrap();
        resumed(&mut journal);
        let two = fs::read(layout.journal(&run)).unwrap();
        for length in whole.len()..two.len() {
            fs::write(layout.journal(&run), &two[..length]).unwrap();
            let (mut journal, before) = Journal::open(&layout, &run).unwrap();
            assert_eq!(before.len(), 1, "{length}");
            assert_eq!(resumed(&mut journal), 2);
        }
    }

    #[test]
    fn damage_in_the_middle_is_an_error() {
        let (_folder, layout, run) = setting();
        let (mut journal, _) = Journal::open(&layout, &run).unwrap();
        resumed(&mut journal);
        resumed(&mut journal);
        let mut bytes = fs::read(layout.journal(&run)).unwrap();
        bytes[20] ^= 1;
        fs::write(layout.journal(&run), &bytes).unwrap();
        let failure = Journal::open(&layout, &run).unwrap_err();
        assert!(failure.what.contains("line 1"), "{failure}");
    }

    #[test]
    fn only_the_latest_run_can_be_unfinished() {
        let (_folder, layout, run) = setting();
        let order = |run: &RunId| Order {
            run: run.clone(),
            controller: String::new(),
            task: Task::Remove(RemoveWhat::All),
        };
        assert_eq!(unfinished(&layout).unwrap(), None);
        order(&run).save(&layout).unwrap();
        assert_eq!(unfinished(&layout).unwrap(), Some(run.clone()));
        let (mut journal, _) = Journal::open(&layout, &run).unwrap();
        resumed(&mut journal);
        let later: RunId = "r2".parse().unwrap();
        order(&later).save(&layout).unwrap();
        assert_eq!(unfinished(&layout).unwrap(), Some(later.clone()));
        let (mut journal, _) = Journal::open(&layout, &later).unwrap();
        let finished = What::Finished {
            outcome: Outcome::Done,
            tally: Tally::default(),
        };
        journal.append(finished).unwrap();
        assert_eq!(unfinished(&layout).unwrap(), None);
        for number in 0..40 {
            order(&format!("x{number}").parse().unwrap())
                .save(&layout)
                .unwrap();
        }
        prune(&layout).unwrap();
        assert!(!layout.order(&run).exists() && !layout.journal(&run).exists());
        assert_eq!(runs(&layout).unwrap().len(), 16);
    }
}
