//! `casement access`: the command that brings a person to a host.

use std::net::{Ipv4Addr, TcpStream};
use std::process::{Child, Command};
use std::time::Duration;

use casement_diag::Problem;
use casement_spec::{
    Bastion, Cluster, Host, HostBastion, SecretRef, SshCredential, Way as Written,
};
use clap::{Args, ValueEnum};

use crate::failure::CommandError;
use crate::way::Said;
use crate::{output, spec_file, way};

/// Print the command that opens a host: a shell, its desktop, its console.
#[derive(Debug, Args)]
pub struct AccessArgs {
    /// By which way
    #[arg(value_enum)]
    way: Way,
    /// The host, as the file names it
    host: String,
    /// The cluster file
    #[arg(short, long, default_value = "cluster.yaml")]
    file: std::path::PathBuf,
    /// Run it instead
    #[arg(long)]
    run: bool,
}

/// By which way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Way {
    /// A shell
    Ssh,
    /// A Windows desktop
    Rdp,
    /// A console
    Vnc,
}

/// Runs the verb.
pub fn run_access(arguments: &AccessArgs) -> Result<(), CommandError> {
    let cluster = spec_file::read_with_paths(&arguments.file)?;
    let host = spec_file::host(&cluster, &arguments.host, "name a host as the file does")?;
    let commands = commands(&cluster, host, arguments.way, cfg!(windows));
    if !arguments.run {
        let lines = commands.iter().map(|words| shown(words) + "\n");
        return output::print(&lines.collect::<String>());
    }
    run(&commands, arguments.way.ports().map(|(_, here)| here))
}

impl Way {
    /// The port there, and the end of a tunnel here; a shell needs none.
    fn ports(self) -> Option<(u16, u16)> {
        match self {
            Self::Ssh => None,
            Self::Rdp => Some((3389, 33890)),
            Self::Vnc => Some((5900, 35900)),
        }
    }
}

/// One command, or a tunnel and then what goes through it.
fn commands(cluster: &Cluster, host: &Host, way: Way, on_windows: bool) -> Vec<Vec<String>> {
    let address = host.address.to_string();
    let bastion = cluster.bastion(host);
    let Some((port, local)) = way.ports() else {
        return vec![ssh(cluster, host)];
    };
    let user = match cluster.way(host) {
        Written::WinRm(winrm) => winrm.account(),
        Written::Ssh(login) => login.user.to_owned(),
    };
    match bastion {
        None => vec![viewer(way, &address, port, &user, on_windows)],
        Some(bastion) => {
            let forward = format!("127.0.0.1:{local}:{address}:{port}");
            let mut tunnel = to_bastion(bastion);
            let open = ["-N", "-oExitOnForwardFailure=yes", "-L", &forward];
            tunnel.splice(1..1, open.map(str::to_owned));
            let through = viewer(way, "127.0.0.1", local, &user, on_windows);
            vec![tunnel, through]
        }
    }
}

fn ssh(cluster: &Cluster, host: &Host) -> Vec<String> {
    let said = Said::of_host(cluster, host);
    let mut words = openssh(&said);
    if host.access.bastion == Some(HostBastion::None) {
        words.push("-oProxyJump=none".to_owned());
    }
    if let Some(bastion) = cluster.bastion(host) {
        // A jump would take the host's own key and known_hosts for the bastion too.
        let mut hop = to_bastion(bastion);
        hop.splice(1..1, ["-W", "%h:%p"].map(str::to_owned));
        words.push(format!("-oProxyCommand={}", shown(&hop)));
    }
    words.push(way::at(&said));
    words
}

fn to_bastion(bastion: &Bastion) -> Vec<String> {
    let said = Said::of_bastion(bastion);
    let mut words = openssh(&said);
    words.push(way::at(&said));
    words
}

/// OpenSSH with what the file says; the usual it knows itself, and its configuration
/// may say otherwise.
fn openssh(said: &Said<'_>) -> Vec<String> {
    let mut words = vec!["ssh".to_owned()];
    words.extend(said.credential.map(identity).unwrap_or_default());
    if let Some(known_hosts) = said.known_hosts {
        words.push(format!("-oUserKnownHostsFile={known_hosts}"));
    }
    words.push("-oStrictHostKeyChecking=yes".to_owned());
    if let Some(port) = said.port {
        words.extend(["-p".to_owned(), port.to_string()]);
    }
    words
}

