//! Writes a [`Cluster`] as YAML.

use std::ops::Range;

use casement_diag::FieldPath;
use casement_spec::Cluster;

use crate::late_defaults;
use crate::node::{Data, Entry, Node};
use crate::parse;
use crate::source_map::SourceMap;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("failed to write the cluster as YAML: {0}")]
pub struct YamlError(String);

const MARK: &str = "  # default";

/// The document of a cluster with all defaults.
///
/// # Errors
/// If serialization fails; not known to happen for clusters from
/// [`load`](crate::load).
pub fn to_yaml(cluster: &Cluster) -> Result<String, YamlError> {
    let options = serde_saphyr::ser_options! {
        // Do not fold long strings.
        prefer_block_scalars: false,
    };
    serde_saphyr::to_string_with_options(cluster, options)
        .map_err(|error| YamlError(error.to_string()))
}

/// Like [`to_yaml`], with a comment after each value that the file does not set.
///
/// # Errors
/// As [`to_yaml`].
pub fn with_defaults(cluster: &Cluster, map: &SourceMap) -> Result<String, YamlError> {
    let text = to_yaml(cluster)?;
    let fields = default_fields(&text, map)?;
    let mut out = String::with_capacity(text.len() * 2);
    let mut defaults = fields.iter().filter(|field| field.leaf).peekable();
    let mut end = 0;
    for line in text.split_inclusive('\n') {
        end += line.len();
        out += line.trim_end_matches('\n');
        if defaults.next_if(|field| field.range.start < end).is_some() {
            out += MARK;
        }
        out.push('\n');
    }
    out += &late_defaults::comment(cluster, map);
    Ok(out)
}

/// Only the fields that the file sets, in the order and format of [`to_yaml`].
///
/// # Errors
/// As [`to_yaml`].
pub fn normalized(cluster: &Cluster, map: &SourceMap) -> Result<String, YamlError> {
    let text = to_yaml(cluster)?;
    let mut fields = default_fields(&text, map)?.into_iter().peekable();
    let (mut out, mut start) = (String::with_capacity(text.len()), 0);
    for line in text.split_inclusive('\n') {
        let end = start + line.len();
        while fields.next_if(|field| field.range.end <= start).is_some() {}
        match fields.peek().filter(|field| field.range.start < end) {
            None => out += line,
            // Keep mappings that the file has, but empty.
            Some(field) if field.empty && start <= field.range.start => {
                let name = line.split_inclusive(':').next().unwrap_or_default();
                out += &format!("{name} {{}}\n");
            }
            Some(_) => {}
        }
        start = end;
    }
    Ok(out)
}

/// A field that the file does not set.
struct DefaultField {
    /// Key and value.
    range: Range<usize>,
    /// Not a mapping, so it is marked as a whole.
    leaf: bool,
    /// The file has an empty mapping here.
    empty: bool,
}

fn default_fields(text: &str, map: &SourceMap) -> Result<Vec<DefaultField>, YamlError> {
    let parsed = parse::parse(text);
    let (root, _) = parsed.map_err(|finding| YamlError(finding.message.clone()))?;
    let mut fields = Vec::new();
    collect(&root, &FieldPath::root(), map, &mut fields);
    Ok(fields)
}

/// Fields that the file does not set, parents first, in text order.
fn collect(node: &Node, path: &FieldPath, map: &SourceMap, into: &mut Vec<DefaultField>) {
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
                let empty = is_set_empty(&entry.value, &path, map);
                let is_default = empty || !map.has(&path);
                if is_default {
                    let range = entry.key_range.start..entry.value.range.end;
                    let leaf = !matches!(entry.value.data, Data::Mapping(_));
                    into.push(DefaultField { range, leaf, empty });
                }
                // A short form, such as `key: ~/.ssh/id` for
                // `key: {file: ~/.ssh/id}`, sets all fields below.
                if is_default || same_form(&entry.value, &path, map) {
                    collect(&entry.value, &path, map, into);
                }
            }
        }
    }
}

/// Whether the file has an empty mapping here.
fn is_set_empty(node: &Node, path: &FieldPath, map: &SourceMap) -> bool {
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
