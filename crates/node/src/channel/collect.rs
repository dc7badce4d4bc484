//! Everything about a host that a colleague needs to find a cause: what it is, what
//! it is kept to and how it differs, its networks, configurations, logs and the
//! last runs. What cannot be had is said in its place.

use casement_resource::{Access, HostPath, NodeDocument, Resource, RunId};
use serde::Serialize;

use crate::inspect::inspect;
use crate::observed;
use crate::platform::{Platform, Result};
use crate::state::order::{Order, Task};
use crate::state::{Layout, journal, kept};

use super::read;

/// Of each file so much: its end says what is wrong.
const MOST: usize = 4 << 20;
/// Of each text so much in one piece: it fits into a line, however it is written
/// there.
const PIECE: usize = 128 * 1024;
/// So many of the last runs.
const RUNS: usize = 4;

/// Tells it piece by piece: the name of a file, and what it holds.
pub(super) fn collect(
    platform: &dyn Platform,
    layout: &Layout,
    tell: &mut dyn FnMut(&str, &str) -> Result<()>,
) -> Result<()> {
    let mut part = |name: &str, text: Result<String>| -> Result<()> {
        let text = text.unwrap_or_else(|failure| format!("{}: {}\n", failure.code, failure.what));
        pieces(&text).try_for_each(|piece| tell(name, piece))
    };
    part(
        "host.json",
        inspect(platform).map(|host| format!("{host:#}\n")),
    )?;
    let seen = observed::look(platform, layout, None);
    part("observed.txt", seen.map(|seen| observed::tell(&seen, true)))?;
    let documents = documents(layout)?;
    for document in &documents {
        let name = format!("documents/{}.json", document.stage().name());
        part(&name, Ok(json(document)))?;
    }
    for path in files(&documents) {
        let text = read::end(platform, path, MOST, None);
        let Ok((Some(text), _)) = text else {
            part(
                &name_of(path),
                text.map(|_| "there is no such file\n".to_owned()),
            )?;
            continue;
        };
        part(&name_of(path), Ok(text))?;
    }
    let runs = journal::runs(layout)?;
    for run in runs.iter().rev().take(RUNS) {
        part(&format!("runs/{run}.jsonl"), events(layout, run))?;
    }
    Ok(())
}

/// What the host is kept to; and what a run that has not ended yet was told.
fn documents(layout: &Layout) -> Result<Vec<NodeDocument>> {
    let mut documents = kept::all(layout)?;
    if let Some(run) = journal::unfinished(layout)?
        && let Ok(Some(order)) = Order::load(layout, &run)
        && let Task::Converge(document) = order.task
    {
        documents.retain(|kept| kept.stage() != document.stage());
        documents.push(document);
    }
    Ok(documents)
}

/// Configurations that everybody there may read, and logs.
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

/// `C:\etc\x` as a name in an archive.
fn name_of(path: &HostPath) -> String {
    let path = path.to_string().replace('\\', "/").replace(':', "");
    format!("files/{}", path.trim_start_matches('/'))
}

fn events(layout: &Layout, run: &RunId) -> Result<String> {
    let events = journal::events(layout, run)?.unwrap_or_default();
    Ok(events.iter().map(json).collect())
}

fn json(value: &impl Serialize) -> String {
    // What was read from JSON can be written as JSON.
    serde_json::to_string(value).map_or_else(|error| error.to_string(), |json| json + "\n")
}

/// A text in pieces, none of which ends within a character.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (piece, after) = rest.split_at(rest.floor_char_boundary(PIECE));
        rest = after;
        Some(piece)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_of_a_text_are_the_text() {
        let text = "é".repeat(PIECE);
        let pieces: Vec<_> = pieces(&text).collect();
        assert!(pieces.len() > 1 && pieces.iter().all(|piece| piece.len() <= PIECE));
        assert_eq!(pieces.concat(), text);
    }

    #[test]
    fn a_path_of_windows_is_a_name_in_an_archive() {
        let path: HostPath = r"C:\etc\kubernetes\x.conf".parse().unwrap();
        assert_eq!(name_of(&path), "files/C/etc/kubernetes/x.conf");
        let path: HostPath = "/etc/x".parse().unwrap();
        assert_eq!(name_of(&path), "files/etc/x");
    }
}
