//! What was pinned, in words.

use camino::Utf8Path;
use casement_diag::Problem;
use casement_lock::{Change, Content, Entry, Lock, Resolved};
use serde_json::{Value, json};

use crate::failure::CommandError;
use crate::{columns, output};

/// What a run did.
pub struct Outcome<'a> {
    /// The lock file.
    pub path: &'a Utf8Path,
    /// Whether it was written.
    pub written: bool,
    /// What is in it.
    pub resolved: &'a [Resolved],
    /// What is in it no more.
    pub dropped: Vec<String>,
}

/// What one lock has and the other has not.
pub fn dropped(old: &Lock, new: &Lock) -> Vec<String> {
    let gone = |entry: &&Entry| new.find(&entry.name, entry.system).is_none();
    let gone = old.entries().filter(gone);
    gone.map(|entry| format!("{} ({})", entry.name, entry.system))
        .collect()
}

/// Prints it in a form.
pub fn show(outcome: &Outcome<'_>, form: &str) -> Result<(), CommandError> {
    let text = match form {
        "json" => format!("{:#}\n", document(outcome)),
        "yaml" => serde_saphyr::to_string(&document(outcome)).map_err(|error| {
            let what = "the answer cannot be written as YAML";
            Problem::new("CAS-OUT-001", what, "take another form with -o").seen("it says", error)
        })?,
        _ => table(outcome),
    };
    output::print(&text)
}

fn table(outcome: &Outcome<'_>) -> String {
    let rows: Vec<Vec<String>> = outcome.resolved.iter().map(row).collect();
    let columns = ["artifact", "system", "version", "sha256", "from", ""];
    let mut text = match rows.is_empty() {
        true => String::new(),
        false => columns::table(&columns, &rows) + "\n",
    };
    for gone in &outcome.dropped {
        text.push_str(&format!("{gone} is not needed any more\n"));
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
    let count = outcome.resolved.len();
    let plural = if count == 1 { "" } else { "s" };
    let done = if outcome.written {
        "written"
    } else {
        "right already"
    };
    let entries = outcome.resolved.iter().map(|one| &one.entry);
    let unverified = entries.filter(|entry| entry.unverified).count();
    let mut text = format!(
        "{}: {done}, {count} artifact{plural} pinned\n",
        outcome.path
    );
    if unverified > 0 {
        let whose = if unverified == 1 { "it" } else { "them" };
        text.push_str(&format!(
            "{unverified} unverified: only the place that serves {whose} vouches for the hash\n"
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
