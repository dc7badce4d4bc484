//! References to secrets.

use casement_diag::Diagnostic;
use casement_spec::SecretRef;

use crate::codes;
use crate::mapping::Mapping;
use crate::node::Data;
use crate::reader::{At, Reader, short_path};
use crate::shapes;

/// Where a secret is. A plain text would be the secret itself.
pub(super) fn reference(reader: &mut Reader<'_>, at: &At<'_>) -> Option<SecretRef> {
    if let Data::Scalar(_) = &at.node.data
        && !at.node.is_nothing()
    {
        let field = at.path.last_field().unwrap_or_default();
        let message = format!("`{}` stands in the file", short_path(&at.path));
        let finding = Diagnostic::error(at.path.clone(), message).code(codes::SECRET_VALUE);
        reader.add(finding.help(format!(
            "say where it is: `{field}: {{env: NAME}}`, `{{file: PATH}}` or `{{prompt: true}}`"
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

/// The same, where a plain text is the path of a file.
pub(super) fn path_or_reference(reader: &mut Reader<'_>, at: &At<'_>) -> Option<SecretRef> {
    match &at.node.data {
        Data::Mapping(_) => reference(reader, at),
        _ => reader.file(at).map(SecretRef::File),
    }
}

/// What else stands there may be the secret itself: it is not repeated.
fn variable(reader: &mut Reader<'_>, at: &At<'_>) -> Option<String> {
    let text = reader.text(at, "the name of an environment variable")?;
    if crate::secrets::is_variable(text) {
        return Some(text.to_owned());
    }
    let message = "this is no name of an environment variable";
    let finding = Diagnostic::error(at.path.clone(), message).code(codes::BAD_VALUE);
    reader.add(finding.help("it has letters, digits and `_`, such as `ADMIN_PASSWORD`"));
    None
}

fn prompt(reader: &mut Reader<'_>, at: &At<'_>) -> Option<SecretRef> {
    if reader.boolean(at)? {
        return Some(SecretRef::Prompt);
    }
    let message = "`prompt` is `true`, or not there";
    let finding = Diagnostic::error(at.path.clone(), message).code(codes::BAD_VALUE);
    reader.add(finding.help("write `{prompt: true}`, `{env: NAME}` or `{file: PATH}`"));
    None
}
