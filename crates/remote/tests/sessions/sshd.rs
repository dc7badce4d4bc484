//! A real OpenSSH server on loopback.
//!
//! It runs in a mount namespace whose `/etc/passwd` and `/etc/shadow` have an additional
//! account, for password logins.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use casement_remote::{Credential, Target, load_key};

pub const USER: &str = "casement-test";
pub const PASSWORD: &str = "correct horse battery staple";

/// Stopped on drop.
pub struct Server {
    folder: tempfile::TempDir,
    pub port: u16,
    process: Child,
}

pub fn run(program: &str, args: &[&str]) -> String {
    let output = Command::new(program)
        .args(args)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{program} {args:?}: {stderr}");
    String::from_utf8(output.stdout).unwrap()
}

pub fn make_key(path: &Path, passphrase: &str) {
    let path = path.to_str().unwrap();
    run(
        "ssh-keygen",
        &[
            "-q", "-t", "ed25519", "-N", passphrase, "-C", "test", "-f", path,
        ],
    );
}

impl Server {
    /// `config` is appended to the configuration. The key `id` is authorized.
    pub fn start(config: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        make_key(&at("id"), "");
        make_key(&at("host_key"), "");
        fs::copy(at("id.pub"), at("authorized")).unwrap();
        let hash = run("openssl", &["passwd", "-6", PASSWORD]);
        let home = folder.path().display();
        let account = format!("{USER}:x:65500:65534::{home}:/bin/sh\n");
        let shadow = format!("{USER}:{}:20000:0:99999:7:::\n", hash.trim());
        for (file, line) in [("passwd", account), ("shadow", shadow)] {
            let text = fs::read_to_string(format!("/etc/{file}")).unwrap();
            fs::write(at(file), format!("{text}{line}")).unwrap();
        }
        // sshd reads the keys as the account.
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(folder.path(), mode).unwrap();
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = free.local_addr().unwrap().port();
        drop(free);
        let config = format!(
            "ListenAddress 127.0.0.1\nPort {port}\nHostKey {home}/host_key\nPidFile none\n\
             AuthorizedKeysFile {home}/authorized\nStrictModes no\nUsePAM no\n\
             KbdInteractiveAuthentication no\nSubsystem sftp internal-sftp\n{config}\n"
        );
        fs::write(at("sshd_config"), config).unwrap();
        fs::create_dir_all("/run/sshd").unwrap();
        let script = "mount --bind \"$0/passwd\" /etc/passwd && \
                      mount --bind \"$0/shadow\" /etc/shadow && \
                      exec /usr/sbin/sshd -D -f \"$0/sshd_config\" -E \"$0/log\"";
        let process = Command::new("unshare")
            .args(["--mount", "sh", "-c", script])
            .arg(folder.path())
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        let server = Self {
            folder,
            port,
            process,
        };
        let end = Instant::now() + Duration::from_secs(20);
        while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
            let log = fs::read_to_string(server.at("log")).unwrap_or_default();
            assert!(Instant::now() < end, "sshd does not listen: {log}");
            std::thread::sleep(Duration::from_millis(20));
        }
        let public = fs::read_to_string(server.at("host_key.pub")).unwrap();
        let line = format!("[127.0.0.1]:{port} {public}");
        fs::write(server.at("known_hosts"), line).unwrap();
        server
    }

    pub fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn target(&self, credential: impl Into<Credential>) -> Target {
        let known_hosts = self.at("known_hosts");
        let mut target = Target::new("real", "127.0.0.1", USER, credential, known_hosts);
        target.port = self.port;
        target
    }

    pub fn plain(&self) -> Target {
        self.target(load_key(&self.at("id")).unwrap())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
