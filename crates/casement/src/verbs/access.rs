//! `casement access`: the command that connects to a host.

use std::net::{Ipv4Addr, TcpStream};
use std::process::{Child, Command};
use std::time::Duration;

use casement_diag::Problem;
use casement_spec::{AccessMethod, Bastion, Cluster, Host, HostBastion, SecretRef, SshCredential};
use clap::{Args, ValueEnum};

use crate::endpoints::LoginSettings;
use crate::failure::CommandError;
use crate::{endpoints, output, spec_file};

/// Print the command that connects to a host: shell, desktop or console.
#[derive(Debug, Args)]
pub struct AccessArgs {
    /// Kind of connection
    #[arg(value_enum)]
    kind: AccessKind,
    /// Host name in the cluster file
    host: String,
    /// Cluster file
    #[arg(short, long, default_value = "cluster.yaml")]
    file: std::path::PathBuf,
    /// Run the command instead of printing it
    #[arg(long)]
    run: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum AccessKind {
    /// Shell
    Ssh,
    /// Windows desktop
    Rdp,
    /// Console
    Vnc,
}

pub fn run_access(arguments: &AccessArgs) -> Result<(), CommandError> {
    let cluster = spec_file::read_with_paths(&arguments.file)?;
    let host = spec_file::host(
        &cluster,
        &arguments.host,
        "use a host name from the cluster file",
    )?;
    let commands = commands(&cluster, host, arguments.kind, cfg!(windows));
    if !arguments.run {
        let lines = commands.iter().map(|command| quoted(command) + "\n");
        return output::print(&lines.collect::<String>());
    }
    run(&commands, arguments.kind.ports().map(|(_, local)| local))
}

impl AccessKind {
    /// The port on the host, and the local port of a tunnel; None for a shell.
    fn ports(self) -> Option<(u16, u16)> {
        match self {
            Self::Ssh => None,
            Self::Rdp => Some((3389, 33890)),
            Self::Vnc => Some((5900, 35900)),
        }
    }
}

/// One command, or a tunnel and the command that uses it.
fn commands(
    cluster: &Cluster,
    host: &Host,
    kind: AccessKind,
    on_windows: bool,
) -> Vec<Vec<String>> {
    let address = host.address.to_string();
    let bastion = cluster.bastion(host);
    let Some((port, local)) = kind.ports() else {
        return vec![ssh(cluster, host)];
    };
    let user = match cluster.access_method(host) {
        AccessMethod::WinRm(winrm) => winrm.account(),
        AccessMethod::Ssh(login) => login.user.to_owned(),
    };
    match bastion {
        None => vec![viewer(kind, &address, port, &user, on_windows)],
        Some(bastion) => {
            let forward = format!("127.0.0.1:{local}:{address}:{port}");
            let mut tunnel = to_bastion(bastion);
            let open = ["-N", "-oExitOnForwardFailure=yes", "-L", &forward];
            tunnel.splice(1..1, open.map(str::to_owned));
            let through = viewer(kind, "127.0.0.1", local, &user, on_windows);
            vec![tunnel, through]
        }
    }
}

fn ssh(cluster: &Cluster, host: &Host) -> Vec<String> {
    let login = LoginSettings::of_host(cluster, host);
    let mut command = openssh(&login);
    if host.access.bastion == Some(HostBastion::None) {
        command.push("-oProxyJump=none".to_owned());
    }
    if let Some(bastion) = cluster.bastion(host) {
        // ProxyJump would use the host's key and known_hosts for the bastion too.
        let mut hop = to_bastion(bastion);
        hop.splice(1..1, ["-W", "%h:%p"].map(str::to_owned));
        command.push(format!("-oProxyCommand={}", quoted(&hop)));
    }
    command.push(endpoints::destination(&login));
    command
}

fn to_bastion(bastion: &Bastion) -> Vec<String> {
    let login = LoginSettings::of_bastion(bastion);
    let mut command = openssh(&login);
    command.push(endpoints::destination(&login));
    command
}

/// Defaults are left to OpenSSH, whose configuration may override them.
fn openssh(login: &LoginSettings<'_>) -> Vec<String> {
    let mut command = vec!["ssh".to_owned()];
    command.extend(login.credential.map(identity).unwrap_or_default());
    if let Some(known_hosts) = login.known_hosts {
        command.push(format!("-oUserKnownHostsFile={known_hosts}"));
    }
    command.push("-oStrictHostKeyChecking=yes".to_owned());
    if let Some(port) = login.port {
        command.extend(["-p".to_owned(), port.to_string()]);
    }
    command
}

/// A key file; OpenSSH prompts for other credentials.
fn identity(credential: &SshCredential) -> Vec<String> {
    match credential {
        SshCredential::Key {
            key: SecretRef::File(path),
            ..
        } => vec!["-i".to_owned(), path.to_string()],
        _ => Vec::new(),
    }
}

fn viewer(kind: AccessKind, address: &str, port: u16, user: &str, on_windows: bool) -> Vec<String> {
    let target = format!("{address}:{port}");
    match (kind, on_windows) {
        (AccessKind::Rdp, true) => vec!["mstsc".to_owned(), format!("/v:{target}")],
        (AccessKind::Rdp, false) => vec![
            "xfreerdp".to_owned(),
            format!("/v:{target}"),
            format!("/u:{user}"),
        ],
        // Two colons: a port, not a display number.
        _ => vec!["vncviewer".to_owned(), format!("{address}::{port}")],
    }
}

/// Quoted for a POSIX shell.
pub fn quoted(command: &[String]) -> String {
    let plain = |argument: &str| {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%,+".contains(c);
        !argument.is_empty() && argument.chars().all(plain)
    };
    let quoted = command.iter().map(|argument| match plain(argument) {
        true => argument.clone(),
        false => format!("'{}'", argument.replace('\'', r"'\''")),
    });
    quoted.collect::<Vec<_>>().join(" ")
}

/// Runs the last command, with a tunnel in the background.
fn run(commands: &[Vec<String>], local: Option<u16>) -> Result<(), CommandError> {
    let mut children = Vec::new();
    for command in commands {
        if let (Some(tunnel), Some(port)) = (children.last_mut(), local) {
            wait_until_open(tunnel, port);
        }
        let Some((program, arguments)) = command.split_first() else {
            continue;
        };
        let child = Command::new(program)
            .args(arguments)
            .spawn()
            .map_err(|error| {
                let what = format!("failed to start `{program}`");
                Problem::new("CAS-CTL-005", what, format!("install `{program}`"))
                    .detail("cause", error)
            });
        match child {
            Ok(child) => children.push(child),
            Err(problem) => {
                kill(children);
                return Err(problem.into());
            }
        }
    }
    let status = children.pop().map(|mut last| last.wait());
    kill(children);
    let code = status.and_then(Result::ok).and_then(|status| status.code());
    match code.map(u8::try_from) {
        Some(Ok(0)) => Ok(()),
        Some(Ok(code)) => Err(CommandError::reported(code)),
        _ => Err(CommandError::reported(1)),
    }
}

/// Waits until the tunnel accepts connections, without a limit: it may prompt for a
/// passphrase. If it exits, it has printed the reason.
fn wait_until_open(tunnel: &mut Child, port: u16) {
    while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err() {
        if !matches!(tunnel.try_wait(), Ok(None)) {
            return;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// Errors are ignored: the process may have exited.
fn kill(children: Vec<Child>) {
    for mut child in children {
        let _ = child.kill();
        let _ = child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cluster(bastion: &str) -> Cluster {
        let text = format!(
            "
apiVersion: casement.dev/v1alpha1
kind: Cluster
metadata: {{name: shop}}
spec:
  kubernetes: {{version: 1.36.3}}
  existing: {{kubeconfig: /c/admin.conf}}
  network: {{mode: l3-routes}}
  hosts:
    - {{name: win1, address: 198.18.0.11, os: windows-2022}}
  access:
    ssh: {{user: Administrator, key: '/c/my key', knownHosts: /c/known, port: 2222}}
{bastion}"
        );
        let loaded = casement_source::load_bytes("cluster.yaml", text.as_bytes());
        assert!(loaded.diagnostics.is_empty(), "{:?}", loaded.diagnostics);
        loaded.cluster.unwrap()
    }

    fn lines(cluster: &Cluster, kind: AccessKind, on_windows: bool) -> Vec<String> {
        let host = &cluster.spec.hosts[0];
        let commands = commands(cluster, host, kind, on_windows);
        commands.iter().map(|command| quoted(command)).collect()
    }

    #[test]
    fn shell_uses_key_and_known_hosts_of_the_file() {
        let expected = "ssh -i '/c/my key' -oUserKnownHostsFile=/c/known \
                        -oStrictHostKeyChecking=yes -p 2222 Administrator@198.18.0.11";
        assert_eq!(lines(&cluster(""), AccessKind::Ssh, false), [expected]);
    }

    #[test]
    fn bastion_uses_its_own_key() {
        let bastion =
            "    bastion: {address: 198.18.0.9, user: jump, key: /c/jump, knownHosts: /c/k2}";
        let cluster = cluster(bastion);
        let shell = &lines(&cluster, AccessKind::Ssh, false)[0];
        let hop = "'-oProxyCommand=ssh -W %h:%p -i /c/jump -oUserKnownHostsFile=/c/k2 \
                   -oStrictHostKeyChecking=yes jump@198.18.0.9'";
        assert!(shell.contains(hop), "{shell}");
        let desktop = lines(&cluster, AccessKind::Rdp, false);
        assert_eq!(
            desktop,
            [
                "ssh -N -oExitOnForwardFailure=yes -L 127.0.0.1:33890:198.18.0.11:3389 -i /c/jump \
                 -oUserKnownHostsFile=/c/k2 -oStrictHostKeyChecking=yes jump@198.18.0.9",
                "xfreerdp /v:127.0.0.1:33890 /u:Administrator",
            ]
        );
    }

    #[test]
    fn viewer_depends_on_the_local_system() {
        let cluster = cluster("");
        assert_eq!(
            lines(&cluster, AccessKind::Rdp, true),
            ["mstsc /v:198.18.0.11:3389"]
        );
        assert_eq!(
            lines(&cluster, AccessKind::Vnc, false),
            ["vncviewer 198.18.0.11::5900"]
        );
    }
}
