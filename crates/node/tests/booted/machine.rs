//! A host that systemd-nspawn boots from a copy of a Debian tree.

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

use crate::wire::ChannelClient;

/// Includes the time of a boot.
const TIMEOUT: Duration = Duration::from_secs(120);

pub struct Machine {
    folder: TempDir,
    root: PathBuf,
    nspawn: Option<Child>,
    program: PathBuf,
}

impl Machine {
    /// Copies the cached tree, and builds it first if needed.
    pub fn new() -> Self {
        let maker = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tools/linux-tree");
        let tree = run_checked(Command::new(maker).stderr(Stdio::inherit()));
        let tree = Path::new(tree.trim());
        // On the same file system, for reflinks.
        let folder = tempfile::Builder::new()
            .prefix("run-")
            .tempdir_in(tree.parent().unwrap())
            .unwrap();
        let root = folder.path().join("tree");
        run_checked(
            Command::new("cp")
                .args(["--archive", "--reflink=auto"])
                .args([tree, &root]),
        );
        // `./test` sets this to the static build, which is deployed to hosts.
        let built = std::env::var_os("CASEMENT_TEST_AGENT").map(PathBuf::from);
        let program = built.unwrap_or_else(|| env!("CARGO_BIN_EXE_casement-node").into());
        Self {
            folder,
            root,
            nspawn: None,
            program,
        }
    }

    /// Seen from outside, without file systems that are mounted inside.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns when systemd has finished booting.
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

    /// Reboots from inside. systemd-nspawn exits with this code to request a restart.
    pub fn reboot(&mut self) {
        const REBOOT: i32 = 133;
        self.inside(&["systemctl", "--no-block", "reboot"]);
        let status = self.nspawn.take().unwrap().wait().unwrap();
        assert_eq!(status.code(), Some(REBOOT));
        self.boot();
    }

    fn wait_for_boot(&self) {
        self.wait_until("systemd has finished booting", |machine| {
            if machine.init_pid().is_none() {
                return false;
            }
            let state = machine.command(["systemctl", "is-system-running"]).output();
            let state = String::from_utf8(state.unwrap().stdout).unwrap();
            ["running", "degraded"].contains(&state.trim())
        });
        let failed = self.inside(&["systemctl", "--failed", "--plain", "--no-legend"]);
        assert_eq!(failed, "", "failed units");
    }

    /// Panics with the console output on timeout.
    pub fn wait_until(&self, what: &str, holds: impl Fn(&Self) -> bool) {
        let started = Instant::now();
        while !holds(self) {
            let console = fs::read(self.folder.path().join("console")).unwrap();
            let console = String::from_utf8_lossy(&console);
            assert!(
                started.elapsed() < TIMEOUT,
                "timed out waiting until {what}: {console}"
            );
            thread::sleep(Duration::from_millis(200));
        }
    }

    /// The outer pid of process 1 of the host, if it runs.
    fn init_pid(&self) -> Option<u32> {
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

    /// A command inside, with the environment of a login.
    pub fn command<S: AsRef<OsStr>>(&self, argv: impl IntoIterator<Item = S>) -> Command {
        let mut command = Command::new("nsenter");
        let target = self.init_pid().unwrap_or(u32::MAX);
        command.arg("--target").arg(target.to_string());
        command.args(["--mount", "--uts", "--ipc", "--net", "--pid", "--cgroup"]);
        command.args(["--root", "--wd", "env", "--ignore-environment", "LC_ALL=C"]);
        command.args(["HOME=/root", "PATH=/usr/sbin:/usr/bin:/sbin:/bin"]);
        command.args(argv);
        command
    }

    /// Runs a command inside, which must succeed.
    pub fn inside(&self, argv: &[&str]) -> String {
        run_checked(&mut self.command(argv))
    }

    /// The path of the agent, relative to the root of the host.
    fn agent_path(&self) -> PathBuf {
        let hash = Sha256::of(&fs::read(&self.program).unwrap());
        PathBuf::from(format!("var/lib/casement/agent/{hash}/casement-node"))
    }

    /// To the path that the controller uses.
    pub fn install_agent(&self) {
        let path = self.root.join(self.agent_path());
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::copy(&self.program, &path).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Also removes the empty folders.
    pub fn remove_agent(&self) {
        let path = self.root.join(self.agent_path());
        fs::remove_file(&path).unwrap();
        for folder in path.ancestors().skip(1).take(3) {
            fs::remove_dir(folder).unwrap();
        }
    }

    /// To the folder that the controller uses.
    pub fn store_blobs(&self, blobs: &[Vec<u8>]) {
        for blob in blobs {
            let name = Sha256::of(blob).to_string();
            fs::write(self.root.join("var/lib/casement/blobs").join(name), blob).unwrap();
        }
    }

    pub fn channel(&self) -> ChannelClient {
        let path = Path::new("/").join(self.agent_path());
        let mut command = self.command([path.as_os_str(), OsStr::new("channel")]);
        ChannelClient::open(&mut command, &fs::read(&self.program).unwrap())
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        // A pidfd, so that the pid cannot be reused.
        let init = self.init_pid().and_then(|pid| {
            let pid = Pid::from_raw(pid.cast_signed())?;
            pidfd_open(pid, PidfdFlags::empty()).ok()
        });
        let Some(nspawn) = &mut self.nspawn else {
            return;
        };
        let _ = nspawn.kill();
        let _ = nspawn.wait();
        // Process 1 does not always exit with systemd-nspawn; killing it ends all others.
        if let Some(init) = init {
            let _ = pidfd_send_signal(init, Signal::KILL);
        }
        let left = Path::new("/run/systemd/nspawn/propagate").join("tree");
        let _ = fs::remove_dir(left);
    }
}

fn run_checked(command: &mut Command) -> String {
    let Output {
        status,
        stdout,
        stderr,
    } = command.stdin(Stdio::null()).output().unwrap();
    let text = String::from_utf8_lossy(&stdout).into_owned();
    let errors = String::from_utf8_lossy(&stderr);
    assert!(status.success(), "{command:?}: {status}: {text}{errors}");
    text
}
