//! Parses `cluster.yaml` and reports all errors at once.
//!
//! [`load`] is pure: text in, [`Loaded`] out. The text is parsed into a tree with
//! positions (kept in [`SourceMap`]) and decoded into a [`Cluster`]. Every error
//! becomes a [`Diagnostic`] with field, value and help: invalid YAML, unknown and
//! missing fields, invalid values, and conflicts between fields (two hosts with
//! the same address). No field is silently ignored.
//!
//! Files that the document refers to are not opened; see
//! [`Cluster::resolve`] and [`Cluster::files_mut`].
//!
//! ```
//! use casement_diag::{Style, render_all};
//!
//! let loaded = casement_source::load("cluster.yaml", "kind: Cluter\n");
//! assert!(loaded.cluster.is_none());
//! let text = render_all(&loaded.diagnostics, Some(&loaded.map), Style::Plain);
//! assert!(text.contains("cluster.yaml:1:7"));
//! ```

// This crate is pure; see clippy.toml.
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod check;
mod codes;
mod decode;
mod findings;
pub mod foreign;
pub mod import;
mod late_defaults;
mod mapping;
mod node;
mod parse;
mod partial;
mod reader;
mod schema;
mod secrets;
mod shape;
mod shapes;
mod source_map;
mod suggest;
mod syntax;
mod yaml_output;

use std::sync::Arc;

use casement_diag::Diagnostic;
use casement_spec::Cluster;

pub use schema::{SCHEMA_ID, schema};
pub use source_map::SourceMap;
pub use suggest::closest;
pub use yaml_output::{YamlError, normalized, to_yaml, with_defaults};

/// Size limit of a cluster file: enough for 10,000 hosts with all defaults spelled out.
pub const MAX_BYTES: usize = 4 << 20;

#[derive(Debug, Clone)]
pub struct Loaded {
    /// `None` if a diagnostic is an error.
    pub cluster: Option<Cluster>,
    /// In file order.
    pub diagnostics: Vec<Diagnostic>,
    pub map: SourceMap,
}

impl Loaded {
    fn failed(name: &str, text: &str, diagnostic: Diagnostic) -> Self {
        Self {
            cluster: None,
            diagnostics: vec![diagnostic],
            map: SourceMap::without_tree(name, text),
        }
    }
}

/// Parses a document; `name` is the file name for messages.
pub fn load(name: &str, text: &str) -> Loaded {
    if text.len() > MAX_BYTES {
        return Loaded::failed(name, "", syntax::too_large(MAX_BYTES));
    }
    let (root, mut findings) = match parse::parse(text) {
        Ok(parsed) => parsed,
        Err(diagnostic) => return Loaded::failed(name, text, *diagnostic),
    };
    let root = Arc::new(root);
    let map = SourceMap::new(name, text, Arc::clone(&root));
    let cluster = decode::document(&root, &mut findings);
    let cluster = cluster.filter(|_| !findings.has_errors());
    Loaded {
        cluster,
        diagnostics: findings.in_order(&map),
        map,
    }
}

/// Like [`load`], for bytes that may not be UTF-8.
pub fn load_bytes(name: &str, bytes: &[u8]) -> Loaded {
    if bytes.len() > MAX_BYTES {
        return Loaded::failed(name, "", syntax::too_large(MAX_BYTES));
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => load(name, text),
        Err(error) => Loaded::failed(name, "", syntax::not_utf8(bytes, error.valid_up_to())),
    }
}
