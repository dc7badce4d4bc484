//! References to secrets.

use casement_diag::Diagnostic;
use casement_spec::SecretRef;

use crate::codes;
use crate::mapping::Mapping;
use crate::node::Data;
use crate::reader::{FieldNode, Reader, short_path};
use crate::shapes;

/// A reference to a secret. A plain string would be the secret itself.
pub(super) fn reference(reader: &mut Reader<'_>, at: &FieldNode<'_>) -> Option<SecretRef> {
    if let Data::Scalar(_) = &at.node.data
        && !at.node.is_null()
    {
        let field = at.path.last_field().unwrap_or_default();
        let message = format!("`{}` is in plain text", short_path(&at.path));
        let finding = Diagnostic::error(at.path.clone(), message).code(codes::SECRET_VALUE);
        reader.add(finding.help(format!(
            "refer to it instead: `{field}: {{env: NAME}}`, `{{file: PATH}}` or `{{prompt: true}}`"
        )));
        return None;
    }
    let mapping = Mapping::read(reader, at, &shapes::SECRET)?;
    let (name, at) = mapping.only(reader, &shapes::SECRET)?;
    match name {
        "file" => reader.file(&at).map(SecretRef::File),
        "env" => variable(reader, &at).map(SecretRef::Env),
        _ => prompt(reader, &at),
    }
}

/// Like [`reference`], but a plain string is a file path.
pub(super) fn path_or_reference(reader: &mut Reader<'_>, at: &FieldNode<'_>) -> Option<SecretRef> {
    match &at.node.data {
        Data::Mapping(_) => reference(reader, at),
        _ => reader.file(at).map(SecretRef::File),
    }
}

/// An invalid name is not repeated in the message: it may be the secret itself.
fn variable(reader: &mut Reader<'_>, at: &FieldNode<'_>) -> Option<String> {
    let text = reader.text(at, "the name of an environment variable")?;
    if crate::secrets::is_variable(text) {
        return Some(text.to_owned());
    }
    let message = "this is not a valid environment variable name";
    let finding = Diagnostic::error(at.path.clone(), message).code(codes::BAD_VALUE);
    reader.add(finding.help("use letters, digits and `_`, such as `ADMIN_PASSWORD`"));
    None
}

fn prompt(reader: &mut Reader<'_>, at: &FieldNode<'_>) -> Option<SecretRef> {
    if reader.boolean(at)? {
        return Some(SecretRef::Prompt);
    }
    let message = "`prompt` can only be `true`";
    let finding = Diagnostic::error(at.path.clone(), message).code(codes::BAD_VALUE);
    reader.add(finding.help("write `{prompt: true}`, `{env: NAME}` or `{file: PATH}`"));
    None
}
