//! Output of `casement lock`.

use camino::Utf8Path;
use casement_lock::{Change, Content, Entry, Lock, Resolved};
use serde::Serialize;

use crate::failure::CommandError;
use crate::json::{self, Document};
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
        "json" => json::text(&document(outcome)),
        "yaml" => json::yaml(&document(outcome))?,
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

/// Printed by `-o json` and `-o yaml`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LockDocument {
    pub lock: String,
    /// Whether the lock file was written.
    pub written: bool,
    pub artifacts: Vec<LockedArtifact>,
    /// Entries that are no longer needed.
    pub dropped: Vec<String>,
}

impl Document for LockDocument {
    const KIND: &'static str = "Lock";
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LockedArtifact {
    pub name: String,
    pub system: &'static str,
    pub sha256: String,
    /// Where the hash is from.
    pub from: &'static str,
    pub source: String,
    pub unverified: bool,
    /// `new`, `changed`, `kept`.
    pub change: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// A file of the user, which has neither version nor URL.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
}

fn document(outcome: &Outcome<'_>) -> LockDocument {
    LockDocument {
        lock: outcome.path.to_string(),
        written: outcome.written,
        artifacts: outcome.resolved.iter().map(locked).collect(),
        dropped: outcome.dropped.clone(),
    }
}

fn locked(resolved: &Resolved) -> LockedArtifact {
    let entry = &resolved.entry;
    let (version, url, file) = match &entry.content {
        Content::Published { version, url } => (Some(version), Some(url), None),
        Content::Own { path } => (None, None, Some(path.to_string())),
    };
    LockedArtifact {
        name: entry.name.clone(),
        system: entry.system.name(),
        sha256: entry.sha256.to_string(),
        from: entry.from.name(),
        source: entry.source.to_string(),
        unverified: entry.unverified,
        change: match resolved.change {
            Change::New => "new",
            Change::Changed => "changed",
            Change::Kept => "kept",
        },
        version: version.cloned(),
        url: url.map(ToString::to_string),
        file,
    }
}
