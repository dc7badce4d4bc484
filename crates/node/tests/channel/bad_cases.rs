//! A Linux host on which something is wrong, and what the agent says of it.

use std::fs::{self, Permissions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread;

use casement_resource::wire::{
    Decoder, Line, Outcome, PROTOCOL, ToAgent, ToController, What, encode,
};
use casement_resource::{Artifact, ArtifactFormat, Code, Failure, Resource, Sha256};

use crate::agent::Agent;
use crate::wire::{document, file, step};

const NOBODY: u32 = 65534;

fn failure(events: &[What]) -> &Failure {
    let mut failures = events.iter().filter_map(|event| match event {
        What::StepFailed { failure, .. } => Some(failure),
        _ => None,
    });
    failures.next().unwrap_or_else(|| panic!("{events:?}"))
}

fn is_done(events: &[What]) -> bool {
    let done = Outcome::Done;
    matches!(events.last(), Some(What::Finished { outcome, .. }) if *outcome == done)
}

/// A disk of its own, at a folder.
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
fn a_disk_that_is_full_in_the_middle_of_an_artifact_keeps_what_it_had() {
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
    let told = failure(&events);
    assert_eq!(told.code, Code::System);
    assert!(
        told.wanted.as_ref().unwrap().contains("room for more"),
        "{told:?}"
    );
    assert!(
        told.found.as_ref().unwrap().contains("bytes are free"),
        "{told:?}"
    );
    assert!(told.remedy.contains("free space"), "{told:?}");
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
fn a_state_folder_without_room_is_told_and_the_next_run_is_whole() {
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
    channel.say(&ToAgent::Converge {
        run: "r1".parse().unwrap(),
        document: wanted.clone(),
    });
    let ToController::Failed(told) = channel.hear() else {
        panic!("a run began without a journal");
    };
    assert_eq!(told.code, Code::State);
    assert!(told.remedy.contains("free space"), "{told:?}");
    assert!(!target.exists());

    agent.inside(&["rm", filler.to_str().unwrap()]);
    assert!(is_done(&channel.converge("r2", &wanted)));
    assert_eq!(fs::read_to_string(target).unwrap(), "x");
    channel.bye();
}

/// What the agent answers to lines, and that it ends.
fn answers(command: &mut Command, lines: &[String]) -> Vec<ToController> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    command.stderr(Stdio::null());
    // A process that another test starts in this moment may still hold the copy open.
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

fn refused(messages: &[ToController]) -> &Failure {
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
fn somebody_who_may_not_change_the_host_is_told_before_anything_else() {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
    let program = folder.path().join("casement-node");
    fs::copy(env!("CARGO_BIN_EXE_casement-node"), &program).unwrap();
    let mut channel = Command::new(&program);
    channel.arg("channel").uid(NOBODY).gid(NOBODY);
    let retire = encode(&ToAgent::Retire).unwrap();
    let messages = answers(&mut channel, &[hello(), retire]);
    let told = refused(&messages);
    assert_eq!(told.code, Code::NotElevated);
    assert_eq!(told.wanted.as_deref(), Some("user 0 (root)"));
    assert_eq!(told.found.as_deref(), Some("user 65534"));
    // Nor is anything else done for them.
    assert!(
        matches!(messages[1..], [ToController::Failed(_)]),
        "{messages:?}"
    );
    for verb in ["serve", "observe"] {
        let mut command = Command::new(&program);
        let output = command.arg(verb).uid(NOBODY).gid(NOBODY).output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.starts_with("error[CAS-NODE-018]: "), "{said}");
        assert!(
            said.contains("\n  found   user 65534\n  remedy  "),
            "{said}"
        );
    }
}

#[test]
#[ignore = "needs root"]
fn state_folders_of_somebody_else_are_refused_wherever_they_are_on_the_way() {
    let folder = tempfile::tempdir().unwrap();
    let theirs = folder.path().join("theirs");
    let state = theirs.join("state");
    fs::create_dir_all(&state).unwrap();
    for (place, whole) in [(&theirs, "0755 65534:"), (&state, "0755 65534:")] {
        chown(place, Some(NOBODY), Some(NOBODY)).unwrap();
        let messages = answers(&mut agent_at(&state), &[hello()]);
        let told = refused(&messages);
        assert_eq!(told.code, Code::Untrusted);
        assert!(told.what.contains(place.to_str().unwrap()), "{told:?}");
        assert!(told.found.as_ref().unwrap().starts_with(whole), "{told:?}");
        assert!(
            fs::read_dir(&state).unwrap().next().is_none(),
            "something was made"
        );
        chown(place, Some(0), Some(0)).unwrap();
    }
    let messages = answers(&mut agent_at(&state), &[hello()]);
    assert!(
        matches!(messages[..], [ToController::Hello { .. }]),
        "{messages:?}"
    );
}

#[test]
fn a_document_of_a_newer_version_is_refused_for_its_version() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("state");
    let newer = r#"{"version":9,"host":"h","stage":"later","steps":[],"more":1}"#;
    let unknown = r#"{"host":"h","stage":"join","steps":[{"id":"a","resource":{"kind":"paint"}}]}"#;
    let lines = [newer, unknown]
        .map(|document| format!("casement1 {{\"observe\":{{\"document\":{document}}}}}\n"));
    let [first, second] = lines;
    let messages = answers(&mut agent_at(&state), &[hello(), first, second]);
    let told = refused(&messages[1..]);
    assert_eq!(told.code, Code::Protocol);
    assert!(
        told.what.contains("version 9, and only versions up to 1"),
        "{told:?}"
    );
    assert!(told.remedy.contains("same version"), "{told:?}");
    let told = refused(&messages[2..]);
    assert!(told.what.contains("unknown variant `paint`"), "{told:?}");
}

fn said(state: &Path, arguments: &[&str]) -> (Option<i32>, String, String) {
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
fn a_person_is_told_what_differs_and_what_is_wrong_with_their_words() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("state");
    let target = folder.path().join("made");
    let wanted = document(vec![file("made", target.to_str().unwrap(), "x")]);
    let written = folder.path().join("document.json");
    fs::write(&written, serde_json::to_vec(&wanted).unwrap()).unwrap();
    let path = written.to_str().unwrap();

    let (code, told, _) = said(&state, &["observe", path]);
    assert_eq!(code, Some(4));
    assert!(told.starts_with("1 of 1 steps differ. Nothing was changed.\n\nlin1, stage prepare\n"));
    assert!(
        !target.exists() && !state.exists(),
        "observe has made something"
    );
    fs::write(&target, "x").unwrap();
    let (code, told, _) = said(&state, &["observe", path]);
    assert_eq!(code, Some(0), "{told}");
    assert!(told.starts_with("This host is right: "));
    let (code, told, _) = said(&state, &["observe"]);
    assert_eq!(code, Some(0));
    assert!(told.starts_with("Nothing to look at: "));

    let (code, _, errors) = said(&state, &["observe", "/no/such"]);
    assert_eq!(code, Some(1));
    assert_eq!(
        errors,
        "error[CAS-NODE-014]: `/no/such` cannot be read\n  wanted  a node document, as JSON\n  \
         found   No such file or directory (os error 2)\n  remedy  give the path of a node document\n"
    );
    let (code, _, errors) = said(&state, &["chanel"]);
    assert_eq!(code, Some(2));
    assert_eq!(
        errors,
        "error: there is no `chanel`; did you mean `channel`?\n  `casement-node help` says what there is\n"
    );
    let (code, help, _) = said(&state, &["--help"]);
    assert_eq!(code, Some(0));
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/help.txt");
    if std::env::var_os("BLESS").is_some() {
        fs::write(&golden, &help).unwrap();
    }
    assert_eq!(
        fs::read_to_string(golden).unwrap(),
        help,
        "BLESS=1 writes it"
    );
}
