//! Files of other tools: YAML, JSON, TOML and scripts as trees with positions.
//!
//! This module does not interpret the files. Unlike cluster files, they may
//! contain several documents, aliases and tags. A document inside a string (the
//! `net-conf.json` of a ConfigMap) becomes a separate document with its position
//! in the file.
//!
//! ```
//! use casement_source::foreign;
//!
//! let file = foreign::read("net-conf.json", br#"{"Backend": {"VNI": 4096}}"#);
//! let vni = file.documents().next().and_then(|document| document.at("Backend.VNI"));
//! assert_eq!(vni.and_then(|vni| vni.integer()), Some(4096));
//! ```

mod embedded;
mod script;
mod toml;
mod value;
mod yaml;

use std::sync::Arc;

use casement_diag::{Diagnostic, FieldPath};

use crate::codes;
use crate::node::{Data, Node};
use crate::secrets;
use crate::source_map::SourceMap;
use crate::syntax;

pub use value::Value;

/// More than common bundles of manifests.
const MAX_BYTES: usize = 16 << 20;

#[derive(Debug, Clone)]
pub struct Foreign {
    name: String,
    documents: Vec<(FieldPath, Node)>,
    map: SourceMap,
    diagnostics: Vec<Diagnostic>,
}

impl Foreign {
    pub fn name(&self) -> &str {
        &self.name
    }

    /// All documents, including those embedded in ConfigMaps.
    pub fn documents(&self) -> impl Iterator<Item = Value<'_>> {
        let document = |(path, node)| Value::new(&self.name, path, node);
        self.documents
            .iter()
            .map(move |(path, node)| document((path.clone(), node)))
    }

    /// In a file with several documents, paths start with the index of the document.
    pub fn map(&self) -> &SourceMap {
        &self.map
    }

    /// Why the file could not be parsed.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }

    fn unreadable(name: &str, text: &str, diagnostic: Diagnostic) -> Self {
        Self {
            name: name.to_owned(),
            documents: Vec::new(),
            map: SourceMap::without_tree(name, text),
            diagnostics: vec![diagnostic.in_file(name)],
        }
    }
}

/// Parses a file; the extension of its name selects the format.
pub fn read(name: &str, bytes: &[u8]) -> Foreign {
    if bytes.len() > MAX_BYTES {
        return Foreign::unreadable(name, "", syntax::too_large(MAX_BYTES));
    }
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let finding = syntax::not_utf8(bytes, error.valid_up_to());
            return Foreign::unreadable(name, "", finding);
        }
    };
    if script::is_script(name) {
        return single_document(name, text, script::parse(text));
    }
    let parsed = if name.to_ascii_lowercase().ends_with(".toml") {
        toml::parse(text).map(|root| vec![root])
    } else {
        yaml::parse(text)
    };
    match parsed {
        Ok(documents) => parsed_documents(name, text, documents),
        Err(diagnostic) => Foreign::unreadable(name, text, *diagnostic),
    }
}

/// A file with one document, in which secrets are marked already.
fn single_document(name: &str, text: &str, root: Node) -> Foreign {
    Foreign {
        name: name.to_owned(),
        documents: vec![(FieldPath::root(), root.clone())],
        map: SourceMap::new(name, text, Arc::new(root)),
        diagnostics: Vec::new(),
    }
}

fn parsed_documents(name: &str, text: &str, mut roots: Vec<Node>) -> Foreign {
    for root in &mut roots {
        secrets::mark(root);
        hide_secret_object(root);
    }
    let several = roots.len() > 1;
    let mut documents = Vec::new();
    for (number, root) in roots.iter_mut().enumerate() {
        let path = FieldPath::root();
        let path = if several { path.index(number) } else { path };
        documents.push((path.clone(), root.clone()));
        documents.extend(embedded::expand(root, &path, text));
    }
    let tree = match (several, roots.pop()) {
        (false, Some(only)) => only,
        (_, last) => {
            roots.extend(last);
            let data = Data::List(roots);
            let range = 0..text.len();
            Node { range, data }
        }
    };
    Foreign {
        name: name.to_owned(),
        documents,
        map: SourceMap::new(name, text, Arc::new(tree)),
        diagnostics: Vec::new(),
    }
}

/// The data of a Kubernetes Secret is never shown.
fn hide_secret_object(root: &mut Node) {
    let Data::Mapping(entries) = &mut root.data else {
        return;
    };
    let is_secret = entries.iter().any(|entry| {
        entry.key == "kind"
            && matches!(&entry.value.data, Data::Scalar(kind) if kind.text == "Secret")
    });
    if !is_secret {
        return;
    }
    for entry in entries.iter_mut() {
        if entry.key != "data" && entry.key != "stringData" {
            continue;
        }
        let Data::Mapping(values) = &mut entry.value.data else {
            continue;
        };
        for value in values.iter_mut() {
            if let Data::Scalar(scalar) = &mut value.value.data {
                scalar.secret = true;
            }
        }
    }
}

fn syntax_error(at: usize, message: String, help: &str) -> Box<Diagnostic> {
    let finding = Diagnostic::error(FieldPath::root(), message).code(codes::SYNTAX);
    let part = casement_diag::Part::Bytes(at..at + 1);
    Box::new(finding.at(part).help(help))
}
