//! README.md and docs/images/demo.txt show what casement prints today: every block is
//! executed, or checked against what the program accepts.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

use casement_sim::SimOptions;

use crate::command;
use crate::controller::EventBarrier;
use crate::fixture::Fixture;
use crate::kill_point::KillPoint;
use crate::terminal::Terminal;

mod blocks;

use blocks::{Block, Shown, assert_shows, root};

/// The block with a command.
fn block_with(command: &str) -> Block {
    let mut blocks = Block::all().into_iter();
    let found = blocks.find(|it| it.commands().iter().any(|it| it.command == command));
    found.unwrap_or_else(|| panic!("README.md does not show `{command}`"))
}

fn shown(command: &str) -> Shown {
    let commands = block_with(command).commands().into_iter();
    let found = commands.into_iter().find(|it| it.command == command);
    found.unwrap()
}

fn casement() -> Command {
    Command::new(env!("CARGO_BIN_EXE_casement"))
}

fn yaml() -> String {
    let mut blocks = Block::all().into_iter();
    let found = blocks.find(|it| it.language == "yaml");
    found
        .expect("README.md has a cluster file")
        .lines
        .join("\n")
        + "\n"
}

/// Blocks, by what checks them.
#[tokio::test]
async fn every_block_is_checked() {
    let tests = fs::read_to_string(root().join("test")).unwrap();
    let levels = tests
        .lines()
        .find(|line| line.starts_with("case $level in all"));
    let levels = levels.unwrap();
    for block in Block::all() {
        let line = block.line;
        match block.language.as_str() {
            // `cluster_file_has_no_findings`
            "yaml" => {}
            "indented" => {
                for line in &block.lines {
                    let words = line.split('#').next().unwrap().split_whitespace();
                    match words.collect::<Vec<_>>().as_slice() {
                        ["./test"] | ["cargo", "test"] => {}
                        ["./test", level] => {
                            assert!(levels.contains(&format!("| {level}")), "{line}");
                        }
                        // `packages_of_the_lab_are_complete`
                        ["apt-get", "install", ..] => {}
                        _ => panic!("no test checks `{line}`"),
                    }
                }
            }
            "" => assert_commands_are_accepted(&block).await,
            other => panic!("no test checks the {other} block in line {line}"),
        }
    }
}

/// The program accepts every option; `OUTPUT_CHECKED` says which test checks the output.
async fn assert_commands_are_accepted(block: &Block) {
    const OUTPUT_CHECKED: [&str; 6] = [
        "cargo run --release -- demo",
        "casement apply",
        "casement status",
        "casement apply --yes",
        // By `casement-lab`, which has the format.
        "cargo run --release -- lab up --hosts 2",
        // It has no output here.
        "cargo run --release -- apply -f ~/.local/state/casement/lab/default/cluster.yaml",
    ];
    let commands = block.commands();
    assert!(!commands.is_empty(), "line {}: no command", block.line);
    for shown in commands {
        let arguments = shown.arguments();
        let arguments = arguments.unwrap_or_else(|| panic!("no test checks `{}`", shown.command));
        let mut help = casement();
        // `--help` ends the command after the arguments are parsed.
        help.args(arguments).arg("--help");
        command::succeed(help).await;
        assert!(
            OUTPUT_CHECKED.contains(&shown.command.as_str()),
            "no test checks the output of `{}`",
            shown.command
        );
    }
}

/// `cargo run` means casement, although the workspace has more programs.
#[test]
fn cargo_runs_casement() {
    let manifest = fs::read_to_string(root().join("crates/casement/Cargo.toml")).unwrap();
    assert!(manifest.contains("\ndefault-run = \"casement\"\n"));
}

#[tokio::test]
async fn cluster_file_has_no_findings() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("cluster.yaml"), yaml()).unwrap();
    let mut lint = casement();
    lint.current_dir(folder.path()).arg("lint");
    let printed = command::succeed(lint).await;
    assert!(printed.starts_with("No findings"), "{printed}");
}

