//! Runs a pinned ansible-core in a virtual environment.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs};

use casement_source::import::TextFile;
use serde_json::Value;

const VERSION: &str = "2.19.14";
const DRIVER: &str = include_str!("driver.py");

fn python() -> PathBuf {
    let cache = env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let cache = cache.unwrap_or_else(|| Path::new(&env::var_os("HOME").unwrap()).join(".cache"));
    let folder = cache.join(format!("casement/tools/ansible-{VERSION}"));
    let ready = folder.join("casement-ready");
    if !ready.exists() {
        let pip = folder.join("bin/pip");
        let package = format!("ansible-core=={VERSION}");
        let commands = [
            vec![
                "python3".into(),
                "-m".into(),
                "venv".into(),
                folder.clone().into_os_string(),
            ],
            vec![
                pip.into_os_string(),
                "install".into(),
                "--quiet".into(),
                package.into(),
            ],
        ];
        for command in commands {
            let (program, arguments) = command.split_first().unwrap();
            let done = Command::new(program).args(arguments).status();
            let text = command.join(" ".as_ref());
            assert!(
                done.is_ok_and(|status| status.success()),
                "ansible-core {VERSION} (Python 3.11 or newer) is required; this command failed:\n  {}",
                text.display()
            );
        }
        fs::write(&ready, "").unwrap();
    }
    folder.join("bin/python")
}

/// The listings of Ansible, one per inventory.
pub fn list(inventories: &[Vec<TextFile>]) -> Vec<Value> {
    let python = python();
    let root = tempfile::tempdir().unwrap();
    let mut names = String::new();
    for (number, files) in inventories.iter().enumerate() {
        let folder = root.path().join(number.to_string());
        for file in files {
            let path = folder.join(&file.name);
            if file.name.ends_with('/') {
                fs::create_dir_all(&path).unwrap();
                continue;
            }
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, &file.text).unwrap();
        }
        let main = folder.join(&files.first().unwrap().name);
        names += &format!("{}\n", main.display());
    }
    let mut child = Command::new(python)
        .args(["-c", DRIVER])
        .env_remove("ANSIBLE_CONFIG")
        .env("HOME", root.path())
        .current_dir(root.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(names.as_bytes())
        .unwrap();
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "the driver failed:\n{stderr}");
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines()
        .filter_map(|line| line.strip_prefix("casement1 "))
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}
