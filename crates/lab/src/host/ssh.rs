//! OpenSSH in front of every host, with keys of the lab's own.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::command::{self, command};
use crate::host::furnish::inside;
use crate::host::init::Household;
use crate::problem::{AtPath, Result};
use crate::state::record::{Record, host_folder};

/// Who logs in, and what answers.
pub struct Login {
    /// The user's name; it has the number 0, as all lab hosts are run by root.
    pub user: &'static str,
    /// The home directory.
    pub home: &'static str,
    /// The program that gets `-c COMMAND`.
    pub shell: &'static str,
    /// What serves SFTP: `internal-sftp` or a command.
    pub sftp: String,
}

/// Makes the key that logs in everywhere and each host's own; existing ones stay.
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
        let key = host_folder(lab, &host.name).join("ssh_host_ed25519_key");
        make_key(&key, &host.name)?;
        let public = key.with_extension("pub");
        let text = fs::read_to_string(&public).at("read", &public)?;
        let words: Vec<&str> = text.split_whitespace().take(2).collect();
        known += &format!("{} {}\n", record.address(host), words.join(" "));
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

/// Makes the user who logs in; before anything runs that asks who it is.
pub fn make_user(login: &Login) -> Result<()> {
    let passwd = format!(
        "{}:*:0:0::{}:{}\nsshd:*:100:65534::/run/sshd:/usr/sbin/nologin\n\
         nobody:*:65534:65534::/nonexistent:/usr/sbin/nologin\n",
        login.user, login.home, login.shell
    );
    write("/etc/passwd", &passwd)?;
    // No password, but not locked: sshd would turn away even a key.
    write("/etc/shadow", &format!("{}:*:::::::\n", login.user))
}

/// Starts sshd inside a host.
pub fn serve(login: &Login, household: &mut Household) -> Result<()> {
    let key = "/run/sshd/host_key";
    let own = Path::new(inside::HOST).join("ssh_host_ed25519_key");
    fs::copy(&own, key).at("read", &own)?;
    let private = fs::Permissions::from_mode(0o600);
    fs::set_permissions(key, private).at("write", Path::new(key))?;
    write("/run/sshd/config", &configuration(login, key))?;
    household.take_in(
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
