//! Text to spec: reads `cluster.yaml`, and finds all of its mistakes at once.
//!
//! [`load`] is pure: text in, [`Loaded`] out. The text becomes a tree with
//! positions ([`SourceMap`] keeps them), the tree a [`Cluster`]. On the way every
//! mistake becomes a [`Diagnostic`] that names field, value and remedy: what is
//! no YAML, unknown and missing fields, wrong values, and what no single field
//! shows (two hosts with one address). Nothing is
//! ignored: either a field is understood, or it is refused.
//!
//! It does not open the files that the document names; see
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

mod check;
mod codes;
mod decode;
mod findings;
pub mod foreign;
pub mod import;
mod mapping;
mod node;
#[path = "late_defaults.rs"]
mod open_defaults;
#[path = "partial.rs"]
mod outline;
mod parse;
mod reader;
mod schema;
mod secrets;
mod shape;
mod shapes;
mod source_map;
mod suggest;
mod syntax;
#[path = "yaml_output.rs"]
mod written;

use std::sync::Arc;

use casement_diag::Diagnostic;
use casement_spec::Cluster;

pub use schema::{SCHEMA_ID, schema};
pub use source_map::SourceMap;
pub use suggest::closest;
pub use written::{YamlError, normalised, to_yaml, with_defaults};

/// The most that is read: ten thousand hosts with every default written out fit.
pub const MOST_BYTES: usize = 4 << 20;

/// What a text turned out to be.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// There unless a diagnostic is an error.
    pub cluster: Option<Cluster>,
    /// In the order of the text.
    pub diagnostics: Vec<Diagnostic>,
    /// Where the diagnostics' paths lie in the text.
    pub map: SourceMap,
}

impl Loaded {
    fn nothing(name: &str, text: &str, diagnostic: Diagnostic) -> Self {
        Self {
            cluster: None,
            diagnostics: vec![diagnostic],
            map: SourceMap::without_tree(name, text),
        }
    }
}

/// Reads a document; `name` is what the text is called in messages.
pub fn load(name: &str, text: &str) -> Loaded {
    if text.len() > MOST_BYTES {
        return Loaded::nothing(name, "", syntax::too_large(MOST_BYTES));
    }
    let (root, mut findings) = match parse::parse(text) {
        Ok(parsed) => parsed,
        Err(diagnostic) => return Loaded::nothing(name, text, *diagnostic),
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

/// The same for the bytes of a file, which may be no text at all.
pub fn load_bytes(name: &str, bytes: &[u8]) -> Loaded {
    if bytes.len() > MOST_BYTES {
        return Loaded::nothing(name, "", syntax::too_large(MOST_BYTES));
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => load(name, text),
        Err(error) => Loaded::nothing(name, "", syntax::no_text(bytes, error.valid_up_to())),
    }
}
