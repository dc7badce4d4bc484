//! The hosts file of `casement converge` (JSON): how to connect to each host, where its
//! agent keeps its state, and its values for the document.
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
//! Paths are relative to the directory of the file. Fields that a host does not set are
//! taken from the top level.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use casement_diag::Problem;
use casement_remote::{HostEndpoint, HostOs, PrivateKey, Target, load_key};
use serde::Deserialize;
use serde_json::Value;

pub struct ConvergeHost {
    pub endpoint: HostEndpoint,
    pub os: HostOs,
    /// Where the agent keeps its state; None for the default.
    pub state_dir: Option<String>,
    values: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct HostsFile {
    #[serde(default)]
    user: Option<String>,
    #[serde(default)]
    key: Option<PathBuf>,
    #[serde(default)]
    known_hosts: Option<PathBuf>,
    hosts: Vec<HostEntry>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct HostEntry {
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
    os: OsName,
    #[serde(default)]
    state_dir: Option<String>,
    #[serde(default)]
    values: BTreeMap<String, String>,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
enum OsName {
    #[default]
    Linux,
    Windows,
}

pub fn read(path: &Path) -> Result<Value, Problem> {
    let failed = |cause: String| {
        let what = format!("failed to read `{}`", path.display());
        Problem::new("CAS-CTL-020", what, "use a JSON file").detail("cause", cause)
    };
    let text = std::fs::read(path).map_err(|error| failed(error.to_string()))?;
    serde_json::from_slice(&text).map_err(|error| failed(error.to_string()))
}

pub fn load(path: &Path) -> Result<Vec<ConvergeHost>, Problem> {
    let invalid = |cause: String| {
        Problem::new(
            "CAS-CTL-023",
            format!("`{}` is not a valid hosts file", path.display()),
            "fix the file; `casement converge --help` describes it",
        )
        .detail("cause", cause)
    };
    let file: HostsFile =
        serde_json::from_value(read(path)?).map_err(|error| invalid(error.to_string()))?;
    let dir = path.parent().unwrap_or(Path::new(""));
    let mut keys = Keys::default();
    let mut names = BTreeSet::new();
    let mut hosts = Vec::new();
    for host in file.hosts {
        if !names.insert(host.name.clone()) {
            return Err(invalid(format!("duplicate host `{}`", host.name)));
        }
        let missing = |field: &str| invalid(format!("`{}` has no `{field}`", host.name));
        let key = host.key.as_ref().or(file.key.as_ref());
        let key = dir.join(key.ok_or_else(|| missing("key"))?);
        let known_hosts = host.known_hosts.as_ref().or(file.known_hosts.as_ref());
        let known_hosts = dir.join(known_hosts.ok_or_else(|| missing("knownHosts"))?);
        let user = host.user.as_ref().or(file.user.as_ref());
        let user = user.ok_or_else(|| missing("user"))?;
        let key = keys.load(&key)?;
        let mut target = Target::new(&host.name, &host.address, user, key, known_hosts);
        target.port = host.port.unwrap_or(22);
        hosts.push(ConvergeHost {
            endpoint: HostEndpoint::Ssh(target),
            os: match host.os {
                OsName::Linux => HostOs::Linux,
                OsName::Windows => HostOs::Windows,
            },
            state_dir: host.state_dir,
            values: host.values,
        });
    }
    Ok(hosts)
}

/// Private keys, each loaded once.
#[derive(Default)]
struct Keys(BTreeMap<PathBuf, Arc<PrivateKey>>);

impl Keys {
    fn load(&mut self, path: &Path) -> Result<Arc<PrivateKey>, Problem> {
        if let Some(key) = self.0.get(path) {
            return Ok(Arc::clone(key));
        }
        let key = load_key(path).map_err(|error| error.problem())?;
        let key = Arc::new(key);
        self.0.insert(path.to_owned(), Arc::clone(&key));
        Ok(key)
    }
}

impl ConvergeHost {
    /// Replaces the placeholders in all strings.
    pub fn fill(&self, value: &Value) -> Result<Value, String> {
        Ok(match value {
            Value::String(text) => Value::String(self.fill_text(text)?),
            Value::Array(items) => {
                let items = items.iter().map(|item| self.fill(item));
                Value::Array(items.collect::<Result<_, _>>()?)
            }
            Value::Object(fields) => {
                let fields = fields
                    .iter()
                    .map(|(name, value)| Ok((name.clone(), self.fill(value)?)));
                Value::Object(fields.collect::<Result<_, String>>()?)
            }
            other => other.clone(),
        })
    }

    fn fill_text(&self, text: &str) -> Result<String, String> {
        let mut filled = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("{{ ") {
            let (name, after) = after
                .split_once(" }}")
                .ok_or_else(|| format!("`{{{{ ` without ` }}}}` in `{text}`"))?;
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

    fn load_hosts(hosts: &str) -> Result<Vec<ConvergeHost>, String> {
        let dir = tempfile::tempdir().unwrap();
        casement_sim::make_key(&dir.path().join("id")).unwrap();
        let path = dir.path().join("hosts.json");
        let text =
            format!(r#"{{"user": "root", "key": "id", "knownHosts": "k", "hosts": {hosts}}}"#);
        std::fs::write(&path, text).unwrap();
        load(&path).map_err(|problem| problem.to_string())
    }

    #[test]
    fn placeholders_are_replaced_by_the_values_of_the_host() {
        let host =
            r#"[{"name": "a", "address": "10.0.0.1", "values": {"zone": "n", "dir": "/x"}}]"#;
        let hosts = load_hosts(host).unwrap();
        let value = serde_json::json!({"a": ["{{ dir }}/{{ zone }}", 1], "b": "plain {x}"});
        let filled = hosts[0].fill(&value).unwrap();
        assert_eq!(
            filled,
            serde_json::json!({"a": ["/x/n", 1], "b": "plain {x}"})
        );
        let error = hosts[0].fill(&"{{ rack }}".into()).unwrap_err();
        assert_eq!(error, "the host has no value `rack`");
    }

    #[test]
    fn invalid_hosts_files_are_rejected_with_the_cause() {
        let twice = r#"[{"name": "a", "address": "x"}, {"name": "a", "address": "y"}]"#;
        for (hosts, cause) in [
            (twice, "duplicate host `a`"),
            (r#"[{"name": "a"}]"#, "missing field `address`"),
            (
                r#"[{"name": "a", "address": "x", "prot": 1}]"#,
                "unknown field `prot`",
            ),
        ] {
            let problem = load_hosts(hosts).err().unwrap();
            assert!(problem.contains(cause), "{problem}");
        }
    }
}
