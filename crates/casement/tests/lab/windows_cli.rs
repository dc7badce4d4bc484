//! People steer from Windows too: `casement.exe`, as it runs there, says the same as
//! the program that was built for this machine, to the byte.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::machine::{Lab, alone, text};

/// Where the program and the files are on the Windows host.
const FOLDER: &str = r"C:\shop";

/// A file that is right; others are made of it.
const RIGHT: &str = "\
apiVersion: casement.dev/v1alpha1
kind: Cluster
metadata: {name: shop}
spec:
  kubernetes: {version: 1.36.3, podCidr: 10.244.0.0/16} # Zürich
  existing: {kubeconfig: ./admin.conf}
  network: {mode: flannel-overlay}
  hosts:
    - {name: ubuntu01, address: 10.3.0.1, os: ubuntu-24.04, roles: [worker], managed: true}
    - {name: windows01, address: 10.3.0.4, os: windows-2022}
    - {name: windows02, address: 10.3.0.5, os: windows-2025}
";
/// A file of another tool, with a mistake.
const NET_CONF: &str = r#"{"Network": "10.244.0.0/16", "Backend": {"Type": "ipsec"}}"#;

struct Desk {
    lab: Lab,
    here: tempfile::TempDir,
}

impl Desk {
    /// A Windows host with the program and the files, and a folder with the same
    /// files here.
    fn set_up() -> Self {
        let desk = Self {
            lab: Lab::named("steer"),
            here: tempfile::tempdir().unwrap(),
        };
        desk.lab.run(&["up", "--level", "wine"]);
        let windows = std::env::var_os("CASEMENT_LAB_WINDOWS").expect("CASEMENT_LAB_WINDOWS");
        let program = Path::new(&windows).join("casement.exe");
        let batch = format!(
            "mkdir /C:/shop\nmkdir /C:/shop/others\nput {} /C:/shop/casement.exe\n",
            program.display()
        );
        desk.lab.sftp("win1", &batch);
        fs::create_dir(desk.here.path().join("others")).unwrap();
        desk.put("cluster.yaml", RIGHT);
        desk.put("crlf.yaml", &RIGHT.replace('\n', "\r\n"));
        desk.put("wrong.yaml", &RIGHT.replace("podCidr", "podCDIR"));
        desk.put("others/net-conf.json", NET_CONF);
        desk
    }

    fn put(&self, name: &str, content: &str) {
        fs::write(self.here.path().join(name), content).unwrap();
        self.lab.put("win1", &format!("/C:/shop/{name}"), content);
    }

    fn on_windows(&self, words: &str) -> Output {
        let line = format!(r"cd /d {FOLDER} && casement.exe {words}");
        let mut command = self.lab.ssh("Administrator", "win1", &line);
        command.output().unwrap()
    }

    fn on_linux(&self, words: &str) -> Output {
        Command::new(env!("CARGO_BIN_EXE_casement"))
            .args(words.split(' '))
            .current_dir(self.here.path())
            .output()
            .unwrap()
    }

    /// Both say the same on both streams, and end alike.
    fn assert_same(&self, words: &str, code: i32) {
        let (there, here) = (self.on_windows(words), self.on_linux(words));
        assert_eq!(here.status.code(), Some(code), "{words}: {}", text(&here));
        assert_eq!(there.status.code(), Some(code), "{words}: {}", text(&there));
        let streams = |output: &Output| {
            [&output.stdout, &output.stderr].map(|it| String::from_utf8(it.clone()).unwrap())
        };
        assert_eq!(streams(&there), streams(&here), "{words}");
        assert_ne!(streams(&here), ["", ""], "{words}: nothing was said");
    }

    /// The files of a folder that the program wrote, there.
    fn fetch(&self, folder: &str) -> PathBuf {
        let to = self.here.path().join("fetched");
        let batch = format!("get -R /C:/shop/{folder} {}\n", to.display());
        self.lab.sftp("win1", &batch);
        to
    }
}

#[test]
#[ignore = "needs root, wine and the built Windows programs"]
fn the_program_for_windows_says_what_the_one_for_linux_says() {
    let _alone = alone();
    let desk = Desk::set_up();
    desk.assert_same("lint", 0);
    desk.assert_same("lint -f crlf.yaml -o json", 0);
    desk.assert_same("lint -f wrong.yaml", 3);
    desk.assert_same("lint -f wrong.yaml -o sarif", 3);
    desk.assert_same("lint others", 3);
    desk.assert_same("render all --assume-pod-cidrs", 0);
    desk.assert_same("render kubelett", 2);
    desk.assert_same("plan --offline", 0);
    desk.assert_same("plan --offline --assume-pod-cidrs -o json", 0);
    desk.assert_same("plan --offline -f wrong.yaml", 3);
    desk.assert_same("explain CAS-NET-003", 0);

    let words = "render all --assume-pod-cidrs --out made";
    for output in [desk.on_windows(words), desk.on_linux(words)] {
        assert!(output.status.success(), "{}", text(&output));
    }
    let fetched = files(&desk.fetch("made"));
    assert!(fetched.len() > 10, "{fetched:?}");
    assert_eq!(fetched, files(&desk.here.path().join("made")));

    // In the system's own words, or with the program's own name.
    for (words, told) in [
        ("lint -f nowhere.yaml", "CAS-FILE-001"),
        ("plan --no-such-flag", "casement.exe plan"),
        ("lab up --level wine", "needs Linux"),
        ("demo", "needs Linux"),
    ] {
        let refused = desk.on_windows(words);
        assert_eq!(refused.status.code(), Some(2), "{}", text(&refused));
        assert!(text(&refused).contains(told), "{}", text(&refused));
    }
}

/// The names and contents below a folder.
fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(path) = open.pop() {
        for entry in fs::read_dir(&path).unwrap().flatten() {
            if entry.path().is_dir() {
                open.push(entry.path());
            } else {
                let name = entry.path().strip_prefix(folder).unwrap().to_owned();
                let content = fs::read(entry.path()).unwrap();
                found.push((name.to_string_lossy().into_owned(), content));
            }
        }
    }
    found.sort();
    found
}