/// The key, where it is one that OpenSSH can find; all else it asks for.
fn identity(credential: &SshCredential) -> Vec<String> {
    match credential {
        SshCredential::Key {
            key: SecretRef::File(path),
            ..
        } => vec!["-i".to_owned(), path.to_string()],
        _ => Vec::new(),
    }
}

fn viewer(way: Way, address: &str, port: u16, user: &str, on_windows: bool) -> Vec<String> {
    let at = format!("{address}:{port}");
    match (way, on_windows) {
        (Way::Rdp, true) => vec!["mstsc".to_owned(), format!("/v:{at}")],
        (Way::Rdp, false) => vec![
            "xfreerdp".to_owned(),
            format!("/v:{at}"),
            format!("/u:{user}"),
        ],
        // Two colons: a port, and not a display.
        _ => vec!["vncviewer".to_owned(), format!("{address}::{port}")],
    }
}

/// As it is typed into a POSIX shell.
fn shown(words: &[String]) -> String {
    let plain = |word: &str| {
        let fine = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%,+".contains(c);
        !word.is_empty() && word.chars().all(fine)
    };
    let quoted = words.iter().map(|word| match plain(word) {
        true => word.clone(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    });
    quoted.collect::<Vec<_>>().join(" ")
}

/// Runs the last command; a tunnel before it lives as long.
fn run(commands: &[Vec<String>], local: Option<u16>) -> Result<(), CommandError> {
    let mut children = Vec::new();
    for words in commands {
        if let (Some(tunnel), Some(port)) = (children.last_mut(), local) {
            until_open(tunnel, port);
        }
        let Some((program, rest)) = words.split_first() else {
            continue;
        };
        let child = Command::new(program).args(rest).spawn().map_err(|error| {
            let what = format!("`{program}` could not be started");
            Problem::new("CAS-CTL-005", what, format!("install {program}")).seen("it says", error)
        });
        match child {
            Ok(child) => children.push(child),
            Err(problem) => {
                end(children);
                return Err(problem.into());
            }
        }
    }
    let ended = children.pop().map(|mut last| last.wait());
    end(children);
    let code = ended.and_then(Result::ok).and_then(|status| status.code());
    match code.map(u8::try_from) {
        Some(Ok(0)) => Ok(()),
        Some(Ok(code)) => Err(CommandError::told(code)),
        _ => Err(CommandError::told(1)),
    }
}

/// Waits until the tunnel takes connections. It may ask a person for a passphrase
/// first; one that has ended will never take any, and says why itself.
fn until_open(tunnel: &mut Child, port: u16) {
    while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err() {
        if !matches!(tunnel.try_wait(), Ok(None)) {
            return;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// Ends what ran beside the last command; it may have ended by itself.
fn end(children: Vec<Child>) {
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

    fn lines(cluster: &Cluster, way: Way, on_windows: bool) -> Vec<String> {
        let host = &cluster.spec.hosts[0];
        let commands = commands(cluster, host, way, on_windows);
        commands.iter().map(|words| shown(words)).collect()
    }

    #[test]
    fn a_shell_is_opened_with_the_key_and_the_known_hosts_of_the_file() {
        let expected = "ssh -i '/c/my key' -oUserKnownHostsFile=/c/known \
                        -oStrictHostKeyChecking=yes -p 2222 Administrator@198.18.0.11";
        assert_eq!(lines(&cluster(""), Way::Ssh, false), [expected]);
    }

    #[test]
    fn a_bastion_is_passed_with_its_own_key() {
        let bastion =
            "    bastion: {address: 198.18.0.9, user: jump, key: /c/jump, knownHosts: /c/k2}";
        let cluster = cluster(bastion);
        let shell = &lines(&cluster, Way::Ssh, false)[0];
        let hop = "'-oProxyCommand=ssh -W %h:%p -i /c/jump -oUserKnownHostsFile=/c/k2 \
                   -oStrictHostKeyChecking=yes jump@198.18.0.9'";
        assert!(shell.contains(hop), "{shell}");
        let desktop = lines(&cluster, Way::Rdp, false);
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
    fn desktops_and_consoles_are_opened_with_what_the_system_has() {
        let cluster = cluster("");
        assert_eq!(
            lines(&cluster, Way::Rdp, true),
            ["mstsc /v:198.18.0.11:3389"]
        );
        assert_eq!(
            lines(&cluster, Way::Vnc, false),
            ["vncviewer 198.18.0.11::5900"]
        );
    }
}
