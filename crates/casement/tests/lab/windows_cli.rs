//! `casement.exe` on Windows prints the same bytes as the Linux build.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::lab_fixture::{Lab, exclusive, text};

/// The folder of the binary and its input on the Windows host.
const FOLDER: &str = r"C:\shop";

/// A valid cluster file; the others are variants of it.
const VALID: &str = "\
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
/// An invalid flannel configuration.
const NET_CONF: &str = r#"{"Network": "10.244.0.0/16", "Backend": {"Type": "ipsec"}}"#;

struct WindowsCli {
    lab: Lab,
    local: tempfile::TempDir,
}

impl WindowsCli {
    /// A Windows host with the binary and its input, and a local folder with the same
    /// input.
    fn set_up() -> Self {
        let cli = Self {
            lab: Lab::named("cli"),
            local: tempfile::tempdir().unwrap(),
        };
        cli.lab.run(&["up", "--level", "wine"]);
        let windows = std::env::var_os("CASEMENT_LAB_WINDOWS").expect("CASEMENT_LAB_WINDOWS");
        let program = Path::new(&windows).join("casement.exe");
        let batch = format!(
            "mkdir /C:/shop\nmkdir /C:/shop/others\nput {} /C:/shop/casement.exe\n",
            program.display()
        );
        cli.lab.sftp("win1", &batch);
        fs::create_dir(cli.local.path().join("others")).unwrap();
        cli.put("cluster.yaml", VALID);
        cli.put("crlf.yaml", &VALID.replace('\n', "\r\n"));
        cli.put("wrong.yaml", &VALID.replace("podCidr", "podCDIR"));
        cli.put("others/net-conf.json", NET_CONF);
        cli
    }

    fn put(&self, name: &str, content: &str) {
        fs::write(self.local.path().join(name), content).unwrap();
        self.lab.put("win1", &format!("/C:/shop/{name}"), content);
    }

    fn on_windows(&self, args: &str) -> Output {
        let line = format!(r"cd /d {FOLDER} && casement.exe {args}");
        let mut command = self.lab.ssh("Administrator", "win1", &line);
        command.output().unwrap()
    }

    fn on_linux(&self, args: &str) -> Output {
        Command::new(env!("CARGO_BIN_EXE_casement"))
            .args(args.split(' '))
            .current_dir(self.local.path())
            .output()
            .unwrap()
    }

    /// Both builds have the same stdout, stderr and exit code.
    fn assert_same(&self, args: &str, code: i32) {
        let (windows, linux) = (self.on_windows(args), self.on_linux(args));
        assert_eq!(linux.status.code(), Some(code), "{args}: {}", text(&linux));
        assert_eq!(
            windows.status.code(),
            Some(code),
            "{args}: {}",
            text(&windows)
        );
        let streams = |output: &Output| {
            [&output.stdout, &output.stderr].map(|it| String::from_utf8(it.clone()).unwrap())
        };
        assert_eq!(streams(&windows), streams(&linux), "{args}");
        assert_ne!(streams(&linux), ["", ""], "{args}: no output");
    }

    /// Downloads a folder that the Windows build wrote.
    fn fetch(&self, folder: &str) -> PathBuf {
        let to = self.local.path().join("fetched");
        let batch = format!("get -R /C:/shop/{folder} {}\n", to.display());
        self.lab.sftp("win1", &batch);
        to
    }
}

#[test]
#[ignore = "needs root, wine and the built Windows programs"]
fn windows_and_linux_builds_have_the_same_output() {
    let _exclusive = exclusive();
    let cli = WindowsCli::set_up();
    cli.assert_same("lint", 0);
    cli.assert_same("lint -f crlf.yaml -o json", 0);
    cli.assert_same("lint -f wrong.yaml", 3);
    cli.assert_same("lint -f wrong.yaml -o sarif", 3);
    cli.assert_same("lint others", 3);
    cli.assert_same("render all --assume-pod-cidrs", 0);
    cli.assert_same("render kubelett", 2);
    cli.assert_same("plan --offline", 0);
    cli.assert_same("plan --offline --assume-pod-cidrs -o json", 0);
    cli.assert_same("plan --offline -f wrong.yaml", 3);
    cli.assert_same("explain CAS-NET-003", 0);

    let args = "render all --assume-pod-cidrs --out made";
    for output in [cli.on_windows(args), cli.on_linux(args)] {
        assert!(output.status.success(), "{}", text(&output));
    }
    let fetched = files(&cli.fetch("made"));
    assert!(fetched.len() > 10, "{fetched:?}");
    assert_eq!(fetched, files(&cli.local.path().join("made")));

    // These messages have the text of the system or the name of the binary in them.
    for (args, expected) in [
        ("lint -f nowhere.yaml", "CAS-FILE-001"),
        ("plan --no-such-flag", "casement.exe plan"),
        ("lab up --level wine", "needs Linux"),
        ("demo", "needs Linux"),
    ] {
        let output = cli.on_windows(args);
        assert_eq!(output.status.code(), Some(2), "{}", text(&output));
        assert!(text(&output).contains(expected), "{}", text(&output));
    }
}

/// The relative paths and contents of all files in a folder.
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
