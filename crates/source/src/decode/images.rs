//! `images`.

use std::collections::BTreeMap;

use casement_diag::{Diagnostic, Part};
use casement_spec::{Account, Images};

use super::{access, if_given, or_default, secret};
use crate::codes;
use crate::mapping::{Given, Mapping};
use crate::reader::{FieldNode, Reader};
use crate::shapes;

const EXAMPLE: &str = "registry.k8s.io/pause:3.10";

pub(super) fn images(reader: &mut Reader<'_>, at: &FieldNode<'_>) -> Option<Images> {
    let mapping = Mapping::read(reader, at, &shapes::IMAGES)?;
    let registry = if_given(mapping.get("registry"), |at| {
        reader.parse(&at, "a registry", "registry.example:5000")
    });
    let credentials = if_given(mapping.get("credentials"), |at| account(reader, &at));
    let ca = if_given(mapping.get("ca"), |at| reader.file(&at));
    let pause = if_given(mapping.get("pause"), |at| {
        reader.parse(&at, "an image", EXAMPLE)
    });
    let prepull = or_default(
        mapping.get("prepull"),
        |at| reader.parse_list(&at, "a list of images", EXAMPLE),
        Vec::new,
    );
    let verify = or_default(
        mapping.get("verify"),
        |at| reader.named(&at, "image verification mode"),
        || Images::default().verify,
    );
    let overrides = or_default(
        mapping.get("overrides"),
        |at| reader.parse_pairs(&at, "a mapping of images to images", (EXAMPLE, EXAMPLE)),
        BTreeMap::new,
    );
    for field in ["ca", "credentials"] {
        require_registry(reader, &mapping, field);
    }
    Some(Images {
        registry: registry?,
        credentials: credentials?,
        ca: ca?,
        pause: pause?,
        prepull: prepull?,
        verify: verify?,
        overrides: overrides?,
    })
}

fn require_registry(reader: &mut Reader<'_>, mapping: &Mapping<'_>, field: &str) {
    if let (Given::Value(at), Given::Absent) = (mapping.get(field), mapping.get("registry")) {
        let message = format!("`images.{field}` is set, but `images.registry` is not");
        let finding = Diagnostic::error(at.path, message).code(codes::FIELD_DEPENDENCY);
        let help = format!("add `registry`, or remove `{field}`");
        reader.add(finding.at(Part::Key).help(help));
    }
}

/// Credentials of a registry or proxy.
pub(super) fn account(reader: &mut Reader<'_>, at: &FieldNode<'_>) -> Option<Account> {
    let mapping = Mapping::read(reader, at, &shapes::ACCOUNT)?;
    let user = mapping.required("user");
    let user = user.and_then(|at| access::account(reader, &at));
    let password = mapping.required("password");
    let password = password.and_then(|at| secret::reference(reader, &at));
    Some(Account {
        user: user?,
        password: password?,
    })
}
