//! The hosts of `casement converge`: a JSON file that says how each is reached,
//! where its agent keeps its state, and which values it has of its own.
//!
//! ```json
//! {
//!   "user": "root", "key": "id_ed25519", "knownHosts": "known_hosts",
//!   "hosts": [
//!     {"name": "a", "address": "10.3.0.1", "values": {"zone": "north"}},
//!     {"name": "b", "address": "10.3.0.2", "port": 2222, "stateDir": "/srv/casement"}
//!   ]
//! }
//! ```
//!
//! Paths begin in the file's own folder. What a host does not say, holds for it
//! from the file as a whole.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use casement_diag::Problem;
use casement_remote::{HostOs, PrivateKey, Target, Way, load_key};
use serde::Deserialize;
use serde_json::Value;

use crate::told;

/// One host.
pub struct Machine {
    /// How it is reached.
    pub way: Way,
    /// What it runs.
    pub os: HostOs,
    /// Where its agent keeps its state, if not in the usual place.
    pub state_dir: Option<String>,
    values: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Written {
    #[serde(default)]
    user: Option<String>,
    #[serde(default)]
    key: Option<PathBuf>,
    #[serde(default)]
    known_hosts: Option<PathBuf>,
    hosts: Vec<WrittenHost>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct WrittenHost {
    name: String,
    address: String,
    #[serde(default)]
    port: Option<u16>,
    #[serde(default)]
    user: Option<String>,
    #[serde(default)]
    key: Option<PathBuf>,
    #[serde(default)]
    known_hosts: Option<PathBuf>,
    #[serde(default)]
    os: System,
    #[serde(default)]
    state_dir: Option<String>,
    #[serde(default)]
    values: BTreeMap<String, String>,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
enum System {
    #[default]
    Linux,
    Windows,
}

/// Reads a JSON file.
pub fn read(path: &Path) -> Result<Value, Problem> {
    let wrong = |said: String| {
        let what = format!("`{}` cannot be read", path.display());
        Problem::new("CAS-CTL-020", what, "give a file with JSON in it").seen("it says", said)
    };
    let text = std::fs::read(path).map_err(|error| wrong(error.to_string()))?;
    serde_json::from_slice(&text).map_err(|error| wrong(error.to_string()))
}

/// Reads the hosts.
pub fn machines(path: &Path) -> Result<Vec<Machine>, Problem> {
    let wrong = |said: String| {
        Problem::new(
            "CAS-CTL-023",
            format!("`{}` says nothing that can be used", path.display()),
            "mend the file; `casement converge --help` says what is in it",
        )
        .seen("it says", said)
    };
    let written: Written =
        serde_json::from_value(read(path)?).map_err(|error| wrong(error.to_string()))?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let mut keys = Keys::default();
    let mut names = BTreeSet::new();
    let mut machines = Vec::new();
    for host in written.hosts {
        if !names.insert(host.name.clone()) {
            return Err(wrong(format!("`{}` is in it twice", host.name)));
        }
        let missing = |field: &str| wrong(format!("`{}` has no `{field}`", host.name));
        let key = host.key.as_ref().or(written.key.as_ref());
        let key = folder.join(key.ok_or_else(|| missing("key"))?);
        let known_hosts = host.known_hosts.as_ref().or(written.known_hosts.as_ref());
        let known_hosts = folder.join(known_hosts.ok_or_else(|| missing("knownHosts"))?);
        let user = host.user.as_ref().or(written.user.as_ref());
        let user = user.ok_or_else(|| missing("user"))?;
        let key = keys.load(&key)?;
        let mut target = Target::new(&host.name, &host.address, user, key, known_hosts);
        target.port = host.port.unwrap_or(22);
        machines.push(Machine {
            way: Way::Ssh(target),
            os: match host.os {
                System::Linux => HostOs::Linux,
                System::Windows => HostOs::Windows,
            },
            state_dir: host.state_dir,
            values: host.values,
        });
    }
    Ok(machines)
}

/// Keys, each read once.
#[derive(Default)]
struct Keys(BTreeMap<PathBuf, Arc<PrivateKey>>);

impl Keys {
    fn load(&mut self, path: &Path) -> Result<Arc<PrivateKey>, Problem> {
        if let Some(key) = self.0.get(path) {
            return Ok(Arc::clone(key));
        }
        let key = load_key(path).map_err(|error| told::remote(&error))?;
        let key = Arc::new(key);
        self.0.insert(path.to_owned(), Arc::clone(&key));
        Ok(key)
    }
}

impl Machine {
    /// A value with this host's own values in its texts; the name of one that the
    /// host does not have is the error.
    pub fn filled(&self, value: &Value) -> Result<Value, String> {
        Ok(match value {
            Value::String(text) => Value::String(self.filled_text(text)?),
            Value::Array(items) => {
                let items = items.iter().map(|item| self.filled(item));
                Value::Array(items.collect::<Result<_, _>>()?)
            }
            Value::Object(fields) => {
                let fields = fields
                    .iter()
                    .map(|(name, value)| Ok((name.clone(), self.filled(value)?)));
                Value::Object(fields.collect::<Result<_, String>>()?)
            }
            other => other.clone(),
        })
    }

    fn filled_text(&self, text: &str) -> Result<String, String> {
        let mut filled = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("{{ ") {
            let (name, after) = after
                .split_once(" }}")
                .ok_or_else(|| format!("`{{{{ ` without its end in `{text}`"))?;
            let value = self.values.get(name);
            let value = value.ok_or_else(|| format!("the host has no value `{name}`"))?;
            filled.push_str(before);
            filled.push_str(value);
            rest = after;
        }
        filled.push_str(rest);
        Ok(filled)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(hosts: &str) -> Result<Vec<Machine>, String> {
        let folder = tempfile::tempdir().unwrap();
        casement_sim::make_key(&folder.path().join("id")).unwrap();
        let path = folder.path().join("hosts.json");
        let text =
            format!(r#"{{"user": "root", "key": "id", "knownHosts": "k", "hosts": {hosts}}}"#);
        std::fs::write(&path, text).unwrap();
        machines(&path).map_err(|problem| problem.to_string())
    }

    #[test]
    fn texts_get_the_values_of_their_host() {
        let host =
            r#"[{"name": "a", "address": "10.0.0.1", "values": {"zone": "n", "dir": "/x"}}]"#;
        let machines = written(host).unwrap();
        let value = serde_json::json!({"a": ["{{ dir }}/{{ zone }}", 1], "b": "plain {x}"});
        let filled = machines[0].filled(&value).unwrap();
        assert_eq!(
            filled,
            serde_json::json!({"a": ["/x/n", 1], "b": "plain {x}"})
        );
        let said = machines[0].filled(&"{{ rack }}".into()).unwrap_err();
        assert_eq!(said, "the host has no value `rack`");
    }

    #[test]
    fn what_is_wrong_with_a_hosts_file_is_said() {
        let twice = r#"[{"name": "a", "address": "x"}, {"name": "a", "address": "y"}]"#;
        for (hosts, said) in [
            (twice, "`a` is in it twice"),
            (r#"[{"name": "a"}]"#, "missing field `address`"),
            (
                r#"[{"name": "a", "address": "x", "prot": 1}]"#,
                "unknown field `prot`",
            ),
        ] {
            let problem = written(hosts).err().unwrap();
            assert!(problem.contains(said), "{problem}");
        }
    }
}
