//! `artifacts`.

use std::collections::BTreeMap;

use camino::Utf8PathBuf;
use casement_diag::{Diagnostic, Part};
use casement_spec::{Artifacts, Named, Program};

use super::or_default;
use crate::codes;
use crate::mapping::Mapping;
use crate::node::clipped;
use crate::reader::{At, Reader};
use crate::shapes;
use crate::suggest;

/// One's own builds of programs.
pub(super) fn artifacts(reader: &mut Reader<'_>, at: &At<'_>) -> Option<Artifacts> {
    let mapping = Mapping::read(reader, at, &shapes::ARTIFACTS)?;
    let overrides = or_default(
        mapping.get("overrides"),
        |at| overrides(reader, &at),
        BTreeMap::new,
    );
    Some(Artifacts {
        overrides: overrides?,
        ..Artifacts::default()
    })
}

fn overrides(reader: &mut Reader<'_>, at: &At<'_>) -> Option<BTreeMap<Program, Utf8PathBuf>> {
    let mut whole = true;
    let mut all = BTreeMap::new();
    for (key, at) in reader.pairs(at, "a mapping of programs to files")? {
        let path = reader.file(&at);
        match (Program::from_name(key), path) {
            (Some(program), Some(path)) => {
                all.insert(program, path);
            }
            (None, _) => {
                reader.add(unknown_program(&at, key));
                whole = false;
            }
            _ => whole = false,
        }
    }
    whole.then_some(all)
}

fn unknown_program(at: &At<'_>, key: &str) -> Diagnostic {
    let names = Program::ALL.iter().map(|program| program.name());
    let all: Vec<_> = names.clone().map(|name| format!("`{name}`")).collect();
    let message = format!(
        "`{}` is no program that casement puts on hosts",
        clipped(key)
    );
    let finding = Diagnostic::error(at.path.clone(), message)
        .code(codes::UNKNOWN_FIELD)
        .at(Part::Key);
    match suggest::closest(key.trim_end_matches(".exe"), names) {
        Some(better) => finding
            .help(format!("did you mean `{better}`?"))
            .replace(format!("rename it to `{better}`"), better),
        None => finding.help(format!("they are {}", all.join(", "))),
    }
}