/// The hosts of the outputs below are those of the cluster file.
#[test]
fn outputs_are_of_the_hosts_in_the_cluster_file() {
    let file = yaml();
    let cluster = casement_source::load("cluster.yaml", &file)
        .cluster
        .unwrap();
    let hosts = cluster.spec.hosts.iter();
    let hosts: BTreeSet<String> = hosts.map(|host| host.name.to_string()).collect();
    for command in ["casement apply", "casement status"] {
        let output = shown(command).output;
        let names = output
            .iter()
            .filter_map(|line| line.split_whitespace().next());
        let names: BTreeSet<&str> = names.filter(|name| hosts.contains(*name)).collect();
        assert_eq!(names.len(), hosts.len(), "{command}: {output:#?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn demo_prints_what_is_shown() {
    let state = tempfile::tempdir().unwrap();
    let mut demo = casement();
    demo.arg("demo").env("XDG_STATE_HOME", state.path());
    let demo = Terminal::run(demo).finish().await;
    let printed = demo.rows.join("\n");
    assert!(demo.status.success(), "{printed}");
    assert_shows(&shown("cargo run --release -- demo").output, &demo.lines);

    // From the first change on, with `tools/pictures`.
    let folder = fs::read_dir(state.path().join("casement/demo")).unwrap();
    let folder = folder.last().unwrap().unwrap().path().display().to_string();
    let printed = printed.replace(&folder, "~/demo");
    let start = printed.find("$ casement apply").unwrap();
    let now: Vec<&str> = printed[start..].lines().collect();
    let file = fs::read_to_string(root().join("docs/images/demo.txt")).unwrap();
    let written: Vec<&str> = file.lines().collect();
    let text = |lines: Vec<&str>| {
        let steady = lines.into_iter().filter(|line| !is_transient(line));
        steady
            .map(|line| blocks::normalized(line) + "\n")
            .collect::<String>()
    };
    let (now, written) = (text(now), text(written));
    assert!(
        now == written,
        "run tools/pictures:\n{}",
        casement_golden::diff(&written, &now)
    );
}

/// Printed only if the pods take a moment.
fn is_transient(line: &str) -> bool {
    line.ends_with(": its pods are not ready yet")
}

/// The cells of a row of `status` without the operating system: simulated hosts have others.
fn without_system(row: &str) -> String {
    let cells = row
        .split("  ")
        .map(str::trim)
        .filter(|cell| !cell.is_empty());
    let mut cells: Vec<&str> = cells.collect();
    if cells.len() > 3 {
        cells.remove(1);
    }
    cells.join("  ")
}

/// Blocks hosts at the change of their network that is shown.
fn block_all(fixture: &Fixture, hosts: &[&str], event: u64) -> Vec<EventBarrier> {
    let hosts = hosts.iter().map(|host| {
        let point = KillPoint {
            host: (*host).to_owned(),
            stage: "network",
            event,
        };
        EventBarrier::after(&point, fixture.cluster.host(host).unwrap())
    });
    hosts.collect()
}

/// Asserts the screen when all hosts have stopped and the controller has all their events.
async fn assert_blocks_at(terminal: &mut Terminal, barriers: &[EventBarrier], shown: &[String]) {
    const EVENTS_TIMEOUT: Duration = Duration::from_secs(20);
    let blocking = |_: &[String]| barriers.iter().all(EventBarrier::is_blocking);
    let mut lines = terminal.wait_for("all hosts have stopped", blocking).await;
    let started = Instant::now();
    while blocks::find(shown, &lines).is_err() && started.elapsed() < EVENTS_TIMEOUT {
        tokio::time::sleep(Duration::from_millis(20)).await;
        lines = terminal.lines();
    }
    assert_shows(shown, &lines);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn running_apply_prints_what_is_shown() {
    // The event with which the step begins that creates the HNS network.
    const HNS_NETWORK: u64 = 5;
    let fixture = Fixture::start(2, false).await;
    let barriers = block_all(&fixture, &["windows1", "windows2"], HNS_NETWORK);
    let mut terminal = Terminal::run(fixture.command(&["apply"]));
    let asks = |lines: &[String]| lines.iter().any(|line| line.ends_with("[y/N]"));
    terminal.wait_for("the prompt", asks).await;
    terminal.type_line("y");
    assert_blocks_at(&mut terminal, &barriers, &shown("casement apply").output).await;
    drop(barriers);
    let apply = terminal.finish().await;
    assert!(apply.status.success(), "{}", apply.rows.join("\n"));

    // Another program stops a service.
    let host = fixture.cluster.host("windows1").unwrap();
    host.sim().modify_world(|world| {
        let service = world.services.get_mut("kube-proxy").unwrap();
        service.state = casement_resource::ServiceState::Stopped;
    });
    // The names of simulated systems are one character longer, and cut the last column.
    let status = Terminal::run_with(fixture.command(&["status"]), 81);
    let status = status.finish().await;
    let expected: Vec<String> = shown("casement status").output;
    let expected: Vec<String> = expected.iter().map(|row| without_system(row)).collect();
    let lines: Vec<String> = status.lines.iter().map(|row| without_system(row)).collect();
    assert_shows(&expected, &lines);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn failing_host_is_shown_while_the_others_continue() {
    const KUBE_PROXY: u64 = 38;
    let shape = SimOptions {
        windows: 10,
        ..SimOptions::default()
    };
    let fixture = Fixture::start_with(&shape).await;
    let file = fixture.cluster.cluster_file();
    let text = fs::read_to_string(&file).unwrap();
    let host = fixture.cluster.host("windows7").unwrap();
    let unreachable = text.replace(&format!("port: {}}}", host.port()), "port: 9}");
    assert_ne!(unreachable, text);
    fs::write(&file, unreachable).unwrap();
    let hosts = [
        "windows1",
        "windows2",
        "windows4",
        "windows6",
        "windows8",
        "windows9",
        "windows10",
    ];
    let barriers = block_all(&fixture, &hosts, KUBE_PROXY);
    let mut terminal = Terminal::run(fixture.command(&["apply", "--yes"]));
    let shown = shown("casement apply --yes").output;
    assert_blocks_at(&mut terminal, &barriers, &shown).await;
    drop(barriers);
    assert!(!terminal.finish().await.status.success());
}
