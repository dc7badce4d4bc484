//! Faults of a Linux host and how the agent reports them.

use std::fs::{self, Permissions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread;

use casement_resource::wire::{
    Decoder, EventKind, Line, Outcome, PROTOCOL, ToAgent, ToController, encode,
};
use casement_resource::{Artifact, ArtifactFormat, Code, Failure, Resource, Sha256};

use crate::agent::Agent;
use crate::wire::{document, file, step};

const NOBODY: u32 = 65534;

fn step_failure(events: &[EventKind]) -> &Failure {
    let mut failures = events.iter().filter_map(|event| match event {
        EventKind::StepFailed { failure, .. } => Some(failure),
        _ => None,
    });
    failures.next().unwrap_or_else(|| panic!("{events:?}"))
}

fn is_done(events: &[EventKind]) -> bool {
    let done = Outcome::Done;
    matches!(events.last(), Some(EventKind::Finished { outcome, .. }) if *outcome == done)
}

fn mount(agent: &Agent, folder: &Path, size: &str) {
    let (folder, size) = (folder.to_str().unwrap(), format!("size={size}"));
    agent.inside(&["mount", "-t", "tmpfs", "-o", &size, "none", folder]);
}

fn enlarge(agent: &Agent, folder: &Path) {
    let folder = folder.to_str().unwrap();
    agent.inside(&["mount", "-o", "remount,size=64m", folder]);
}

#[test]
#[ignore = "needs root"]
fn full_disk_during_an_artifact_keeps_the_old_file() {
    let folder = tempfile::tempdir().unwrap();
    let agent = Agent::in_namespace(folder.path());
    let disk = folder.path().join("disk");
    fs::create_dir(&disk).unwrap();
    mount(&agent, &disk, "512k");
    let program = disk.join("tool");
    let path = program.to_str().unwrap();
    agent.inside(&["sh", "-c", &format!("echo before > {path}")]);
    let blob = vec![7; 2 * 1024 * 1024];
    let wanted = document(vec![step(
        "tool",
        Resource::Artifact(Artifact {
            sha256: Sha256::of(&blob),
            size: blob.len() as u64,
            format: ArtifactFormat::Plain,
            destination: path.parse().unwrap(),
            members: Vec::new(),
            access: Default::default(),
        }),
    )]);
    let mut channel = agent.channel();
    let blobs = agent.state().join("blobs");
    fs::write(blobs.join(Sha256::of(&blob).to_string()), &blob).unwrap();

    let events = channel.converge("r1", &wanted);
    let failure = step_failure(&events);
    assert_eq!(failure.code, Code::System);
    assert!(
        failure.expected.as_ref().unwrap().contains("more than "),
        "{failure:?}"
    );
    assert!(
        failure.found.as_ref().unwrap().contains("bytes free"),
        "{failure:?}"
    );
    assert!(failure.help.contains("free up disk space"), "{failure:?}");
    assert_eq!(
        agent.inside(&["ls", "-A", disk.to_str().unwrap()]),
        "tool\n"
    );
    assert_eq!(agent.inside(&["cat", path]), "before\n");

    enlarge(&agent, &disk);
    assert!(is_done(&channel.converge("r2", &wanted)));
    let size = agent.inside(&["stat", "-c", "%s", path]);
    assert_eq!(size.trim(), blob.len().to_string());
    channel.bye();
}

#[test]
#[ignore = "needs root"]
fn full_state_folder_is_reported_and_the_next_run_succeeds() {
    let folder = tempfile::tempdir().unwrap();
    let agent = Agent::in_namespace(folder.path());
    let disk = agent.state().to_owned();
    fs::create_dir(&disk).unwrap();
    mount(&agent, &disk, "256k");
    agent.inside(&["chmod", "0700", disk.to_str().unwrap()]);
    let target = folder.path().join("made");
    let wanted = document(vec![file("made", target.to_str().unwrap(), "x")]);
    let mut channel = agent.channel();
    let filler = disk.join("filler");
    let fill = format!("cat /dev/zero > {} 2>/dev/null || true", filler.display());
    agent.inside(&["sh", "-c", &fill]);
    channel.send(&ToAgent::Converge {
        run: "r1".parse().unwrap(),
        document: wanted.clone(),
    });
    let ToController::Failed(failure) = channel.receive() else {
        panic!("a run started without a journal");
    };
    assert_eq!(failure.code, Code::State);
    assert!(failure.help.contains("free up disk space"), "{failure:?}");
    assert!(!target.exists());

    agent.inside(&["rm", filler.to_str().unwrap()]);
    assert!(is_done(&channel.converge("r2", &wanted)));
    assert_eq!(fs::read_to_string(target).unwrap(), "x");
    channel.bye();
}

/// Sends lines to the agent, closes its input and returns all responses.
fn responses(command: &mut Command, lines: &[String]) -> Vec<ToController> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    command.stderr(Stdio::null());
    // A process that another test is spawning may still have the copy open.
    let mut child = loop {
        match command.spawn() {
            Err(error) if error.kind() == ErrorKind::ExecutableFileBusy => thread::yield_now(),
            started => break started.unwrap(),
        }
    };
    let mut input = child.stdin.take().unwrap();
    for line in lines {
        input.write_all(line.as_bytes()).unwrap();
    }
    drop(input);
    let mut bytes = Vec::new();
    let mut output = child.stdout.take().unwrap();
    output.read_to_end(&mut bytes).unwrap();
    child.wait().unwrap();
    let mut decoder = Decoder::new();
    decoder.push(&bytes);
    let mut messages = Vec::new();
    while let Some(line) = decoder.next_line().unwrap() {
        if let Line::Message(message) = line {
            messages.push(message);
        }
    }
    messages
}

