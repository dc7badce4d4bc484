//! `artifacts`.

use std::collections::BTreeMap;

use casement_spec::{Artifacts, defaults};

use super::{if_given, or_default};
use crate::mapping::Mapping;
use crate::reader::{FieldNode, Reader};
use crate::shapes;

pub(super) fn artifacts(reader: &mut Reader<'_>, at: &FieldNode<'_>) -> Option<Artifacts> {
    let mapping = Mapping::read(reader, at, &shapes::ARTIFACTS)?;
    let mirror = if_given(mapping.get("mirror"), |at| {
        reader.parse(&at, "a URL", "https://mirror.example/k8s")
    });
    let cache = if_given(mapping.get("cache"), |at| reader.file(&at));
    let lock = or_default(mapping.get("lock"), |at| reader.file(&at), defaults::lock);
    let overrides = or_default(
        mapping.get("overrides"),
        |at| {
            let expected = "a mapping of programs to files";
            let what = "program";
            reader.named_pairs(&at, expected, what, |reader, at| reader.file(at))
        },
        BTreeMap::new,
    );
    Some(Artifacts {
        mirror: mirror?,
        cache: cache?,
        lock: lock?,
        overrides: overrides?,
    })
}
