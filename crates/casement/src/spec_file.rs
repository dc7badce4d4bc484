//! Reads and validates the cluster file.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use camino::{Utf8Path, Utf8PathBuf};
use casement_diag::{Diagnostic, Problem, Style, has_errors, render_all, summary};
use casement_plan::unsupported;
use casement_resource::Secret;
use casement_source::{Loaded, SourceMap, load_bytes};
use casement_spec::{Cluster, Host};
use serde_json::Value;

use crate::failure::CommandError;
use crate::{log_file, output};

/// A valid cluster file.
pub struct SpecFile {
    /// Paths are not resolved.
    pub cluster: Cluster,
    pub map: SourceMap,
}

/// Prints all findings; fails if there are errors.
pub fn read(path: &Path) -> Result<SpecFile, CommandError> {
    let loaded = load(path)?;
    print(&loaded.diagnostics, &loaded.map);
    match loaded.cluster.filter(|_| !has_errors(&loaded.diagnostics)) {
        Some(cluster) => Ok(SpecFile {
            cluster,
            map: loaded.map,
        }),
        None => Err(rejected(&loaded.diagnostics)),
    }
}

/// For verbs that do not connect to hosts: paths are resolved.
pub fn read_with_paths(path: &Path) -> Result<Cluster, CommandError> {
    let mut cluster = read(path)?.cluster;
    resolve(&mut cluster, path)?;
    Ok(cluster)
}

/// For verbs that connect to hosts: unsupported settings are rejected, and paths are
/// resolved.
pub fn read_to_act(path: &Path) -> Result<Cluster, CommandError> {
    let SpecFile { mut cluster, map } = read(path)?;
    let findings = unsupported(&cluster, &|field| map.has(field));
    if !findings.is_empty() {
        print(&findings, &map);
        return Err(rejected(&findings));
    }
    resolve(&mut cluster, path)?;
    Ok(cluster)
}

/// The host with this name on the command line.
pub fn host<'a>(cluster: &'a Cluster, name: &str, help: &str) -> Result<&'a Host, CommandError> {
    let hosts = &cluster.spec.hosts;
    let found = hosts.iter().find(|host| host.name.as_str() == name);
    found.ok_or_else(|| {
        let known: Vec<&str> = hosts.iter().map(|host| host.name.as_str()).collect();
        let what = format!("`{name}` is not a host of the cluster file");
        let problem = Problem::new("CAS-CTL-004", what, help);
        CommandError::usage(problem.detail("hosts", known.join(", ")))
    })
}

/// The values of all secrets that need no prompt, to be masked in output.
pub fn secrets(cluster: &Cluster) -> Vec<Secret> {
    let mut values = Vec::new();
    collect_secrets(
        &serde_json::to_value(cluster).unwrap_or_default(),
        &mut values,
    );
    values
}

/// Credentials are references: `{file: …}` or `{env: …}`.
fn collect_secrets(value: &Value, values: &mut Vec<Secret>) {
    const NAMES: [&str; 4] = ["key", "passphrase", "password", "clientSecret"];
    match value {
        Value::Array(items) => items.iter().for_each(|it| collect_secrets(it, values)),
        Value::Object(fields) => {
            for (name, value) in fields {
                let source = |kind: &str| value.get(kind).and_then(Value::as_str);
                let text = match (source("file"), source("env")) {
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

/// Limited, so that a device or a disk image given by mistake does not fill the memory.
fn load(path: &Path) -> Result<Loaded, CommandError> {
    let mut bytes = Vec::new();
    let limit = casement_source::MAX_BYTES as u64 + 1;
    let read = File::open(path).and_then(|file| file.take(limit).read_to_end(&mut bytes));
    read.map_err(|error| {
        let problem = Problem::new(
            "CAS-FILE-001",
            format!("failed to read the cluster file `{}`", path.display()),
            "set it with `-f FILE`, or create one with `casement init`",
        );
        CommandError::usage(problem.detail("cause", error))
    })?;
    Ok(load_bytes(&path.display().to_string(), &bytes))
}

fn print(findings: &[Diagnostic], map: &SourceMap) {
    let style = output::style(&std::io::stderr());
    eprint!(
        "{}",
        output::encode(&render_all(findings, Some(map), style))
    );
    let plain = render_all(findings, Some(map), Style::Plain);
    log_file::write(&output::encode(&plain));
}

fn rejected(findings: &[Diagnostic]) -> CommandError {
    output::message(&format!("\n{}", summary(findings)));
    CommandError::reported(3)
}

/// Makes the paths absolute.
pub fn resolve(cluster: &mut Cluster, path: &Path) -> Result<(), CommandError> {
    let dir = parent_dir(path, "move the file to a directory with a UTF-8 name");
    let dir = dir.map_err(CommandError::usage)?;
    let home = std::env::var("HOME").or_else(|_| std::env::var("USERPROFILE"));
    let home = home.ok().map(Utf8PathBuf::from);
    cluster.resolve(&dir, home.as_deref()).map_err(|error| {
        let variable = if cfg!(windows) { "USERPROFILE" } else { "HOME" };
        let help = format!("set {variable}, or write the full path in the cluster file");
        CommandError::usage(Problem::new("CAS-FILE-003", error.to_string(), help))
    })
}

/// The absolute directory of a file. `help` is for a name that is not UTF-8.
pub fn parent_dir(path: &Path, help: &str) -> Result<Utf8PathBuf, Problem> {
    let absolute = std::path::absolute(path).map_err(|error| {
        let what = "failed to get the current directory";
        Problem::new(
            "CAS-FILE-022",
            what,
            "change to an existing directory with `cd`",
        )
        .detail("cause", error)
    })?;
    let dir = absolute.parent().and_then(Utf8Path::from_path);
    dir.map(Utf8Path::to_owned).ok_or_else(|| {
        let what = format!("the directory of `{}` is not valid UTF-8", path.display());
        Problem::new("CAS-FILE-002", what, help)
    })
}
