//! A Windows host: Wine, `netd` behind it, OpenSSH in front of it.

use std::fs;
use std::net::{Ipv4Addr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use crate::command;
use crate::host::capsule::Capsule;
use crate::host::furnish::{self, inside};
use crate::host::init::Household;
use crate::host::ssh::{self, Login};
use crate::network::netd;
use crate::problem::{AtPath, Problem, Result};
use crate::state::record::{Host, Record};
use crate::wait;
use crate::wine;
use crate::wine::windows::WindowsRelease;

/// Where the administrator's files are, seen from Linux.
pub const HOME: &str = "/lab/prefix/drive_c/users/Administrator";
const SHELL: &str = "/run/cmd";

/// Boots the host: identity, `netd`, Wine with its services, then SSH.
pub fn start(
    record: &Record,
    host: &Host,
    release: WindowsRelease,
    household: &mut Household,
) -> Result<()> {
    let prefix = Path::new(inside::PREFIX);
    let login = Login {
        user: "Administrator",
        home: HOME,
        shell: SHELL,
        sftp: sftp_command(),
    };
    ssh::make_user(&login)?;
    mount_prefix(prefix)?;
    wine::identify(prefix, release, &host.name, host.boots)?;
    netd::make_door(&prefix.join("drive_c"))?;
    start_netd(record, host, release, household)?;
    household.take_in(
        "wineserver",
        &mut wine::command(wine::server(), prefix, ["--foreground", "--persistent"]),
    )?;
    boot(prefix, &host.name)?;
    write_shell()?;
    ssh::serve(&login, household)
}

/// The first program makes Wine boot: services start by their start type. Now and
/// then Wine gives up on its service manager without a word; the next program, the
/// first of an SSH session, would then be its parent, and the session never end.
fn boot(prefix: &Path, host: &str) -> Result<()> {
    for _ in 0..3 {
        let nothing = ["cmd", "/c", "exit"];
        command::run_detached(&mut wine::command(wine::loader(), prefix, nothing))?;
        if wine::has_service_manager() {
            return Ok(());
        }
    }
    Err(Problem::new(
        "CAS-LAB-057",
        format!("Wine on host `{host}` did not start its services, three times"),
        "let the machine come to rest, and try again",
    ))
}

fn mount_prefix(prefix: &Path) -> Result<()> {
    let written = Path::new(inside::HOST).join("written");
    let (upper, work) = (written.join("prefix"), written.join("prefix.work"));
    for path in [&upper, &work, prefix] {
        fs::create_dir_all(path).at("make", path)?;
    }
    furnish::overlay(Path::new(inside::TEMPLATE), &upper, &work, prefix)
}

fn start_netd(
    record: &Record,
    host: &Host,
    release: WindowsRelease,
    household: &mut Household,
) -> Result<()> {
    let address = record.address(host).to_string();
    let words = [
        "lab",
        "netd",
        "--windows",
        release.year(),
        "--address",
        &address,
    ];
    household.take_in("netd", &mut command::command(inside::PROGRAM, words))?;
    let answers = wait::until(Duration::from_secs(10), || {
        TcpStream::connect((Ipv4Addr::LOCALHOST, netd::PORT)).ok()
    });
    answers.map(drop).ok_or_else(|| {
        Problem::new(
            "CAS-LAB-033",
            format!("netd of host `{}` does not answer", host.name),
            "see its log in the host's folder, log/netd.log",
        )
    })
}

/// What sshd runs as the login shell: `-c COMMAND` becomes `cmd /c COMMAND`, to
/// the letter, which only a program inside Windows can pass on.
fn write_shell() -> Result<()> {
    let exports: String = wine::environment(Path::new(inside::PREFIX))
        .iter()
        .map(|(name, value)| format!("export {name}='{}'\n", value.to_string_lossy()))
        .collect();
    let text = format!(
        "#!/bin/sh\n{exports}cd {HOME} || exit 255\n\
         [ \"$1\" = -c ] && case $2 in '{sftp}') exec $2 ;; esac\n\
         [ \"$1\" = -c ] && export CASEMENT_LAB_COMMAND=\"$2\"\n\
         exec {wine} 'C:\\lab\\cmdline.exe'\n",
        sftp = sftp_command(),
        wine = wine::loader(),
    );
    let path = Path::new(SHELL);
    fs::write(path, text).at("write", path)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).at("write", path)
}

fn sftp_command() -> String {
    format!("{} lab sftp", inside::PROGRAM)
}

/// Ends Wine the way that writes its registry to the disk first; a host that is
/// simply switched off loses what was set in its last half minute.
pub fn shut_down(capsule: &Capsule) {
    let mut stop = capsule.command(wine::server(), ["--kill"]);
    stop.envs(wine::environment(Path::new(inside::PREFIX)));
    // A Wine that has crashed has nothing to write any more.
    command::succeeds(&mut stop);
}

/// One SFTP session of this host.
pub fn serve_sftp() -> std::io::Result<()> {
    let drive_c = Path::new(inside::PREFIX).join("drive_c");
    casement_sim::sftp::serve(&drive_c, "/C:/Users/Administrator")
}
