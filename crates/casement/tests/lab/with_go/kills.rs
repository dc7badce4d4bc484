//! Controllers, services and connections are killed at points that a seed chooses: the next
//! `apply` completes and reaches the same state as an uninterrupted one.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::apply::casement;
use super::assert_no_token_remains;
use super::pod::get;
use super::snapshot::Snapshot;
use crate::kill_point::{self, KillPoint, StageEvents};
use crate::lab_fixture::{Lab, exclusive, succeed, text};
use crate::random::SeededRng;

/// Two events more than the stage has steps, which even a host without changes has. These are
/// the first ones: with changes, there are up to twice as many.
const STAGES: [StageEvents; 3] = [
    StageEvents {
        stage: "prepare",
        last: 40,
        except: &[],
    },
    StageEvents {
        stage: "join",
        last: 3,
        except: &[],
    },
    StageEvents {
        stage: "network",
        last: 15,
        except: &[],
    },
];

/// What is killed, in the order of the rounds.
#[derive(Debug, PartialEq, Eq)]
struct Schedule {
    controllers: Vec<KillPoint>,
    /// The service of win1, the connection of win2.
    hosts: Vec<[KillPoint; 2]>,
}

impl Schedule {
    fn new(rng: &mut SeededRng, controllers: usize) -> Self {
        let rounds = 0..controllers / 2;
        let controllers = (0..controllers).map(|_| {
            let host = if rng.below(2) == 0 { "win1" } else { "win2" };
            KillPoint::choose(rng, host, &STAGES)
        });
        let controllers = controllers.collect();
        let hosts = rounds.map(|_| ["win1", "win2"].map(|it| KillPoint::choose(rng, it, &STAGES)));
        let hosts = hosts.collect();
        Self { controllers, hosts }
    }
}

#[test]
fn one_seed_gives_one_schedule() {
    let of_seed = |seed| Schedule::new(&mut SeededRng::new(seed), 20);
    for _ in 0..50 {
        assert_eq!(of_seed(7), of_seed(7));
    }
    assert_ne!(of_seed(7), of_seed(8));
}

/// `CASEMENT_KILLS`, or 2. Half as many rounds kill the service of one host and the
/// connection to the other.
fn controller_kills() -> usize {
    let variable = std::env::var("CASEMENT_KILLS").ok();
    variable.map_or(2, |text| text.parse().expect("CASEMENT_KILLS is a number"))
}

#[test]
#[ignore = "needs root, wine and go"]
fn apply_recovers_from_killed_controllers_services_and_connections() {
    let _exclusive = exclusive();
    let schedule = Schedule::new(&mut SeededRng::from_environment(), controller_kills());
    println!("{schedule:#?}");
    let lab = Lab::named("kills");
    lab.run(&["up", "--hosts", "2"]);
    succeed(&mut casement(&lab, &["apply", "--yes"]));
    let baseline = EndState::of(&lab);

    for point in &schedule.controllers {
        reset(&lab);
        let mut apply = RunningApply::start(&lab);
        apply.wait_for(point);
        println!("SIGKILL to the controller: {point}");
        apply.process.kill().unwrap();
        apply.process.wait().unwrap();
        assert_apply_completes(&lab);
        baseline.assert_same(&lab);
    }
    for [service, connection] in &schedule.hosts {
        reset(&lab);
        let apply = RunningApply::start(&lab);
        thread::scope(|scope| {
            scope.spawn(|| {
                apply.wait_for(service);
                println!("SIGKILL to the service: {service}");
                kill_on(&lab, &service.host, &["casement-node.exe", "serve"]);
            });
            scope.spawn(|| {
                apply.wait_for(connection);
                println!("SIGKILL to the connection: {connection}");
                kill_on(&lab, &connection.host, &["sshd: Administrator"]);
            });
        });
        let output = apply.process.wait_with_output().unwrap();
        println!(
            "interrupted apply: {}",
            text(&output).lines().next().unwrap_or_default()
        );
        assert_apply_completes(&lab);
        baseline.assert_same(&lab);
    }
}

struct RunningApply {
    process: Child,
    folder: PathBuf,
}