fn hello() -> String {
    let controller = "test".to_owned();
    encode(&ToAgent::Hello {
        protocol: PROTOCOL,
        controller,
    })
    .unwrap()
}

fn failure_in(messages: &[ToController]) -> &Failure {
    match messages {
        [ToController::Failed(failure), ..] => failure,
        other => panic!("{other:?}"),
    }
}

fn agent_at(state: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_casement-node"));
    command.arg("--state-dir").arg(state).arg("channel");
    command
}

#[test]
#[ignore = "needs root"]
fn unprivileged_user_is_rejected_first() {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
    let program = folder.path().join("casement-node");
    fs::copy(env!("CARGO_BIN_EXE_casement-node"), &program).unwrap();
    let mut channel = Command::new(&program);
    channel.arg("channel").uid(NOBODY).gid(NOBODY);
    let retire = encode(&ToAgent::Retire).unwrap();
    let messages = responses(&mut channel, &[hello(), retire]);
    let failure = failure_in(&messages);
    assert_eq!(failure.code, Code::NotElevated);
    assert_eq!(failure.expected.as_deref(), Some("user 0 (root)"));
    assert_eq!(failure.found.as_deref(), Some("user 65534"));
    // All other requests fail, too.
    assert!(
        matches!(messages[1..], [ToController::Failed(_)]),
        "{messages:?}"
    );
    for verb in ["serve", "observe"] {
        let mut command = Command::new(&program);
        let output = command.arg(verb).uid(NOBODY).gid(NOBODY).output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(stderr.starts_with("error[CAS-NODE-018]: "), "{stderr}");
        assert!(
            stderr.contains("\n  found    user 65534\n  help     "),
            "{stderr}"
        );
    }
}

