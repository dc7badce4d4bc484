//! OpenSSH on every host, with the lab's own keys.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::command::{self, command};
use crate::host::init::Supervisor;
use crate::host::rootfs::inside;
use crate::problem::{AtPath, Result};
use crate::state::record::{Record, host_dir};

/// The login user and what sshd runs for it.
pub struct Login {
    /// Has uid 0.
    pub user: &'static str,
    pub home: &'static str,
    /// Receives `-c COMMAND`.
    pub shell: &'static str,
    /// `internal-sftp` or a command.
    pub sftp: String,
}

/// Creates the client key and the host keys; existing keys are kept.
pub fn make_keys(record: &Record, lab: &Path) -> Result<()> {
    make_key(
        &lab.join("id_ed25519"),
        &format!("casement lab {}", record.name),
    )?;
    let shared = lab.join("shared");
    let copy = |from: &Path, to: &Path| fs::copy(from, to).at("write", to).map(drop);
    copy(&lab.join("id_ed25519.pub"), &shared.join("authorized_keys"))?;
    let mut known = String::new();
    for host in &record.hosts {
        let key = host_dir(lab, &host.name).join("ssh_host_ed25519_key");
        make_key(&key, &host.name)?;
        let public = key.with_extension("pub");
        let text = fs::read_to_string(&public).at("read", &public)?;
        let key: Vec<&str> = text.split_whitespace().take(2).collect();
        known += &format!("{} {}\n", record.address(host), key.join(" "));
    }
    let path = lab.join("known_hosts");
    fs::write(&path, known).at("write", &path)
}

fn make_key(path: &Path, comment: &str) -> Result<()> {
    if path.exists() {
        return Ok(());
    }
    let mut keygen = command(
        "ssh-keygen",
        ["-q", "-t", "ed25519", "-N", "", "-C", comment],
    );
    command::run(keygen.arg("-f").arg(path))
}

/// Must run before any program that looks up the current user.
pub fn make_user(login: &Login) -> Result<()> {
    let passwd = format!(
        "{}:*:0:0::{}:{}\nsshd:*:100:65534::/run/sshd:/usr/sbin/nologin\n\
         nobody:*:65534:65534::/nonexistent:/usr/sbin/nologin\n",
        login.user, login.home, login.shell
    );
    write("/etc/passwd", &passwd)?;
    // `*` means no password; sshd rejects keys for a locked account (`!`).
    write("/etc/shadow", &format!("{}:*:::::::\n", login.user))
}

pub fn serve(login: &Login, supervisor: &mut Supervisor) -> Result<()> {
    let key = "/run/sshd/host_key";
    let source = Path::new(inside::HOST).join("ssh_host_ed25519_key");
    fs::copy(&source, key).at("read", &source)?;
    let private = fs::Permissions::from_mode(0o600);
    fs::set_permissions(key, private).at("write", Path::new(key))?;
    write("/run/sshd/config", &configuration(login, key))?;
    supervisor.spawn(
        "sshd",
        &mut command("/usr/sbin/sshd", ["-D", "-e", "-f", "/run/sshd/config"]),
    )
}

fn configuration(login: &Login, key: &str) -> String {
    format!(
        "Port 22\nHostKey {key}\nPidFile none\nUsePAM no\nPermitRootLogin yes\n\
         PasswordAuthentication no\nKbdInteractiveAuthentication no\nStrictModes no\n\
         AuthorizedKeysFile {}/authorized_keys\nPrintMotd no\nUseDNS no\nMaxSessions 64\n\
         MaxStartups 64\nSubsystem sftp {}\n",
        inside::SHARED,
        login.sftp
    )
}

fn write(path: &str, text: &str) -> Result<()> {
    fs::write(path, text).at("write", Path::new(path))
}
