//! Output of `casement lock`.

use camino::Utf8Path;
use casement_diag::Problem;
use casement_lock::{Change, Content, Entry, Lock, Resolved};
use serde_json::{Value, json};

use crate::failure::CommandError;
use crate::{columns, output};

pub struct Outcome<'a> {
    pub path: &'a Utf8Path,
    /// Whether the lock file was written.
    pub written: bool,
    pub resolved: &'a [Resolved],
    /// Removed entries.
    pub dropped: Vec<String>,
}

/// The entries that only the old lock has.
pub fn dropped(old: &Lock, new: &Lock) -> Vec<String> {
    let unused = |entry: &&Entry| new.find(&entry.name, entry.system).is_none();
    let dropped = old.entries().filter(unused);
    dropped
        .map(|entry| format!("{} ({})", entry.name, entry.system))
        .collect()
}

pub fn print(outcome: &Outcome<'_>, format: &str) -> Result<(), CommandError> {
    let text = match format {
        "json" => format!("{:#}\n", document(outcome)),
        "yaml" => serde_saphyr::to_string(&document(outcome)).map_err(|error| {
            let what = "failed to format the output as YAML";
            let help = "choose another format with `-o`";
            Problem::new("CAS-OUT-001", what, help).detail("cause", error)
        })?,
        _ => table(outcome),
    };
    output::print(&text)
}

fn table(outcome: &Outcome<'_>) -> String {
    let rows: Vec<Vec<String>> = outcome.resolved.iter().map(row).collect();
    let columns = ["artifact", "os", "version", "sha256", "source", ""];
    let mut text = match rows.is_empty() {
        true => String::new(),
        false => columns::table(&columns, &rows) + "\n",
    };
    for dropped in &outcome.dropped {
        text.push_str(&format!("{dropped} is no longer needed\n"));
    }
    text + &summary(outcome)
}

fn row(resolved: &Resolved) -> Vec<String> {
    let entry = &resolved.entry;
    let version = match &entry.content {
        Content::Published { version, .. } => version.clone(),
        Content::Own { path } => path.to_string(),
    };
    let from = match entry.unverified {
        true => format!("{}, unverified", entry.from),
        false => entry.from.to_string(),
    };
    let change = match resolved.change {
        Change::New => "new",
        Change::Changed => "changed",
        Change::Kept => "",
    };
    vec![
        entry.name.clone(),
        entry.system.to_string(),
        version,
        entry.sha256.short(),
        from,
        change.to_owned(),
    ]
}

fn summary(outcome: &Outcome<'_>) -> String {
    let artifacts = output::count(outcome.resolved.len(), "artifact");
    let result = match outcome.written {
        true => "written",
        false => "up to date",
    };
    let entries = outcome.resolved.iter().map(|one| &one.entry);
    let unverified = entries.filter(|entry| entry.unverified).count();
    let mut text = format!("{}: {result}, {artifacts} pinned\n", outcome.path);
    if unverified > 0 {
        text.push_str(&format!(
            "{unverified} unverified: the hash comes from the server of the download itself\n"
        ));
    }
    text
}

fn document(outcome: &Outcome<'_>) -> Value {
    let artifacts = outcome.resolved.iter().map(|one| {
        let entry = &one.entry;
        let mut value = json!({
            "name": entry.name,
            "system": entry.system.name(),
            "sha256": entry.sha256,
            "from": entry.from.name(),
            "source": entry.source,
            "unverified": entry.unverified,
            "change": match one.change {
                Change::New => "new",
                Change::Changed => "changed",
                Change::Kept => "kept",
            },
        });
        match &entry.content {
            Content::Published { version, url } => {
                value["version"] = json!(version);
                value["url"] = json!(url);
            }
            Content::Own { path } => value["file"] = json!(path),
        }
        value
    });
    json!({
        "lock": outcome.path,
        "written": outcome.written,
        "artifacts": artifacts.collect::<Vec<_>>(),
        "dropped": outcome.dropped,
    })
}