#[test]
#[ignore = "needs root"]
fn foreign_owner_anywhere_in_the_state_path_is_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let theirs = folder.path().join("theirs");
    let state = theirs.join("state");
    fs::create_dir_all(&state).unwrap();
    for (path, descriptor) in [(&theirs, "0755 65534:"), (&state, "0755 65534:")] {
        chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
        let messages = responses(&mut agent_at(&state), &[hello()]);
        let failure = failure_in(&messages);
        assert_eq!(failure.code, Code::Untrusted);
        assert!(
            failure.message.contains(path.to_str().unwrap()),
            "{failure:?}"
        );
        assert!(
            failure.found.as_ref().unwrap().starts_with(descriptor),
            "{failure:?}"
        );
        assert!(
            fs::read_dir(&state).unwrap().next().is_none(),
            "something was created"
        );
        chown(path, Some(0), Some(0)).unwrap();
    }
    let messages = responses(&mut agent_at(&state), &[hello()]);
    assert!(
        matches!(messages[..], [ToController::Hello { .. }]),
        "{messages:?}"
    );
}

#[test]
fn document_of_a_newer_version_is_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("state");
    let newer = r#"{"version":9,"host":"h","stage":"later","steps":[],"more":1}"#;
    let unknown = r#"{"host":"h","stage":"join","steps":[{"id":"a","resource":{"kind":"paint"}}]}"#;
    let lines = [newer, unknown]
        .map(|document| format!("casement1 {{\"observe\":{{\"document\":{document}}}}}\n"));
    let [first, second] = lines;
    let messages = responses(&mut agent_at(&state), &[hello(), first, second]);
    let failure = failure_in(&messages[1..]);
    assert_eq!(failure.code, Code::Protocol);
    assert!(
        failure.message.contains("version 9 is not supported"),
        "{failure:?}"
    );
    assert!(failure.help.contains("same version"), "{failure:?}");
    let failure = failure_in(&messages[2..]);
    assert!(
        failure.message.contains("unknown variant `paint`"),
        "{failure:?}"
    );
}

fn run_agent(state: &Path, arguments: &[&str]) -> (Option<i32>, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_casement-node"));
    command.arg("--state-dir").arg(state).args(arguments);
    let Output {
        status,
        stdout,
        stderr,
    } = command.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (status.code(), text(stdout), text(stderr))
}

#[test]
fn observe_reports_drift_and_usage_errors_are_explained() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("state");
    let target = folder.path().join("made");
    let wanted = document(vec![file("made", target.to_str().unwrap(), "x")]);
    let written = folder.path().join("document.json");
    fs::write(&written, serde_json::to_vec(&wanted).unwrap()).unwrap();
    let path = written.to_str().unwrap();

    let (code, stdout, _) = run_agent(&state, &["observe", path]);
    assert_eq!(code, Some(4));
    assert!(
        stdout
            .starts_with("1 of 1 step out of sync. No changes were made.\n\nlin1, stage prepare\n")
    );
    assert!(
        !target.exists() && !state.exists(),
        "observe created something"
    );
    fs::write(&target, "x").unwrap();
    let (code, stdout, _) = run_agent(&state, &["observe", path]);
    assert_eq!(code, Some(0), "{stdout}");
    assert!(stdout.starts_with("No changes: "));
    let (code, stdout, _) = run_agent(&state, &["observe"]);
    assert_eq!(code, Some(0));
    assert!(stdout.starts_with("Nothing to observe: "));

    let (code, _, errors) = run_agent(&state, &["observe", "/no/such"]);
    assert_eq!(code, Some(1));
    assert_eq!(
        errors,
        "error[CAS-NODE-014]: failed to read `/no/such`\n  expected a node document in JSON\n  \
         found    No such file or directory (os error 2)\n  help     pass the path of a node document\n"
    );
    let (code, _, errors) = run_agent(&state, &["chanel"]);
    assert_eq!(code, Some(2));
    assert_eq!(
        errors,
        "error: unknown command `chanel`; did you mean `channel`?\n  run `casement-node help` for usage\n"
    );
    let (code, help, _) = run_agent(&state, &["--help"]);
    assert_eq!(code, Some(0));
    let mut goldens = casement_golden::Goldens::in_folder("tests/golden/command");
    goldens.add("help.txt", help);
    goldens.assert();
}
