//! A Windows host: Wine with `netd` for its network and OpenSSH for logins.

use std::fs;
use std::net::{Ipv4Addr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use crate::command;
use crate::host::init::Supervisor;
use crate::host::instance::Instance;
use crate::host::rootfs::{self, inside};
use crate::host::ssh::{self, Login};
use crate::network::netd;
use crate::problem::{AtPath, Problem, Result};
use crate::state::record::{Host, Record};
use crate::wait;
use crate::wine;
use crate::wine::windows::WindowsRelease;

/// The administrator's profile as a Linux path.
pub const HOME: &str = "/lab/prefix/drive_c/users/Administrator";
const SHELL: &str = "/run/cmd";

/// Boots the host: version and BootId, `netd`, Wine with its services, then SSH.
pub fn start(
    record: &Record,
    host: &Host,
    release: WindowsRelease,
    supervisor: &mut Supervisor,
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
    netd::write_access_file(&prefix.join("drive_c"))?;
    start_netd(record, host, release, supervisor)?;
    supervisor.spawn(
        "wineserver",
        &mut wine::command(wine::server(), prefix, ["--foreground", "--persistent"]),
    )?;
    boot(prefix, &host.name)?;
    write_shell()?;
    ssh::serve(&login, supervisor)
}

/// The first program makes Wine boot, which starts the automatic services. Sometimes
/// Wine silently fails to start its service manager. The first program of an SSH
/// session would then start it as a child, and the session would never end.
fn boot(prefix: &Path, host: &str) -> Result<()> {
    for _ in 0..3 {
        let exit = ["cmd", "/c", "exit"];
        command::run_detached(&mut wine::command(wine::loader(), prefix, exit))?;
        if wine::has_service_manager() {
            return Ok(());
        }
    }
    Err(Problem::new(
        "CAS-LAB-057",
        format!("Wine on host `{host}` did not start its services in 3 attempts"),
        "wait until the machine is less busy, then try again",
    ))
}

fn mount_prefix(prefix: &Path) -> Result<()> {
    let written = Path::new(inside::HOST).join("written");
    let (upper, work) = (written.join("prefix"), written.join("prefix.work"));
    for path in [&upper, &work, prefix] {
        fs::create_dir_all(path).at("create", path)?;
    }
    rootfs::overlay(Path::new(inside::TEMPLATE), &upper, &work, prefix)
}

fn start_netd(
    record: &Record,
    host: &Host,
    release: WindowsRelease,
    supervisor: &mut Supervisor,
) -> Result<()> {
    let address = record.address(host).to_string();
    let arguments = [
        "lab",
        "netd",
        "--windows",
        release.year(),
        "--address",
        &address,
        "--name",
        &record.name,
    ];
    supervisor.spawn("netd", &mut command::command(inside::PROGRAM, arguments))?;
    let connection = wait::until(Duration::from_secs(10), || {
        TcpStream::connect((Ipv4Addr::LOCALHOST, netd::PORT)).ok()
    });
    connection.map(drop).ok_or_else(|| {
        Problem::new(
            "CAS-LAB-033",
            format!("netd of host `{}` was not ready after 10 s", host.name),
            "see log/netd.log in the host's directory",
        )
    })
}

/// The login shell: `-c COMMAND` becomes `cmd /c COMMAND` without any change of the
/// quoting, which needs a Windows program (`cmdline.exe`).
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

/// Makes Wine write its registry to disk before it ends. Killing the host would lose
/// the changes of the last 30 s.
pub fn shut_down(instance: &Instance) {
    let mut stop = instance.command(wine::server(), ["--kill"]);
    stop.envs(wine::environment(Path::new(inside::PREFIX)));
    // Fails only if Wine has crashed; then there is nothing to save.
    command::succeeds(&mut stop);
}

/// Serves one SFTP session on stdin and stdout.
pub fn serve_sftp() -> std::io::Result<()> {
    let drive_c = Path::new(inside::PREFIX).join("drive_c");
    casement_sim::sftp::serve(&drive_c, "/C:/Users/Administrator")
}
