//! The Windows platform, on a Windows host of the lab.
//!
//! The example `platformcheck` of this crate, built for Windows, calls every function
//! there. Its effects are compared with the output of `reg` and `sc` and with the file
//! system.
//!
//! - `CASEMENT_LAB_WINDOWS`: the folder with the Windows programs of the lab and
//!   `platformcheck.exe`
//! - `CASEMENT`: the program `casement`; default: the one built next to this test
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a panic fails the test"
)]

use std::env;
use std::path::PathBuf;
use std::process::{Command, Output};

#[path = "windows_platform/coverage.rs"]
mod coverage;
#[path = "shared/recorder.rs"]
#[allow(dead_code, reason = "only its list of functions is used here")]
mod recorder;

use casement_node::platform;

/// A separate lab, removed on drop.
struct Lab {
    casement: PathBuf,
    name: String,
}

impl Lab {
    fn up() -> Self {
        let default = || {
            let test = env::current_exe().unwrap();
            test.parent().unwrap().with_file_name("casement")
        };
        let lab = Self {
            casement: env::var_os("CASEMENT").map_or_else(default, PathBuf::from),
            name: format!("node-{}", std::process::id()),
        };
        succeed(&lab.run(&["up", "--level", "wine"]));
        lab
    }

    fn run(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(&self.casement);
        command.args(["lab", "--name", &self.name]).args(arguments);
        command
            .output()
            .unwrap_or_else(|error| panic!("{command:?}: {error}"))
    }

    /// Runs a program on the host, without using its network.
    fn on_host(&self, arguments: &[&str]) -> String {
        succeed(&self.run(&[&["exec", "win1", "--"], arguments].concat()))
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        self.run(&["down"]);
    }
}

fn succeed(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}{errors}");
    text
}

/// The first matching word in the output of the lab.
fn find_word(output: &str, matches: impl Fn(&str) -> bool) -> String {
    let mut words = output
        .split_whitespace()
        .map(|word| word.trim_end_matches(','));
    words
        .find(|word| matches(word))
        .unwrap_or_else(|| panic!("not in {output}"))
        .to_owned()
}

/// Uploads the program to the path of the agent; returns the address of the host.
fn upload(lab: &Lab) -> String {
    let status = succeed(&lab.run(&["up", "--level", "wine"]));
    let config = find_word(&status, |word| word.ends_with("/ssh_config"));
    let program = PathBuf::from(env::var_os("CASEMENT_LAB_WINDOWS").expect("CASEMENT_LAB_WINDOWS"))
        .join("platformcheck.exe");
    let batch = format!(
        "mkdir /C:/agent\nput {} /C:/agent/casement-node.exe\n",
        program.display()
    );
    let file = env::temp_dir().join(format!("{}.sftp", lab.name));
    std::fs::write(&file, batch).unwrap();
    let sent = Command::new("sftp")
        .args(["-q", "-F", &config, "-b", &file.to_string_lossy(), "win1"])
        .output()
        .unwrap();
    std::fs::remove_file(&file).unwrap();
    succeed(&sent);
    let config = std::fs::read_to_string(config).unwrap();
    let mut words = config.split_whitespace();
    words.find(|word| *word == "HostName").unwrap();
    words.next().unwrap().to_owned()
}

#[test]
#[ignore = "needs wine and the built Windows programs"]
fn windows_platform_works_as_documented() {
    let lab = Lab::up();
    let address = upload(&lab);
    let agent = r"C:\agent\casement-node.exe";
    let output = lab.on_host(&[agent, "check", &address]);
    println!("{output}");

    let service = lab.on_host(&["sc", "query", "platformcheck"]);
    assert!(service.contains("4  RUNNING"), "{service}");
    let key = r"HKLM\Software\casement\platformcheck";
    let values = lab.on_host(&["reg", "query", key]);
    for wanted in [
        "REG_EXPAND_SZ    %SystemRoot%\\x",
        "REG_DWORD    0x1000",
        "REG_MULTI_SZ    one\\0two",
    ] {
        assert!(values.contains(wanted), "{wanted} in {values}");
    }
    let rules = r"HKLM\System\CurrentControlSet\Services\SharedAccess\Parameters\FirewallPolicy\FirewallRules";
    let rule = "Action=Allow|Protocol=17|LPort=4789|Name=platformcheck left|";
    let found = lab.on_host(&["reg", "query", rules]);
    for part in rule.split('|') {
        assert!(found.contains(part), "{part} in {found}");
    }

    // The same program under another name, for which Wine disables a DLL.
    let first = r"C:\agent\first.exe";
    let overrides = r"HKCU\Software\Wine\AppDefaults\first.exe\DllOverrides";
    lab.on_host(&["cmd", "/c", "copy", agent, first]);
    let disable = [
        "reg",
        "add",
        overrides,
        "/v",
        "computenetwork",
        "/d",
        "",
        "/f",
    ];
    lab.on_host(&disable);
    lab.on_host(&[first, "first", &address]);

    lab.on_host(&[agent, "clean"]);
    assert!(
        !lab.on_host(&["reg", "query", rules])
            .contains("platformcheck")
    );
    assert!(
        !lab.run(&["exec", "win1", "--", "reg", "query", key])
            .status
            .success()
    );
    let service = lab.run(&["exec", "win1", "--", "sc", "query", "platformcheck"]);
    assert!(!service.status.success());
    coverage::compare(&output);
}
