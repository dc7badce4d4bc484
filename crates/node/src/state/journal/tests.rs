//! Truncated and damaged journals, and clocks that went back.

use std::fs;

use casement_resource::wire::{Outcome, RemoveScope, RunKind, Tally};

use super::*;
use crate::state::order::{Order, Task};

fn resumed(journal: &mut Journal) -> u64 {
    journal.append(EventKind::Resumed).unwrap().sequence
}

fn order(run: &RunId) -> Order {
    Order {
        run: run.clone(),
        controller: String::new(),
        task: Task::Remove(RemoveScope::All),
    }
}

fn fixture() -> (tempfile::TempDir, Layout, RunId) {
    let folder = tempfile::tempdir().unwrap();
    let layout = Layout::new(folder.path().to_owned());
    fs::create_dir(layout.journals()).unwrap();
    (folder, layout, "r1".parse().unwrap())
}

#[test]
fn sequence_continues_after_reopen() {
    let (_folder, layout, run) = fixture();
    let (mut journal, before) = Journal::open(&layout, &run).unwrap();
    assert!(before.is_empty());
    assert_eq!([resumed(&mut journal), resumed(&mut journal)], [1, 2]);
    let (mut journal, before) = Journal::open(&layout, &run).unwrap();
    assert_eq!(before.len(), 2);
    assert_eq!(resumed(&mut journal), 3);
}

#[test]
fn torn_last_line_is_truncated() {
    let (_folder, layout, run) = fixture();
    let (mut journal, _) = Journal::open(&layout, &run).unwrap();
    resumed(&mut journal);
    let one = fs::read(layout.journal(&run)).unwrap();
    resumed(&mut journal);
    let two = fs::read(layout.journal(&run)).unwrap();
    for length in one.len()..two.len() {
        fs::write(layout.journal(&run), &two[..length]).unwrap();
        let (mut journal, before) = Journal::open(&layout, &run).unwrap();
        assert_eq!(before.len(), 1, "{length}");
        assert_eq!(resumed(&mut journal), 2);
    }
}

#[test]
fn damage_in_the_middle_is_reported_and_does_not_block_the_next_run() {
    let (_folder, layout, run) = fixture();
    order(&run).save(&layout).unwrap();
    let (mut journal, _) = Journal::open(&layout, &run).unwrap();
    resumed(&mut journal);
    resumed(&mut journal);
    let mut bytes = fs::read(layout.journal(&run)).unwrap();
    bytes[20] ^= 1;
    fs::write(layout.journal(&run), &bytes).unwrap();
    let failure = Journal::open(&layout, &run).unwrap_err();
    assert!(failure.message.contains("line 1"), "{failure}");
    assert!(failure.expected.is_some() && failure.expected != failure.found);
    assert_eq!(damage(&layout).unwrap(), Some(failure));
    assert_eq!(unfinished(&layout).unwrap(), None);
    prune(&layout).unwrap();
    let next: RunId = "r2".parse().unwrap();
    order(&next).save(&layout).unwrap();
    assert_eq!(unfinished(&layout).unwrap(), Some(next));
    assert_eq!(damage(&layout).unwrap(), None);
}

fn three_events(layout: &Layout, run: &RunId) -> (Vec<u8>, Vec<Event>) {
    let (mut journal, _) = Journal::open(layout, run).unwrap();
    let began = EventKind::Began {
        kind: RunKind::Remove,
        steps: 1,
        controller: "anna".to_owned(),
    };
    let events = [began, EventKind::Resumed, EventKind::Resumed].map(|kind| journal.append(kind));
    let bytes = fs::read(layout.journal(run)).unwrap();
    (bytes, events.map(std::result::Result::unwrap).into())
}

#[test]
fn every_flipped_bit_is_detected() {
    let (_folder, layout, run) = fixture();
    let (whole, events) = three_events(&layout, &run);
    let lines = |bytes: &[u8]| bytes.iter().filter(|byte| **byte == b'\n').count();
    for at in 0..whole.len() {
        for bit in 0..8 {
            let mut bytes = whole.clone();
            bytes[at] ^= 1 << bit;
            match parse(&bytes) {
                Ok((read, good)) => {
                    assert!(read.len() < events.len(), "byte {at}, bit {bit}");
                    assert_eq!(read, events[..read.len()], "byte {at}, bit {bit}");
                    assert_eq!(lines(&bytes[..usize::try_from(good).unwrap()]), read.len());
                    // Only the last event may be missing.
                    assert!(lines(&whole[..at]) >= read.len(), "byte {at}, bit {bit}");
                }
                Err(damage) => assert_eq!(damage.line, lines(&whole[..at]) + 1),
            }
        }
    }
}

#[test]
fn truncated_journal_keeps_earlier_events_and_continues() {
    let (_folder, layout, run) = fixture();
    let (whole, events) = three_events(&layout, &run);
    for length in 0..whole.len() {
        fs::write(layout.journal(&run), &whole[..length]).unwrap();
        let (mut journal, read) = Journal::open(&layout, &run).unwrap();
        assert_eq!(read, events[..read.len()], "truncated at {length}");
        assert!(read.len() < 3, "truncated at {length}");
        assert_eq!(resumed(&mut journal), read.len() as u64 + 1);
        let again = super::events(&layout, &run).unwrap().unwrap();
        assert_eq!(again.len(), read.len() + 1, "truncated at {length}");
    }
}

/// Otherwise an outdated document would be applied.
#[test]
fn clock_set_back_does_not_change_the_latest_run() {
    let (_folder, layout, first) = fixture();
    let second: RunId = "a-name-that-sorts-before".parse().unwrap();
    for (run, at) in [(&first, 2_000_000), (&second, 1_000_000)] {
        order(run).save(&layout).unwrap();
        let event = Event {
            run: run.clone(),
            sequence: 1,
            at,
            kind: EventKind::Resumed,
        };
        fs::write(layout.journal(run), line(&event)).unwrap();
        assert_eq!(unfinished(&layout).unwrap().as_ref(), Some(run));
    }
    // A resumed run keeps its number.
    order(&first).save(&layout).unwrap();
    assert_eq!(unfinished(&layout).unwrap(), Some(second));
}

#[test]
fn order_of_another_version_is_reported_and_does_not_block() {
    let (_folder, layout, run) = fixture();
    order(&run).save(&layout).unwrap();
    let text = fs::read_to_string(layout.order(&run)).unwrap();
    fs::write(layout.order(&run), text.replace("remove", "paint")).unwrap();
    assert_eq!(unfinished(&layout).unwrap(), None);
    let failure = damage(&layout).unwrap().unwrap();
    assert!(failure.found.unwrap().contains("paint"));
}

#[test]
fn only_the_latest_run_can_be_unfinished() {
    let (_folder, layout, run) = fixture();
    assert_eq!(unfinished(&layout).unwrap(), None);
    order(&run).save(&layout).unwrap();
    assert_eq!(unfinished(&layout).unwrap(), Some(run.clone()));
    let (mut journal, _) = Journal::open(&layout, &run).unwrap();
    resumed(&mut journal);
    let later: RunId = "r2".parse().unwrap();
    order(&later).save(&layout).unwrap();
    assert_eq!(unfinished(&layout).unwrap(), Some(later.clone()));
    let (mut journal, _) = Journal::open(&layout, &later).unwrap();
    let finished = EventKind::Finished {
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
