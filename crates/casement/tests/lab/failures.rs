//! `lab down` after failures.

use std::fs;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use crate::lab_fixture::{
    Lab, SystemState, assert_cleaned_up, assert_fails_with, eventually, exclusive, succeed,
};
use crate::lab_processes;
use crate::random::SeededRng;

/// How often `lab up` is killed.
const KILLS: u64 = 6;

#[test]
#[ignore = "needs root and wine"]
fn killed_lab_up_can_be_repeated_or_torn_down() {
    let _exclusive = exclusive();
    let before = SystemState::now();
    let mut rng = SeededRng::from_environment();
    let lab = Lab::named("killed");
    // Builds everything first, so that the kills hit the start and not a build.
    lab.run(&["up", "--level", "wine,netns"]);
    lab.run(&["down"]);
    for round in 0..KILLS {
        let delay = Duration::from_millis(rng.below(4000));
        println!("round {round}: SIGKILL after {delay:?}");
        let mut up = lab
            .command(&["up", "--level", "wine,netns"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        thread::sleep(delay);
        up.kill().unwrap();
        up.wait().unwrap();
        if round % 2 == 1 {
            lab.run(&["up", "--level", "wine,netns"]);
            assert!(lab.cmd("win1", "ver").contains("20348"));
        }
        lab.run(&["down"]);
        assert_cleaned_up(&before, lab.state());
    }
}

#[test]
#[ignore = "needs root and wine"]
fn lab_down_cleans_up_after_a_killed_netd_or_init() {
    let _exclusive = exclusive();
    let before = SystemState::now();
    let lab = Lab::named("netd");
    lab.run(&["up", "--level", "wine"]);
    lab.put("win1", "/C:/net.json", NETWORK);
    // Creating the network drops the connection, as on Windows.
    let line = r"C:\lab\hnscall.exe POST /networks/ C:\net.json";
    let _ = lab.ssh("Administrator", "win1", line).output();
    eventually("the host answers again", 20, || {
        let line = r"C:\lab\hnscall.exe GET /networks/";
        let output = lab.ssh("Administrator", "win1", line).output().ok()?;
        String::from_utf8_lossy(&output.stdout)
            .contains("10.9.1.0/24")
            .then_some(())
    });
    let mut netd = lab_processes::of(lab.state());
    netd.retain(|process| process.line.contains("casement lab netd"));
    assert_eq!(netd.len(), 1, "{netd:?}");
    kill(&netd.first().unwrap().pid.to_string());
    eventually("status reports that netd ended", 5, || {
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
    assert_cleaned_up(&before, lab.state());
}

#[test]
#[ignore = "needs root"]
fn lab_down_removes_the_network_of_a_lab_without_a_valid_record() {
    let _exclusive = exclusive();
    let before = SystemState::now();
    let lab = Lab::named("damaged");
    lab.run(&["up", "--level", "netns"]);
    fs::write(lab.folder().join("lab.json"), "{").unwrap();
    let help = ["CAS-LAB-013", "casement lab down --name damaged"];
    assert_fails_with(&mut lab.command(&["status"]), 1, &help);
    lab.run(&["down"]);
    assert_cleaned_up(&before, lab.state());
}

#[test]
#[ignore = "needs root"]
fn lab_up_writes_files_that_an_earlier_failure_left_out() {
    let _exclusive = exclusive();
    let before = SystemState::now();
    let lab = Lab::named("files");
    lab.run(&["up", "--level", "netns"]);
    let file = lab.folder().join("cluster.yaml");
    fs::remove_file(&file).unwrap();
    let printed = lab.run(&["up", "--level", "netns"]);
    assert!(!printed.contains("Already up"), "{printed}");
    assert!(file.exists());
    assert!(lab.run(&["up", "--level", "netns"]).contains("Already up"));
    lab.run(&["down"]);
    assert_cleaned_up(&before, lab.state());
}

const NETWORK: &str = r#"{"Name":"cbr0","Type":"L2Bridge",
"Subnets":[{"AddressPrefix":"10.9.1.0/24","GatewayAddress":"10.9.1.1"}]}"#;

fn kill(pid: &str) {
    succeed(Command::new("kill").args(["-KILL", pid]));
}
