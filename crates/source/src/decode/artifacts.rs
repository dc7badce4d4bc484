//! `artifacts`.

use std::collections::BTreeMap;

use casement_spec::{Artifacts, defaults};

use super::{if_given, or_default};
use crate::mapping::Mapping;
use crate::reader::{At, Reader};
use crate::shapes;

/// Where programs come from.
pub(super) fn artifacts(reader: &mut Reader<'_>, at: &At<'_>) -> Option<Artifacts> {
    let mapping = Mapping::read(reader, at, &shapes::ARTIFACTS)?;
    let mirror = if_given(mapping.get("mirror"), |at| {
        reader.parse(&at, "a URL", "https://mirror.example/k8s")
    });
    let cache = if_given(mapping.get("cache"), |at| reader.file(&at));
    let lock = or_default(mapping.get("lock"), |at| reader.file(&at), defaults::lock);
    let overrides = or_default(
        mapping.get("overrides"),
        |at| {
            let wanted = "a mapping of programs to files";
            let what = "program that casement puts on hosts";
            reader.named_pairs(&at, wanted, what, |reader, at| reader.file(at))
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
