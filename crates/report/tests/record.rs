//! The record of a run: written and read by the same types, readable after a kill.

#![allow(clippy::unwrap_used, reason = "a failed unwrap reports its location")]

use casement_diag::Problem;
use casement_report::record::{
    EventEntry, Head, HostSummary, PlanEntry, RECORD_VERSION, ReadError, Record, Summary, line,
    summary,
};
use casement_report::{Action, ObjectChange, Run, Step, StepResult};
use casement_resource::wire::{Event, EventKind, Outcome, RunKind, Tally};
use casement_resource::{Change, Code, Diff, Failure, ResourceId, Stage};

fn head() -> Head {
    Head {
        record_version: RECORD_VERSION,
        casement: "0.1.0".to_owned(),
        verb: "apply".to_owned(),
        began: "2030-01-02T03-04-05Z".to_owned(),
    }
}

fn id(text: &str) -> ResourceId {
    text.parse().unwrap()
}

fn failure() -> Failure {
    let failure = Failure::new(Code::ServiceFailed, "the kubelet stopped", "read its log");
    failure.values("running", "größer als 1 MB → beendet")
}

fn plan() -> Vec<PlanEntry> {
    let changes = Diff::Changes(vec![Change::missing("exists", "Verzeichnis „Öl“ 🛢")]);
    vec![
        PlanEntry::Cluster {
            changes: vec![ObjectChange {
                api_version: "apps/v1".to_owned(),
                kind: "DaemonSet".to_owned(),
                namespace: Some("kube-system".to_owned()),
                name: "kube-proxy".to_owned(),
                action: Action::Change,
                field: Some("/spec/template/spec/nodeSelector".to_owned()),
                note: None,
                outage: Some("all pods lose the network".to_owned()),
            }],
        },
        PlanEntry::Stage {
            host: "windows1".to_owned(),
            stage: "prepare".to_owned(),
            steps: vec![
                Step::observed(&id("dir"), r"directory C:\k", &Ok(changes)),
                Step::observed(&id("env"), "env A", &Ok(Diff::unchanged("same value"))),
                Step::observed(&id("runs"), "service kubelet", &Err(failure())),
            ],
        },
    ]
}

fn events() -> Vec<EventEntry> {
    let kinds = [
        EventKind::Began {
            kind: RunKind::Converge(Stage::Prepare),
            steps: 3,
            controller: "anna, process 7".to_owned(),
        },
        EventKind::StepBegan {
            id: id("dir"),
            name: r"directory C:\k".to_owned(),
            changes: vec![Change::missing("exists", "Verzeichnis „Öl“ 🛢")],
            disruptive: false,
        },
        EventKind::StepChanged {
            id: id("dir"),
            unobserved: Vec::new(),
        },
        EventKind::StepInSync {
            id: id("env"),
            reason: "same value".to_owned(),
        },
        EventKind::StepFailed {
            id: id("runs"),
            failure: failure(),
        },
        EventKind::StepSkipped {
            id: id("join"),
            name: "join windows1".to_owned(),
            because: id("runs"),
        },
        EventKind::Finished {
            outcome: Outcome::Failed,
            tally: Tally::default(),
        },
    ];
    let entry = |(sequence, kind)| EventEntry {
        host: "windows1".to_owned(),
        stage: "prepare".to_owned(),
        event: Event {
            run: "r1-prepare".parse().unwrap(),
            sequence,
            at: 1_000 + sequence * 100,
            kind,
        },
    };
    (1..).zip(kinds).map(entry).collect()
}

fn host_summaries() -> Vec<HostSummary> {
    vec![
        HostSummary {
            name: "linux1".to_owned(),
            changed: 2,
            pods: Some("10.244.0.0/24".to_owned()),
            seconds: Some(0.25),
            ..HostSummary::default()
        },
        HostSummary {
            name: "windows1".to_owned(),
            removed: vec!["service kubelet".to_owned()],
            error: Some(
                Problem::new("CAS-NODE-008", "the kubelet stopped", "read its log")
                    .detail("expected", "running")
                    .detail("found", "stopped")
                    .detail("host", "windows1"),
            ),
            ..HostSummary::default()
        },
    ]
}

fn whole_summary() -> Summary {
    Summary {
        head: head(),
        seconds: 1.5,
        outcome: Outcome::Failed,
        hosts: host_summaries(),
        write_error: None,
    }
}

/// Plan and events as they are written.
fn texts() -> (String, String) {
    let entries = plan();
    let plan = std::iter::once(line(&head())).chain(entries.iter().map(line));
    (plan.collect(), events().iter().map(line).collect())
}

fn parse(plan: &str, events: &str, summary: Option<&str>) -> Result<Record, ReadError> {
    let summary = summary.map(str::as_bytes);
    Record::parse(plan.as_bytes(), events.as_bytes(), summary)
}

