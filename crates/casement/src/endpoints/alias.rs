//! What OpenSSH's own configuration says of a name: `ssh -G` is asked, where it is
//! installed, so that a name that works with `ssh` works here.
//!
//! It is also asked once without any configuration: only what differs was written by
//! somebody.

use std::collections::BTreeMap;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;
use std::thread;

/// What was written about a name; what is none, was not.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Alias {
    /// The real name or address.
    pub hostname: Option<String>,
    /// The account.
    pub user: Option<String>,
    /// The port.
    pub port: Option<u16>,
    /// The private key.
    pub key: Option<PathBuf>,
    /// The file of host keys.
    pub known_hosts: Option<PathBuf>,
    /// The name under which that file has the host.
    pub known_as: Option<String>,
    /// The hosts on the way, the first one first.
    pub jumps: Vec<Jump>,
    /// A command that makes the connection, which only OpenSSH can use.
    pub command: Option<String>,
}

/// A host on the way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Jump {
    /// Its name.
    pub name: String,
    /// The account there, where one is named.
    pub user: Option<String>,
    /// Its port, where one is named.
    pub port: Option<u16>,
}

/// What OpenSSH says of a name that nobody has written anything about.
static BARE: LazyLock<Option<String>> = LazyLock::new(|| ask("nobody", Some(Path::new("none"))));

/// What is written about a name or an address in the user's configuration.
pub fn of(name: &str) -> Alias {
    of_in(name, None)
}

/// The same for many names, by all processors at once: OpenSSH takes a moment for each.
pub fn of_all(names: &[String]) -> BTreeMap<String, Alias> {
    let processors = thread::available_parallelism().map_or(1, NonZero::get);
    let share = names.len().div_ceil(processors).max(1);
    thread::scope(|scope| {
        let ask = |names: &'_ [String]| {
            let asked = names.iter().map(|name| (name.clone(), of(name)));
            asked.collect::<Vec<_>>()
        };
        let shares = names.chunks(share);
        let asked: Vec<_> = shares.map(|it| scope.spawn(move || ask(it))).collect();
        // What is not known then is asked when it is needed.
        let asked = asked
            .into_iter()
            .flat_map(|it| it.join().unwrap_or_default());
        asked.collect()
    })
}

/// The same in a configuration of one's own.
fn of_in(name: &str, config: Option<&Path>) -> Alias {
    match (ask(name, config), BARE.as_deref()) {
        (Some(written), Some(bare)) => {
            let found = differing(&written, bare);
            let hostname = found.hostname.filter(|it| !it.eq_ignore_ascii_case(name));
            Alias { hostname, ..found }
        }
        // Without OpenSSH nobody has written anything.
        _ => Alias::default(),
    }
}

fn ask(name: &str, config: Option<&Path>) -> Option<String> {
    let mut command = Command::new("ssh");
    if let Some(config) = config {
        command.arg("-F").arg(config);
    }
    // A name that begins with a dash is none: the spec has seen to that.
    let output = command
        .args(["-G", name])
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    output
        .status
        .success()
        .then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

fn differing(written: &str, bare: &str) -> Alias {
    let bare: Vec<&str> = bare.lines().collect();
    let new = |key: &str| {
        let mut lines = written.lines().filter(|line| !bare.contains(line));
        let value = lines.find_map(|line| line.strip_prefix(key)?.strip_prefix(' '));
        value.filter(|value| *value != "none").map(str::to_owned)
    };
    let path = |value: String| expanded(value.split(' ').next().unwrap_or_default());
    let jumps = new("proxyjump").unwrap_or_default();
    Alias {
        hostname: new("hostname"),
        user: new("user"),
        port: new("port").and_then(|port| port.parse().ok()),
        key: key(written, &bare),
        known_hosts: new("userknownhostsfile").map(path),
        known_as: new("hostkeyalias"),
        jumps: jumps.split(',').filter_map(jump).collect(),
        command: new("proxycommand"),
    }
}

/// The first key that is there, if somebody has named any: as OpenSSH, which passes over
/// the others.
fn key(written: &str, bare: &[&str]) -> Option<PathBuf> {
    let named = |line: &&str| line.starts_with("identityfile ");
    let keys: Vec<&str> = written.lines().filter(named).collect();
    if keys.iter().eq(bare.iter().filter(|line| named(line))) {
        return None;
    }
    let paths = keys
        .iter()
        .filter_map(|line| line.strip_prefix("identityfile "));
    let mut paths = paths.map(expanded);
    paths.find(|path| path.exists() || path.with_added_extension("pub").exists())
}

/// `[user@]host[:port]`, or a URI of the same.
fn jump(text: &str) -> Option<Jump> {
    let text = text
        .trim()
        .trim_start_matches("ssh://")
        .trim_end_matches('/');
    let (user, rest) = match text.rsplit_once('@') {
        Some((user, rest)) => (Some(user.to_owned()), rest),
        None => (None, text),
    };
    let (name, port) = match rest.strip_prefix('[').and_then(|it| it.split_once(']')) {
        Some((name, port)) => (name, port.strip_prefix(':')),
        None => match rest.split_once(':') {
            Some((name, port)) if !port.contains(':') => (name, Some(port)),
            _ => (rest, None),
        },
    };
    (!name.is_empty()).then(|| Jump {
        name: name.to_owned(),
        user,
        port: port.and_then(|port| port.parse().ok()),
    })
}

/// A path as OpenSSH writes it.
pub fn expanded(path: &str) -> PathBuf {
    let home = std::env::var_os("HOME").or_else(|| std::env::var_os("USERPROFILE"));
    match (path.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => Path::new(&home).join(rest),
        _ => PathBuf::from(path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_openssh_is_told_of_a_name_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let (config, key) = (folder.path().join("config"), folder.path().join("web"));
        std::fs::write(&key, "").unwrap();
        let text = format!(
            "Host web*\n  HostName 10.3.0.9\n  User anna\n  Port 2222\n  \
             IdentityFile /nowhere/web\n  IdentityFile {}\n  \
             ProxyJump gate,ops@[fd00::1]:2200\n  \
             HostKeyAlias the-web\n  UserKnownHostsFile /keys/known /keys/more\n\
             Host old\n  IdentityFile /nowhere/old\n",
            key.display()
        );
        std::fs::write(&config, text).unwrap();
        let jump = |name: &str, user: Option<&str>, port| Jump {
            name: name.to_owned(),
            user: user.map(str::to_owned),
            port,
        };
        let found = of_in("web1", Some(&config));
        let wanted = Alias {
            hostname: Some("10.3.0.9".to_owned()),
            user: Some("anna".to_owned()),
            port: Some(2222),
            key: Some(key),
            known_hosts: Some("/keys/known".into()),
            known_as: Some("the-web".to_owned()),
            jumps: vec![
                jump("gate", None, None),
                jump("fd00::1", Some("ops"), Some(2200)),
            ],
            command: None,
        };
        assert_eq!(found, wanted);
        assert_eq!(of_in("other", Some(&config)), Alias::default());
        assert_eq!(of_in("old", Some(&config)), Alias::default());
        assert_eq!(of_in("10.3.0.9", Some(&config)), Alias::default());
    }
}
