//! Tree to spec.

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
use crate::outline::Outline;
use crate::reader::{At, Reader};
use crate::shapes;

/// The whole document; `None` only after a finding that is an error.
pub(crate) fn document(root: &Node, findings: &mut Findings) -> Option<Cluster> {
    let mut reader = Reader { findings };
    let at = At {
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
    let mut outline = Outline::default();
    let spec = document
        .required("spec")
        .and_then(|at| Mapping::read(&mut reader, &at, &shapes::SPEC))
        .and_then(|spec| cluster::spec(&mut reader, &spec, &mut outline));
    check::all(&outline, &mut reader);
    Some(Cluster {
        metadata: metadata?,
        spec: spec?,
    })
}

/// A document of something else, such as a kubeconfig: to list each of its
/// fields as unknown would help nobody.
fn other_document(at: &At<'_>) -> Option<Diagnostic> {
    let crate::node::Data::Mapping(entries) = &at.node.data else {
        return None;
    };
    let said = |key: &str| entries.get(key)?.value.short();
    let (version, kind) = (said("apiVersion")?, said("kind")?);
    if version.starts_with("casement.dev/") || kind == KIND {
        return None;
    }
    let finding = Diagnostic::error(
        at.path.field("kind"),
        format!("this is a `{kind}` of `{version}`, not a cluster for casement"),
    );
    let finding = finding.code(codes::BAD_VALUE);
    Some(finding.help(format!(
        "a cluster begins with `apiVersion: {API_VERSION}` and `kind: {KIND}`"
    )))
}

/// A field that can hold one value only.
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

/// A field that has a default. `None` after a finding.
fn or_default<'n, T>(
    given: Given<'n>,
    read: impl FnOnce(At<'n>) -> Option<T>,
    default: impl FnOnce() -> T,
) -> Option<T> {
    match given {
        Given::Value(at) => read(at),
        Given::Nothing => Some(default()),
    }
}

/// A field that may be left out. The outer `None` comes after a finding.
fn if_given<'n, T>(given: Given<'n>, read: impl FnOnce(At<'n>) -> Option<T>) -> Option<Option<T>> {
    or_default(given, |at| read(at).map(Some), || None)
}