#[test]
fn a_record_reads_as_it_was_written() {
    let (plan_text, events_text) = texts();
    let summary_text = summary(&whole_summary());
    let record = parse(&plan_text, &events_text, Some(&summary_text)).unwrap();
    let expected = Record {
        head: Some(head()),
        plan: plan(),
        events: events(),
        summary: Some(whole_summary()),
    };
    assert_eq!(record, expected);
    let entries = record.plan.iter().map(line);
    let again: String = std::iter::once(line(&head())).chain(entries).collect();
    assert_eq!(again, plan_text);
}

#[test]
fn a_record_that_was_cut_at_any_byte_reads_up_to_its_last_line() {
    let (plan_text, events_text) = texts();
    let newlines = |text: &[u8]| text.iter().filter(|byte| **byte == b'\n').count();
    for cut in 0..=plan_text.len() {
        let text = &plan_text.as_bytes()[..cut];
        let record = Record::parse(text, b"", None).unwrap();
        assert_eq!(record.head.is_some(), newlines(text) > 0, "cut at {cut}");
        let entries = newlines(text).saturating_sub(1);
        assert_eq!(record.plan, plan()[..entries], "cut at {cut}");
        assert!(Run::of(&record).is_incomplete());
    }
    for cut in 0..=events_text.len() {
        let text = &events_text.as_bytes()[..cut];
        let record = Record::parse(plan_text.as_bytes(), text, None).unwrap();
        assert_eq!(record.events, events()[..newlines(text)], "cut at {cut}");
        let run = Run::of(&record);
        assert_eq!((run.outcome, run.verb.as_str()), (None, "apply"));
    }
}

#[test]
fn a_run_that_could_not_write_its_events_reads_as_well() {
    let (plan_text, events_text) = texts();
    let cut = &events_text[..events_text.len() - 10];
    let complete = summary(&whole_summary());
    let error = parse(&plan_text, cut, Some(&complete)).unwrap_err();
    assert!(
        error.to_string().contains("events.jsonl, line 7"),
        "{error}"
    );
    let full = summary(&Summary {
        write_error: Some("no space left on device".to_owned()),
        ..whole_summary()
    });
    let record = parse(&plan_text, cut, Some(&full)).unwrap();
    assert_eq!(record.events, events()[..6]);
}

#[test]
fn a_record_of_a_newer_version_is_rejected_with_both_versions() {
    let newer = format!("{}\n", r#"{"recordVersion":7,"shape":"unknown"}"#);
    for (plan, summary) in [(newer.as_str(), None), ("", Some(newer.as_str()))] {
        let error = parse(plan, "", summary).unwrap_err();
        assert!(matches!(error, ReadError::Newer { found: 7 }), "{error}");
        let expected = "record version 7 is not supported; the newest supported version is 1";
        assert_eq!(error.to_string(), expected);
    }
}

#[test]
fn a_record_without_a_version_is_rejected() {
    let old = "{\"casement\":\"0.1.0\",\"verb\":\"apply\",\"began\":\"x\"}\n";
    let error = parse(old, "", None).unwrap_err();
    assert!(matches!(error, ReadError::Unversioned), "{error}");
}

/// Records outlive the program that wrote them: this text must stay readable as long as
/// its version is supported. Do not change it; add another.
#[test]
fn a_record_of_version_1_is_readable() {
    let plan = include_str!("record/plan.jsonl");
    let events = include_str!("record/events.jsonl");
    let summary_text = include_str!("record/summary.json");
    let record = parse(plan, events, Some(summary_text)).unwrap();
    assert_eq!(record.plan, self::plan());
    assert_eq!(record.events, self::events());
    assert_eq!(record.summary, Some(whole_summary()));
}

#[test]
fn a_run_has_the_steps_with_their_position_action_and_error() {
    let (plan_text, events_text) = texts();
    let summary_text = summary(&whole_summary());
    let record = parse(&plan_text, &events_text, Some(&summary_text)).unwrap();
    let run = Run::of(&record);
    let names: Vec<&str> = run.hosts.iter().map(|host| host.name.as_str()).collect();
    assert_eq!(names, ["linux1", "windows1"], "in the order of the summary");
    let steps = run.hosts[1].steps.iter();
    let steps = steps.map(|it| (it.number, it.step.identity(), it.step.action, it.result));
    let expected = [
        (1, r"directory C:\k", Action::Create, StepResult::Changed),
        (3, "service kubelet", Action::Unknown, StepResult::Failed),
        (4, "join windows1", Action::Unknown, StepResult::Skipped),
    ];
    let expected = expected.map(|(number, name, action, it)| (number, name.to_owned(), action, it));
    assert_eq!(steps.collect::<Vec<_>>(), expected);
    let [_, failed, skipped] = run.hosts[1].steps.as_slice() else {
        panic!("{run:?}");
    };
    assert_eq!(failed.step.error.as_ref().unwrap().code, "CAS-NODE-008");
    let reason = skipped.step.reason.as_deref();
    assert_eq!(reason, Some("service kubelet failed"));
    // The failed host has one change, although its result is an error.
    assert_eq!((run.hosts[0].changed, run.hosts[1].changed), (2, 1));
}