impl RunningApply {
    fn start(lab: &Lab) -> Self {
        let mut command = casement(lab, &["apply", "--yes"]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        Self {
            process: command.spawn().unwrap(),
            folder: lab.folder(),
        }
    }

    /// Waits until the run record has the event.
    fn wait_for(&self, point: &KillPoint) {
        const TIMEOUT: Duration = Duration::from_secs(300);
        let started = Instant::now();
        loop {
            let record = kill_point::run_record(&self.folder, self.process.id());
            // Read first: a run that ends in between has all its events in the record.
            let over = record
                .as_ref()
                .is_some_and(|it| it.join("summary.json").exists());
            let has_point = |record: PathBuf| {
                let last = kill_point::recorded_events(&record, &point.host, point.stage);
                last >= point.event
            };
            if record.is_some_and(has_point) {
                return;
            }
            assert!(!over, "the run ended before {point}");
            let seconds = TIMEOUT.as_secs();
            assert!(
                started.elapsed() < TIMEOUT,
                "timed out after {seconds} s: {point}"
            );
            thread::sleep(Duration::from_millis(2));
        }
    }
}

fn assert_apply_completes(lab: &Lab) {
    succeed(&mut casement(lab, &["apply", "--yes"]));
}

fn reset(lab: &Lab) {
    succeed(&mut casement(
        lab,
        &["reset", "--all", "--cluster", "--yes"],
    ));
}

/// Kills the processes of a host whose command line has all patterns.
fn kill_on(lab: &Lab, host: &str, patterns: &[&str]) {
    let folder = lab.folder().display().to_string();
    let init = ["lab", "init", &folder, "--host", host];
    let network = |pid: &str| fs::read_link(format!("/proc/{pid}/ns/net")).ok();
    let matching = |patterns: &[&str]| {
        let processes = fs::read_dir("/proc").unwrap().flatten();
        let pids = processes.map(|entry| entry.file_name().to_string_lossy().into_owned());
        let matches = |pid: &String| {
            let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            let line = String::from_utf8_lossy(&line).replace('\0', " ");
            patterns.iter().all(|pattern| line.contains(pattern))
        };
        pids.filter(matches).collect::<BTreeSet<_>>()
    };
    let namespaces: BTreeSet<_> = matching(&init)
        .iter()
        .filter_map(|pid| network(pid))
        .collect();
    for pid in matching(patterns) {
        if network(&pid).is_some_and(|namespace| namespaces.contains(&namespace))
            && network("self") != network(&pid)
        {
            // It may have exited by itself.
            let _ = Command::new("kill").args(["-KILL", &pid]).output();
        }
    }
}

/// The end state without what differs between any two uninterrupted runs.
struct EndState(Vec<(&'static str, Snapshot, String)>);

impl EndState {
    fn of(lab: &Lab) -> Self {
        thread::scope(|scope| {
            let hosts = ["win1", "win2"];
            let observations = hosts.map(|host| scope.spawn(move || Self::of_host(lab, host)));
            Self(
                observations
                    .into_iter()
                    .map(|it| it.join().unwrap())
                    .collect(),
            )
        })
    }

    fn of_host(lab: &Lab, host: &'static str) -> (&'static str, Snapshot, String) {
        let node = get(lab, &["node", host]);
        let spec = &node["spec"];
        // Taints of the control plane come and go with the conditions of the Node.
        let taints = spec["taints"].as_array().into_iter().flatten();
        let taints = taints.filter(|taint| {
            let key = taint["key"].as_str().unwrap_or_default();
            !key.starts_with("node.kubernetes.io/")
        });
        let facts = format!(
            "{:?} {} {}",
            taints.map(Value::to_string).collect::<Vec<_>>(),
            spec["unschedulable"],
            node["status"]["nodeInfo"]["kubeletVersion"]
        );
        let pods: Vec<(String, &str)> = ["lin1", "win1", "win2"]
            .map(|name| {
                let node = get(lab, &["node", name]);
                let pods = node["spec"]["podCIDR"].as_str().unwrap_or_default();
                (pods.trim_end_matches("0/24").to_owned(), name)
            })
            .into();
        let uid = node["metadata"]["uid"].as_str().unwrap().to_owned();
        let snapshot = Snapshot::of(lab, host).without(&volatile()).map(|text| {
            let mut text = text.replace(&uid, "UID");
            for (pods, name) in &pods {
                if !pods.is_empty() {
                    text = text.replace(pods.as_str(), &format!("PODS-{name}."));
                }
            }
            without_ids(&text)
        });
        (host, snapshot, facts)
    }

    fn assert_same(&self, lab: &Lab) {
        for (before, after) in self.0.iter().zip(Self::of(lab).0) {
            assert_eq!(before.2, after.2, "the Node {}", before.0);
            let differences = before.1.differences(&after.1);
            assert!(
                differences.is_empty(),
                "{}:\n{}",
                before.0,
                differences.join("\n")
            );
        }
        assert_no_token_remains(lab);
    }
}

/// Prefixes of what is new in each run: logs, journals, certificates, the state of
/// kubelet and containerd.
fn volatile() -> Vec<String> {
    [
        r"file C:\ProgramData\casement\journal\",
        r"file C:\ProgramData\casement\state\",
        r"file C:\ProgramData\casement\lock",
        r"file C:\ProgramData\containerd\",
        r"file C:\var\log\",
        r"file C:\var\lib\kubelet\pki\",
        r"file C:\var\lib\kubelet\device-plugins\kubelet.sock",
        r"file C:\var\lib\kubelet\pod-resources\",
        r"file C:\var\lib\containerd\",
        r"file C:\windows\temp",
        "hns policylists",
    ]
    .map(str::to_owned)
    .into_iter()
    .chain(super::reset::allowed_prefixes())
    .collect()
}

/// Replaces UUIDs and the MAC addresses that HNS generates.
fn without_ids(text: &str) -> String {
    let is_id = |part: &[u8]| {
        part.iter().enumerate().all(|(index, byte)| match index {
            8 | 13 | 18 | 23 => *byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
    };
    let (bytes, mut kept, mut at) = (text.as_bytes(), Vec::new(), 0);
    while at < bytes.len() {
        if bytes.len() - at >= 36 && is_id(&bytes[at..at + 36]) {
            kept.extend_from_slice(b"ID");
            at += 36;
        } else if bytes[at..].starts_with(b"00-15-5D-") {
            kept.extend_from_slice(b"MAC");
            at += "00-15-5D-00-00-00".len();
        } else {
            kept.push(bytes[at]);
            at += 1;
        }
    }
    String::from_utf8_lossy(&kept).into_owned()
}
