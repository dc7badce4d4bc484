//! A tree of its own for each test, booted by systemd-nspawn.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use casement_resource::Sha256;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use tempfile::TempDir;

use crate::wire::Channel;

/// How long anything may take that a boot is part of.
const PATIENCE: Duration = Duration::from_secs(120);

pub struct Machine {
    folder: TempDir,
    root: PathBuf,
    nspawn: Option<Child>,
    program: PathBuf,
}

impl Machine {
    /// A copy of the tree in the cache; makes that first where it is not there.
    pub fn new() -> Self {
        let maker = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tools/linux-tree");
        let tree = succeeded(Command::new(maker).stderr(Stdio::inherit()));
        let tree = Path::new(tree.trim());
        // Beside it, where a copy may cost nothing.
        let folder = tempfile::Builder::new()
            .prefix("run-")
            .tempdir_in(tree.parent().unwrap())
            .unwrap();
        let root = folder.path().join("tree");
        succeeded(
            Command::new("cp")
                .args(["--archive", "--reflink=auto"])
                .args([tree, &root]),
        );
        // `./test` names the static build, which is what hosts get.
        let built = std::env::var_os("CASEMENT_TEST_AGENT").map(PathBuf::from);
        let program = built.unwrap_or_else(|| env!("CARGO_BIN_EXE_casement-node").into());
        Self {
            folder,
            root,
            nspawn: None,
            program,
        }
    }

    /// The tree, seen from outside: what is mounted inside is not in it.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Boots, and returns when systemd has settled.
    pub fn boot(&mut self) {
        let console = File::create(self.folder.path().join("console")).unwrap();
        let nspawn = Command::new("systemd-nspawn")
            .args(["--quiet", "--boot", "--register=no", "--keep-unit"])
            .args(["--private-network", "--resolv-conf=off", "--timezone=off"])
            .args(["--link-journal=no", "--hostname=lin1", "--console=pipe"])
            .arg("--directory")
            .arg(&self.root)
            .stdin(Stdio::null())
            .stdout(console.try_clone().unwrap())
            .stderr(console)
            .spawn()
            .unwrap();
        self.nspawn = Some(nspawn);
        self.wait_for_boot();
    }

    /// From inside, as a person would. systemd-nspawn ends with this code, for
    /// whoever started it to do so again.
    pub fn reboot(&mut self) {
        const AGAIN: i32 = 133;
        self.inside(&["systemctl", "--no-block", "reboot"]);
        let status = self.nspawn.take().unwrap().wait().unwrap();
        assert_eq!(status.code(), Some(AGAIN));
        self.boot();
    }

    fn wait_for_boot(&self) {
        self.wait_until("systemd has settled", |machine| {
            if machine.first_process().is_none() {
                return false;
            }
            let state = machine.command(["systemctl", "is-system-running"]).output();
            let state = String::from_utf8(state.unwrap().stdout).unwrap();
            ["running", "degraded"].contains(&state.trim())
        });
        let failed = self.inside(&["systemctl", "--failed", "--plain", "--no-legend"]);
        assert_eq!(failed, "", "units that failed");
    }

    /// Waits for as long as anything may take, and says what for.
    pub fn wait_until(&self, what: &str, holds: impl Fn(&Self) -> bool) {
        let started = Instant::now();
        while !holds(self) {
            let console = fs::read(self.folder.path().join("console")).unwrap();
            let console = String::from_utf8_lossy(&console);
            assert!(started.elapsed() < PATIENCE, "until {what}: {console}");
            thread::sleep(Duration::from_millis(200));
        }
    }

    /// The host's process 1, by its number outside; none while it is not there.
    fn first_process(&self) -> Option<u32> {
        let nspawn = self.nspawn.as_ref()?.id();
        let children = fs::read_to_string(format!("/proc/{nspawn}/task/{nspawn}/children")).ok()?;
        let mut children = children.split_whitespace();
        children.find_map(|child| {
            let status = fs::read_to_string(format!("/proc/{child}/status")).ok()?;
            let numbers = status.lines().find(|line| line.starts_with("NSpid:"))?;
            let numbers: Vec<_> = numbers.split_whitespace().skip(1).collect();
            (numbers.len() > 1 && numbers.last() == Some(&"1")).then(|| child.parse().ok())?
        })
    }

    /// A command inside, with the environment of somebody who logs in.
    pub fn command<S: AsRef<OsStr>>(&self, words: impl IntoIterator<Item = S>) -> Command {
        let mut command = Command::new("nsenter");
        let target = self.first_process().unwrap_or(u32::MAX);
        command.arg("--target").arg(target.to_string());
        command.args(["--mount", "--uts", "--ipc", "--net", "--pid", "--cgroup"]);
        command.args(["--root", "--wd", "env", "--ignore-environment", "LC_ALL=C"]);
        command.args(["HOME=/root", "PATH=/usr/sbin:/usr/bin:/sbin:/bin"]);
        command.args(words);
        command
    }

    /// Runs a command inside, which must succeed.
    pub fn inside(&self, words: &[&str]) -> String {
        succeeded(&mut self.command(words))
    }

    /// The agent's place on a host, below its root.
    fn agent(&self) -> PathBuf {
        let hash = Sha256::of(&fs::read(&self.program).unwrap());
        PathBuf::from(format!("var/lib/casement/agent/{hash}/casement-node"))
    }

    /// Puts the agent where the controller puts it.
    pub fn bring_agent(&self) {
        let place = self.root.join(self.agent());
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        fs::copy(&self.program, &place).unwrap();
        fs::set_permissions(place, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Takes it away again, with the folders that are empty then.
    pub fn take_agent(&self) {
        let place = self.root.join(self.agent());
        fs::remove_file(&place).unwrap();
        for folder in place.ancestors().skip(1).take(3) {
            fs::remove_dir(folder).unwrap();
        }
    }

    /// Puts blobs where the controller puts them.
    pub fn bring_blobs(&self, blobs: &[Vec<u8>]) {
        for blob in blobs {
            let name = Sha256::of(blob).to_string();
            fs::write(self.root.join("var/lib/casement/blobs").join(name), blob).unwrap();
        }
    }

    /// Opens a channel and greets.
    pub fn channel(&self) -> Channel {
        let place = Path::new("/").join(self.agent());
        let mut command = self.command([place.as_os_str(), OsStr::new("channel")]);
        Channel::open(&mut command, &fs::read(&self.program).unwrap())
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        // Held on to, so that no other process can come by its number.
        let first = self.first_process().and_then(|first| {
            let first = Pid::from_raw(first.cast_signed())?;
            pidfd_open(first, PidfdFlags::empty()).ok()
        });
        let Some(nspawn) = &mut self.nspawn else {
            return;
        };
        let _ = nspawn.kill();
        let _ = nspawn.wait();
        // The whole host dies with its first process, which does not always die with
        // systemd-nspawn.
        if let Some(first) = first {
            let _ = pidfd_send_signal(first, Signal::KILL);
        }
        let left = Path::new("/run/systemd/nspawn/propagate").join("tree");
        let _ = fs::remove_dir(left);
    }
}

fn succeeded(command: &mut Command) -> String {
    let Output {
        status,
        stdout,
        stderr,
    } = command.stdin(Stdio::null()).output().unwrap();
    let text = String::from_utf8_lossy(&stdout).into_owned();
    let said = String::from_utf8_lossy(&stderr);
    assert!(status.success(), "{command:?}: {status}: {text}{said}");
    text
}
