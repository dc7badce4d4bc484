//! Controllers, services and connections that end at any moment: the next
//! `apply` completes, and the host ends up as after an undisturbed one.

use std::collections::BTreeSet;
use std::fs;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::apply::verb;
use super::assert_no_token_left;
use super::pod::get;
use super::snapshot::Snapshot;
use crate::chance::Chance;
use crate::machine::{Lab, alone, succeed, text};

/// How often the controller is killed. Half as often, in one round, the service
/// of one host and the connection to the other are.
fn controller_kills() -> usize {
    let given = std::env::var("CASEMENT_KILLS").ok();
    given.map_or(10, |text| text.parse().expect("CASEMENT_KILLS is a number"))
}

#[test]
#[ignore = "needs root, wine and go"]
fn whatever_is_killed_the_next_apply_ends_where_an_undisturbed_one_does() {
    let _alone = alone();
    let mut chance = Chance::from_environment();
    let lab = Lab::named("kills");
    lab.run(&["up", "--hosts", "2"]);

    let begun = Instant::now();
    succeed(&mut verb(&lab, &["apply", "--yes"]));
    let whole = u64::try_from(begun.elapsed().as_millis()).unwrap();
    let undisturbed = End::of(&lab);

    for round in 0..controller_kills() {
        reset(&lab);
        let moment = Duration::from_millis(chance.below(whole));
        println!("controller {round}: SIGKILL after {moment:?} of {whole} ms");
        let mut apply = begin(&lab);
        thread::sleep(moment);
        apply.kill().unwrap();
        apply.wait().unwrap();
        completes(&lab);
        undisturbed.assert_same(&lab);
    }
    for round in 0..controller_kills() / 2 {
        reset(&lab);
        let moments = [(); 2].map(|()| Duration::from_millis(chance.below(whole)));
        println!(
            "hosts {round}: service of win1 after {:?}, connection of win2 after {:?}",
            moments[0], moments[1]
        );
        let apply = begin(&lab);
        thread::scope(|scope| {
            scope.spawn(|| {
                thread::sleep(moments[0]);
                kill_in(&lab, "win1", &["casement-node.exe", "serve"]);
            });
            scope.spawn(|| {
                thread::sleep(moments[1]);
                kill_in(&lab, "win2", &["sshd: Administrator"]);
            });
        });
        let output = apply.wait_with_output().unwrap();
        println!(
            "the disturbed one: {}",
            text(&output).lines().next().unwrap_or_default()
        );
        completes(&lab);
        undisturbed.assert_same(&lab);
    }
}

fn begin(lab: &Lab) -> Child {
    verb(lab, &["apply", "--yes"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn completes(lab: &Lab) {
    succeed(&mut verb(lab, &["apply", "--yes"]));
}

fn reset(lab: &Lab) {
    succeed(&mut verb(lab, &["reset", "--all", "--cluster", "--yes"]));
}

/// Ends the processes of one host whose command line has all of these.
fn kill_in(lab: &Lab, host: &str, words: &[&str]) {
    let folder = lab.folder().display().to_string();
    let init = ["lab", "init", &folder, "--host", host];
    let network = |pid: &str| fs::read_link(format!("/proc/{pid}/ns/net")).ok();
    let with = |words: &[&str]| {
        let processes = fs::read_dir("/proc").unwrap().flatten();
        let pids = processes.map(|entry| entry.file_name().to_string_lossy().into_owned());
        let fits = |pid: &String| {
            let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            let line = String::from_utf8_lossy(&line).replace('\0', " ");
            words.iter().all(|word| line.contains(word))
        };
        pids.filter(fits).collect::<BTreeSet<_>>()
    };
    let homes: BTreeSet<_> = with(&init).iter().filter_map(|pid| network(pid)).collect();
    for pid in with(words) {
        if network(&pid).is_some_and(|home| homes.contains(&home))
            && network("self") != network(&pid)
        {
            // It may have ended by itself meanwhile.
            let _ = Command::new("kill").args(["-KILL", &pid]).output();
        }
    }
}

/// How it ended, without what differs between any two undisturbed runs.
struct End(Vec<(&'static str, Snapshot, String)>);

impl End {
    fn of(lab: &Lab) -> Self {
        thread::scope(|scope| {
            let hosts = ["win1", "win2"];
            let looks = hosts.map(|host| scope.spawn(move || Self::of_host(lab, host)));
            Self(looks.into_iter().map(|look| look.join().unwrap()).collect())
        })
    }

    fn of_host(lab: &Lab, host: &'static str) -> (&'static str, Snapshot, String) {
        let node = get(lab, &["node", host]);
        let spec = &node["spec"];
        // The control plane's own come and go with the Node's condition.
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
        let snapshot = Snapshot::of(lab, host).without(&passing()).map(|text| {
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
        assert_no_token_left(lab);
    }
}

/// What is made anew each time: logs, journals, certificates, kubelet's and
/// containerd's own state.
fn passing() -> Vec<String> {
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
    .chain(super::reset::leads())
    .collect()
}

/// Replaces what is 36 characters long and looks like `8-4-4-4-12`, and the MAC
/// addresses that HNS makes up.
fn without_ids(text: &str) -> String {
    let is_id = |part: &[u8]| {
        part.iter().enumerate().all(|(place, byte)| match place {
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
