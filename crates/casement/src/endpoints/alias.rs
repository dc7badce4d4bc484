//! The user's OpenSSH configuration of a host, from `ssh -G` if it is installed: a name
//! that works with `ssh` works here.
//!
//! `ssh -G` prints defaults too. It is also run once without any configuration; only
//! values that differ were configured.

use std::collections::BTreeMap;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;
use std::thread;

/// None where nothing is configured.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Alias {
    pub hostname: Option<String>,
    pub user: Option<String>,
    pub port: Option<u16>,
    /// The private key file.
    pub key: Option<PathBuf>,
    pub known_hosts: Option<PathBuf>,
    /// `HostKeyAlias`: the name in known_hosts.
    pub known_as: Option<String>,
    /// `ProxyJump`, in order.
    pub jumps: Vec<Jump>,
    /// Only OpenSSH can run it.
    pub proxy_command: Option<String>,
}

/// One host of `ProxyJump`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Jump {
    pub name: String,
    pub user: Option<String>,
    pub port: Option<u16>,
}

/// The output without any configuration.
static DEFAULTS: LazyLock<Option<String>> =
    LazyLock::new(|| query("example", Some(Path::new("none"))));

/// The configuration of a name or an address.
pub fn of(name: &str) -> Alias {
    of_in(name, None)
}

/// For many names, in parallel: each takes one process.
pub fn of_all(names: &[String]) -> BTreeMap<String, Alias> {
    let processors = thread::available_parallelism().map_or(1, NonZero::get);
    let share = names.len().div_ceil(processors).max(1);
    thread::scope(|scope| {
        let query = |names: &'_ [String]| {
            let found = names.iter().map(|name| (name.clone(), of(name)));
            found.collect::<Vec<_>>()
        };
        let chunks = names.chunks(share);
        let threads: Vec<_> = chunks.map(|it| scope.spawn(move || query(it))).collect();
        // A name that is missing here is queried when it is needed.
        let found = threads
            .into_iter()
            .flat_map(|it| it.join().unwrap_or_default());
        found.collect()
    })
}

/// With a configuration file other than the user's.
fn of_in(name: &str, config: Option<&Path>) -> Alias {
    match (query(name, config), DEFAULTS.as_deref()) {
        (Some(output), Some(defaults)) => {
            let found = configured(&output, defaults);
            let hostname = found.hostname.filter(|it| !it.eq_ignore_ascii_case(name));
            Alias { hostname, ..found }
        }
        // OpenSSH is not installed.
        _ => Alias::default(),
    }
}

fn query(name: &str, config: Option<&Path>) -> Option<String> {
    let mut command = Command::new("ssh");
    if let Some(config) = config {
        command.arg("-F").arg(config);
    }
    // The spec rejects names that start with a dash.
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

fn configured(output: &str, defaults: &str) -> Alias {
    let defaults: Vec<&str> = defaults.lines().collect();
    let value = |key: &str| {
        let mut lines = output.lines().filter(|line| !defaults.contains(line));
        let value = lines.find_map(|line| line.strip_prefix(key)?.strip_prefix(' '));
        value.filter(|value| *value != "none").map(str::to_owned)
    };
    let path = |value: String| expanded(value.split(' ').next().unwrap_or_default());
    let jumps = value("proxyjump").unwrap_or_default();
    Alias {
        hostname: value("hostname"),
        user: value("user"),
        port: value("port").and_then(|port| port.parse().ok()),
        key: key(output, &defaults),
        known_hosts: value("userknownhostsfile").map(path),
        known_as: value("hostkeyalias"),
        jumps: jumps.split(',').filter_map(jump).collect(),
        proxy_command: value("proxycommand"),
    }
}

/// The first configured key file that exists; OpenSSH skips missing ones too.
fn key(output: &str, defaults: &[&str]) -> Option<PathBuf> {
    let named = |line: &&str| line.starts_with("identityfile ");
    let keys: Vec<&str> = output.lines().filter(named).collect();
    if keys.iter().eq(defaults.iter().filter(|line| named(line))) {
        return None;
    }
    let paths = keys
        .iter()
        .filter_map(|line| line.strip_prefix("identityfile "));
    let mut paths = paths.map(expanded);
    paths.find(|path| path.exists() || path.with_added_extension("pub").exists())
}

/// `[user@]host[:port]`, or an `ssh://` URI.
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

/// Expands `~`.
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
    #[ignore = "needs the OpenSSH client"]
    fn configured_values_are_found() {
        let dir = tempfile::tempdir().unwrap();
        let (config, key) = (dir.path().join("config"), dir.path().join("web"));
        std::fs::write(&key, "").unwrap();
        let text = format!(
            "Host web*\n  HostName 10.3.0.9\n  User anna\n  Port 2222\n  \
             IdentityFile /missing/web\n  IdentityFile {}\n  \
             ProxyJump bastion,ops@[fd00::1]:2200\n  \
             HostKeyAlias the-web\n  UserKnownHostsFile /keys/known /keys/more\n\
             Host old\n  IdentityFile /missing/old\n",
            key.display()
        );
        std::fs::write(&config, text).unwrap();
        let jump = |name: &str, user: Option<&str>, port| Jump {
            name: name.to_owned(),
            user: user.map(str::to_owned),
            port,
        };
        let found = of_in("web1", Some(&config));
        let expected = Alias {
            hostname: Some("10.3.0.9".to_owned()),
            user: Some("anna".to_owned()),
            port: Some(2222),
            key: Some(key),
            known_hosts: Some("/keys/known".into()),
            known_as: Some("the-web".to_owned()),
            jumps: vec![
                jump("bastion", None, None),
                jump("fd00::1", Some("ops"), Some(2200)),
            ],
            proxy_command: None,
        };
        assert_eq!(found, expected);
        assert_eq!(of_in("other", Some(&config)), Alias::default());
        assert_eq!(of_in("old", Some(&config)), Alias::default());
        assert_eq!(of_in("10.3.0.9", Some(&config)), Alias::default());
    }
}
