//! `lab down` after everything that can go wrong.

use std::fs;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use crate::chance::Chance;
use crate::machine::{Lab, Traces, alone, assert_no_trace, eventually, succeed};

/// Kills `lab up` at this many moments.
const KILLS: u64 = 6;

#[test]
#[ignore = "needs root and wine"]
fn a_killed_up_can_be_taken_down_or_brought_up_again() {
    let _alone = alone();
    let before = Traces::now();
    let mut chance = Chance::from_environment();
    let lab = Lab::named("killed");
    // So that the moments fall into the start and not into a build.
    lab.run(&["up", "--level", "wine,netns"]);
    lab.run(&["down"]);
    for round in 0..KILLS {
        let moment = Duration::from_millis(chance.below(4000));
        println!("round {round}: SIGKILL after {moment:?}");
        let mut up = lab
            .command(&["up", "--level", "wine,netns"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        thread::sleep(moment);
        up.kill().unwrap();
        up.wait().unwrap();
        if round % 2 == 1 {
            lab.run(&["up", "--level", "wine,netns"]);
            assert!(lab.cmd("win1", "ver").contains("20348"));
        }
        lab.run(&["down"]);
        assert_no_trace(&before, lab.state());
    }
}

#[test]
#[ignore = "needs root and wine"]
fn a_killed_netd_or_init_leaves_nothing_behind() {
    let _alone = alone();
    let before = Traces::now();
    let lab = Lab::named("netd");
    lab.run(&["up", "--level", "wine"]);
    lab.put("win1", "/C:/net.json", NETWORK);
    // The connection ends with the network that it asks for, as on Windows.
    let line = r"C:\lab\hnscall.exe POST /networks/ C:\net.json";
    let _ = lab.ssh("Administrator", "win1", line).output();
    eventually("the host answers again", 20, || {
        let line = r"C:\lab\hnscall.exe GET /networks/";
        let output = lab.ssh("Administrator", "win1", line).output().ok()?;
        String::from_utf8_lossy(&output.stdout)
            .contains("10.9.1.0/24")
            .then_some(())
    });
    let netd = processes_with("casement lab netd");
    assert_eq!(netd.len(), 1, "{netd:?}");
    kill(&netd[0]);
    eventually("status tells that netd ended", 5, || {
        let host = lab.host("win1");
        host["ended"]
            .as_array()?
            .contains(&"netd".into())
            .then_some(())
    });
    let init = lab.host("win1")["pid"].to_string();
    kill(&init);
    eventually("the host is off", 5, || {
        (lab.host("win1")["state"] == "off").then_some(())
    });
    lab.run(&["down"]);
    assert_no_trace(&before, lab.state());
}

const NETWORK: &str = r#"{"Name":"cbr0","Type":"L2Bridge",
"Subnets":[{"AddressPrefix":"10.9.1.0/24","GatewayAddress":"10.9.1.1"}]}"#;

fn kill(pid: &str) {
    succeed(Command::new("kill").args(["-KILL", pid]));
}

/// Only processes of this test's lab: nobody else's run while it is alone.
fn processes_with(words: &str) -> Vec<String> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let pids = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    pids.filter(|pid| {
        let bytes = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&bytes)
            .replace('\0', " ")
            .contains(words)
    })
    .collect()
}
