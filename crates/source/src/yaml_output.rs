//! The document of a cluster, as text again.

use std::ops::Range;

use casement_diag::FieldPath;
use casement_spec::Cluster;

use crate::node::{Data, Entry, Node};
use crate::open_defaults;
use crate::parse;
use crate::source_map::SourceMap;

/// A value has no form in YAML.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the cluster cannot be written as YAML: {0}")]
pub struct YamlError(String);

/// What stands behind a default.
const MARK: &str = "  # default";

/// The document of a cluster, every default filled in.
///
/// # Errors
/// When the cluster cannot be written as YAML, which no cluster that came from
/// [`load`](crate::load) is known to cause.
pub fn to_yaml(cluster: &Cluster) -> Result<String, YamlError> {
    let options = serde_saphyr::ser_options! {
        // One value, one line: what is long is not folded.
        prefer_block_scalars: false,
    };
    serde_saphyr::to_string_with_options(cluster, options)
        .map_err(|error| YamlError(error.to_string()))
}

/// The same, with a mark behind each value that the file `map` does not have.
///
/// # Errors
/// As [`to_yaml`].
pub fn with_defaults(cluster: &Cluster, map: &SourceMap) -> Result<String, YamlError> {
    let text = to_yaml(cluster)?;
    let parts = parts(&text, map)?;
    let mut out = String::with_capacity(text.len() * 2);
    let mut defaults = parts.iter().filter(|part| part.leaf).peekable();
    let mut end = 0;
    for line in text.split_inclusive('\n') {
        end += line.len();
        out += line.trim_end_matches('\n');
        if defaults.next_if(|part| part.range.start < end).is_some() {
            out += MARK;
        }
        out.push('\n');
    }
    out += &open_defaults::comment(cluster, map);
    Ok(out)
}

/// Only what the file `map` has, in the order and form of [`to_yaml`].
///
/// # Errors
/// As [`to_yaml`].
pub fn normalised(cluster: &Cluster, map: &SourceMap) -> Result<String, YamlError> {
    let text = to_yaml(cluster)?;
    let mut parts = parts(&text, map)?.into_iter().peekable();
    let (mut out, mut start) = (String::with_capacity(text.len()), 0);
    for line in text.split_inclusive('\n') {
        let end = start + line.len();
        while parts.next_if(|part| part.range.end <= start).is_some() {}
        match parts.peek().filter(|part| part.range.start < end) {
            None => out += line,
            // What was written with nothing in it still says something.
            Some(part) if part.hollow && start <= part.range.start => {
                let name = line.split_inclusive(':').next().unwrap_or_default();
                out += &format!("{name} {{}}\n");
            }
            Some(_) => {}
        }
        start = end;
    }
    Ok(out)
}

/// A field of the text of which the file has nothing.
struct Part {
    /// From its name to its end.
    range: Range<usize>,
    /// Whether it is no mapping, so that it is marked as a whole.
    leaf: bool,
    /// Whether the file has a mapping there, but nothing in it.
    hollow: bool,
}

fn parts(text: &str, map: &SourceMap) -> Result<Vec<Part>, YamlError> {
    let parsed = parse::parse(text);
    let (root, _) = parsed.map_err(|finding| YamlError(finding.message.clone()))?;
    let mut parts = Vec::new();
    collect(&root, &FieldPath::root(), map, &mut parts);
    Ok(parts)
}

/// Fields that the file does not have, from the outside in and in the order of
/// the text.
fn collect(node: &Node, path: &FieldPath, map: &SourceMap, into: &mut Vec<Part>) {
    match &node.data {
        Data::Scalar(_) => {}
        Data::List(items) => {
            for (index, item) in items.iter().enumerate() {
                collect(item, &path.index(index), map, into);
            }
        }
        Data::Mapping(entries) => {
            for entry in entries.iter() {
                let path = path.field(entry.key.as_str());
                let hollow = is_hollow(&entry.value, &path, map);
                let whole = hollow || !map.has(&path);
                if whole {
                    let range = entry.key_range.start..entry.value.range.end;
                    let leaf = !matches!(entry.value.data, Data::Mapping(_));
                    into.push(Part {
                        range,
                        leaf,
                        hollow,
                    });
                }
                // Another form of the same, such as `key: ~/.ssh/id` for
                // `key: {file: ~/.ssh/id}`, was written as a whole.
                if whole || same_form(&entry.value, &path, map) {
                    collect(&entry.value, &path, map, into);
                }
            }
        }
    }
}

/// Whether the file has a mapping there, but nothing in it.
fn is_hollow(node: &Node, path: &FieldPath, map: &SourceMap) -> bool {
    let Data::Mapping(entries) = &node.data else {
        return false;
    };
    let known = |entry: &Entry| map.has(&path.field(entry.key.as_str()));
    same_form(node, path, map) && !entries.iter().any(known)
}

fn same_form(node: &Node, path: &FieldPath, map: &SourceMap) -> bool {
    let Some((_, written)) = map.node(path) else {
        return false;
    };
    matches!(
        (&node.data, &written.data),
        (Data::Mapping(_), Data::Mapping(_)) | (Data::List(_), Data::List(_))
    )
}
