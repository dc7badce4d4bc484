//! The support bundle of a host: facts, applied documents and drift, networks,
//! configuration files, logs and the last runs. A part that cannot be read contains
//! its error instead.

use casement_resource::{Access, HostPath, NodeDocument, Resource, RunId};
use serde::Serialize;

use crate::inspect::inspect;
use crate::observe;
use crate::platform::{Platform, Result};
use crate::state::order::{Order, Task};
use crate::state::{Layout, applied, journal};

use super::read;

/// Only the end of a larger file is included.
const MAX_FILE_BYTES: usize = 4 << 20;
/// Fits into a protocol line, even if every character is escaped.
const MAX_CHUNK_BYTES: usize = 128 * 1024;
const MAX_RUNS: usize = 4;

/// Calls `send` with the file name and text of each chunk.
pub(super) fn collect(
    platform: &dyn Platform,
    layout: &Layout,
    send: &mut dyn FnMut(&str, &str) -> Result<()>,
) -> Result<()> {
    let mut part = |name: &str, text: Result<String>| -> Result<()> {
        let text =
            text.unwrap_or_else(|failure| format!("{}: {}\n", failure.code, failure.message));
        chunks(&text).try_for_each(|chunk| send(name, chunk))
    };
    part(
        "host.json",
        inspect(platform).map(|host| format!("{host:#}\n")),
    )?;
    let results = observe::observe_documents(platform, layout, None);
    part(
        "observed.txt",
        results.map(|results| observe::render(&results, true)),
    )?;
    let documents = documents(layout)?;
    for document in &documents {
        let name = format!("documents/{}.json", document.stage().name());
        part(&name, Ok(json(document)))?;
    }
    for path in files(&documents) {
        let text = read::tail(platform, path, MAX_FILE_BYTES, None);
        let Ok((Some(text), _)) = text else {
            part(&name_of(path), text.map(|_| "file not found\n".to_owned()))?;
            continue;
        };
        part(&name_of(path), Ok(text))?;
    }
    let runs = journal::runs(layout)?;
    for run in runs.iter().rev().take(MAX_RUNS) {
        part(&format!("runs/{run}.jsonl"), events(layout, run))?;
    }
    Ok(())
}

/// The applied documents, and that of an unfinished run.
fn documents(layout: &Layout) -> Result<Vec<NodeDocument>> {
    let mut documents = applied::all(layout)?;
    if let Some(run) = journal::unfinished(layout)?
        && let Ok(Some(order)) = Order::load(layout, &run)
        && let Task::Converge(document) = order.task
    {
        documents.retain(|applied| applied.stage() != document.stage());
        documents.push(document);
    }
    Ok(documents)
}

/// Configuration files that are not for administrators only, and logs.
fn files(documents: &[NodeDocument]) -> Vec<&HostPath> {
    let steps = documents.iter().flat_map(NodeDocument::steps);
    let paths = steps.filter_map(|step| match &step.resource {
        Resource::File(file) if file.access != Access::AdministratorsOnly => Some(&file.path),
        Resource::Service(service) => service.definition.log_file.as_ref(),
        _ => None,
    });
    let mut paths: Vec<_> = paths.collect();
    paths.sort();
    paths.dedup();
    paths
}

/// The name of `C:\etc\x` in the archive.
fn name_of(path: &HostPath) -> String {
    let path = path.to_string().replace('\\', "/").replace(':', "");
    format!("files/{}", path.trim_start_matches('/'))
}

fn events(layout: &Layout, run: &RunId) -> Result<String> {
    let events = journal::events(layout, run)?.unwrap_or_default();
    Ok(events.iter().map(json).collect())
}

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).map_or_else(|error| error.to_string(), |json| json + "\n")
}

/// Splits at character boundaries.
fn chunks(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (chunk, after) = rest.split_at(rest.floor_char_boundary(MAX_CHUNK_BYTES));
        rest = after;
        Some(chunk)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_add_up_to_the_text() {
        let text = "é".repeat(MAX_CHUNK_BYTES);
        let chunks: Vec<_> = chunks(&text).collect();
        assert!(chunks.len() > 1 && chunks.iter().all(|chunk| chunk.len() <= MAX_CHUNK_BYTES));
        assert_eq!(chunks.concat(), text);
    }

    #[test]
    fn windows_path_becomes_a_relative_archive_name() {
        let path: HostPath = r"C:\etc\kubernetes\x.conf".parse().unwrap();
        assert_eq!(name_of(&path), "files/C/etc/kubernetes/x.conf");
        let path: HostPath = "/etc/x".parse().unwrap();
        assert_eq!(name_of(&path), "files/etc/x");
    }
}
