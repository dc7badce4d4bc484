//! Decodes the tree into a [`Cluster`].

mod access;
mod artifacts;
mod cluster;
mod host;
mod images;
mod kubernetes;
mod machines;
mod network;
mod secret;
mod windows;

use casement_diag::{Diagnostic, FieldPath};
use casement_spec::{API_VERSION, Cluster, KIND, Metadata};

use crate::check;
use crate::codes;
use crate::findings::Findings;
use crate::mapping::{Given, Mapping};
use crate::node::Node;
use crate::partial::PartialCluster;
use crate::reader::{FieldNode, Reader};
use crate::shapes;

/// `None` only after an error was added to `findings`.
pub(crate) fn document(root: &Node, findings: &mut Findings) -> Option<Cluster> {
    let mut reader = Reader { findings };
    let at = FieldNode {
        node: root,
        path: FieldPath::root(),
    };
    if let Some(finding) = other_document(&at) {
        reader.add(finding);
        return None;
    }
    let document = Mapping::read(&mut reader, &at, &shapes::DOCUMENT)?;
    constant(&mut reader, &document, "apiVersion", API_VERSION);
    constant(&mut reader, &document, "kind", KIND);
    let metadata = document
        .required("metadata")
        .and_then(|at| Mapping::read(&mut reader, &at, &shapes::METADATA))
        .and_then(|metadata| metadata.required("name"))
        .and_then(|at| reader.parse(&at, "a name", "shop"))
        .map(|name| Metadata { name });
    let mut partial = PartialCluster::default();
    let spec = document
        .required("spec")
        .and_then(|at| Mapping::read(&mut reader, &at, &shapes::SPEC))
        .and_then(|spec| cluster::spec(&mut reader, &spec, &mut partial));
    check::all(&partial, &mut reader);
    Some(Cluster {
        metadata: metadata?,
        spec: spec?,
    })
}

/// Recognizes another kind of document, such as a kubeconfig: one finding is more
/// helpful than a list of unknown fields.
fn other_document(at: &FieldNode<'_>) -> Option<Diagnostic> {
    let crate::node::Data::Mapping(entries) = &at.node.data else {
        return None;
    };
    let text = |key: &str| entries.get(key)?.value.short();
    let (version, kind) = (text("apiVersion")?, text("kind")?);
    if version.starts_with("casement.dev/") || kind == KIND {
        return None;
    }
    let finding = Diagnostic::error(
        at.path.field("kind"),
        format!("this is a `{kind}` (`{version}`), not a casement cluster"),
    );
    let finding = finding.code(codes::BAD_VALUE);
    Some(finding.help(format!(
        "start the file with `apiVersion: {API_VERSION}` and `kind: {KIND}`"
    )))
}

/// A field with only one valid value.
fn constant(reader: &mut Reader<'_>, document: &Mapping<'_>, name: &str, value: &'static str) {
    let Some(at) = document.required(name) else {
        return;
    };
    let Some(text) = reader.text(&at, &format!("`{value}`")) else {
        return;
    };
    if text != value {
        let message = format!("`{name}` must be `{value}`, not {}", at.node.described());
        let finding = Diagnostic::error(at.path, message).code(codes::BAD_VALUE);
        reader.add(
            finding
                .help(format!("write `{name}: {value}`"))
                .replace(format!("write `{value}`"), value),
        );
    }
}

/// A field with a default. `None` after a finding.
fn or_default<'n, T>(
    given: Given<'n>,
    read: impl FnOnce(FieldNode<'n>) -> Option<T>,
    default: impl FnOnce() -> T,
) -> Option<T> {
    match given {
        Given::Value(at) => read(at),
        Given::Absent => Some(default()),
    }
}

/// An optional field. The outer `None` is returned after a finding.
fn if_given<'n, T>(
    given: Given<'n>,
    read: impl FnOnce(FieldNode<'n>) -> Option<T>,
) -> Option<Option<T>> {
    or_default(given, |at| read(at).map(Some), || None)
}
