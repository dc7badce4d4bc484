//! The cluster file, from the disk to a spec that can be planned.

use std::fs::File;
use std::io::{IsTerminal, Read};
use std::path::Path;

use camino::{Utf8Path, Utf8PathBuf};
use casement_diag::{Diagnostic, Problem, Style, has_errors, render_all, summary};
use casement_plan::not_yet;
use casement_resource::Secret;
use casement_source::{Loaded, SourceMap, load_bytes};
use casement_spec::{Cluster, Host};
use serde_json::Value;

use crate::failure::CommandError;
use crate::{log_file, output};

/// A cluster file that has no errors.
pub struct SpecFile {
    /// What it says, its paths as they stand there.
    pub cluster: Cluster,
    /// Where it says it.
    pub map: SourceMap,
}

/// Reads a file. What is wrong with it has been printed when this gives an
/// error.
pub fn read(path: &Path) -> Result<SpecFile, CommandError> {
    let loaded = load(path)?;
    print(&loaded.diagnostics, &loaded.map);
    match loaded.cluster.filter(|_| !has_errors(&loaded.diagnostics)) {
        Some(cluster) => Ok(SpecFile {
            cluster,
            map: loaded.map,
        }),
        None => Err(refuse(&loaded.diagnostics)),
    }
}

/// Reads a file for a verb that touches no host: paths are resolved.
pub fn read_with_paths(path: &Path) -> Result<Cluster, CommandError> {
    let mut cluster = read(path)?.cluster;
    resolve(&mut cluster, path)?;
    Ok(cluster)
}

/// Reads a file for a verb that acts on it: what cannot be done yet is refused
/// by name, and paths are resolved.
pub fn read_to_act(path: &Path) -> Result<Cluster, CommandError> {
    let SpecFile { mut cluster, map } = read(path)?;
    let refusals = not_yet(&cluster, &|field| map.has(field));
    if !refusals.is_empty() {
        print(&refusals, &map);
        return Err(refuse(&refusals));
    }
    resolve(&mut cluster, path)?;
    Ok(cluster)
}

/// The host that a person named on the command line.
pub fn host<'a>(cluster: &'a Cluster, name: &str, remedy: &str) -> Result<&'a Host, CommandError> {
    let hosts = &cluster.spec.hosts;
    let found = hosts.iter().find(|host| host.name.as_str() == name);
    found.ok_or_else(|| {
        let known: Vec<&str> = hosts.iter().map(|host| host.name.as_str()).collect();
        let what = format!("`{name}` is not one of the hosts in the file");
        let problem = Problem::new("CAS-CTL-004", what, remedy);
        CommandError::usage(problem.seen("hosts", known.join(", ")))
    })
}

/// The values of the secrets that the file names, as far as nobody has to be
/// asked for them: what they are must not be shown anywhere.
pub fn secrets(cluster: &Cluster) -> Vec<Secret> {
    let mut values = Vec::new();
    collect_secrets(
        &serde_json::to_value(cluster).unwrap_or_default(),
        &mut values,
    );
    values
}

/// Every credential is written as where it is: `{file: …}` or `{env: …}`.
fn collect_secrets(value: &Value, values: &mut Vec<Secret>) {
    const NAMES: [&str; 4] = ["key", "passphrase", "password", "clientSecret"];
    match value {
        Value::Array(items) => items.iter().for_each(|it| collect_secrets(it, values)),
        Value::Object(fields) => {
            for (name, value) in fields {
                let place = |kind: &str| value.get(kind).and_then(Value::as_str);
                let text = match (place("file"), place("env")) {
                    _ if !NAMES.contains(&name.as_str()) => None,
                    (Some(path), _) => std::fs::read_to_string(path).ok(),
                    (_, Some(name)) => std::env::var(name).ok(),
                    _ => value
                        .as_str()
                        .and_then(|path| std::fs::read_to_string(path).ok()),
                };
                let text = text.map(|text| text.trim_end_matches(['\r', '\n']).to_owned());
                values.extend(text.filter(|text| !text.is_empty()).map(Secret::new));
                collect_secrets(value, values);
            }
        }
        _ => {}
    }
}

/// Reads no more than a cluster file can have: a device or a disk image given
/// by mistake must not fill the memory.
fn load(path: &Path) -> Result<Loaded, CommandError> {
    let mut bytes = Vec::new();
    let most = casement_source::MOST_BYTES as u64 + 1;
    let read = File::open(path).and_then(|file| file.take(most).read_to_end(&mut bytes));
    read.map_err(|error| {
        let problem = Problem::new(
            "CAS-FILE-001",
            format!("the cluster file `{}` cannot be read", path.display()),
            "name it with -f FILE; examples/existing-cluster.yaml is one to begin with",
        );
        CommandError::usage(problem.seen("it says", error))
    })?;
    Ok(load_bytes(&path.display().to_string(), &bytes))
}

fn print(findings: &[Diagnostic], map: &SourceMap) {
    let style = if std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none() {
        Style::Colour
    } else {
        Style::Plain
    };
    eprint!("{}", render_all(findings, Some(map), style));
    log_file::write(&render_all(findings, Some(map), Style::Plain));
}

fn refuse(findings: &[Diagnostic]) -> CommandError {
    output::say(&format!("\n{}", summary(findings)));
    CommandError::told(3)
}

/// Makes the paths in a spec absolute.
pub fn resolve(cluster: &mut Cluster, path: &Path) -> Result<(), CommandError> {
    let absolute = std::path::absolute(path).ok();
    let folder = absolute.as_deref().and_then(Path::parent);
    let folder = folder.and_then(Utf8Path::from_path).ok_or_else(|| {
        CommandError::usage(Problem::new(
            "CAS-FILE-002",
            format!(
                "the folder of `{}` has a name that is no text",
                path.display()
            ),
            "move the file to a folder whose name is UTF-8",
        ))
    })?;
    let home = std::env::var("HOME").or_else(|_| std::env::var("USERPROFILE"));
    let home = home.ok().map(Utf8PathBuf::from);
    cluster.resolve(folder, home.as_deref()).map_err(|error| {
        CommandError::usage(Problem::new("CAS-FILE-003", error.to_string(), "set HOME"))
    })
}
