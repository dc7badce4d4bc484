//! HNS documents are built in one place: `casement_net::hns`.

use crate::sources;

/// Fields that only requests to HNS have, not the responses that the agent reads.
const FIELDS: [&str; 12] = [
    "CompartmentId",
    "HostComputeNetwork",
    "IpAddressPrefix",
    "IpConfigurations",
    "IsolationId",
    "NetAdapterName",
    "NetworkAdapterName",
    "RequestType",
    "ResourceType",
    "SchemaVersion",
    "SystemType",
    "VirtualNetwork",
];

/// File or folder, field, reason.
const ALLOWED: [(&str, &str, &str); 3] = [
    (
        "crates/hcn/src/hcn.rs",
        "SchemaVersion",
        "the envelope of a query, the same for every object",
    ),
    (
        "crates/hcn/src/hcn.rs",
        "VirtualNetwork",
        "the filter of a query",
    ),
    (
        "crates/lab/src/containers/images.rs",
        "SchemaVersion",
        "of the manifest of a container image",
    ),
];

#[test]
fn only_net_builds_hns_documents() {
    let mut found = Vec::new();
    let mut used = Vec::new();
    let others = sources::PRODUCT.iter().filter(|name| **name != "net");
    // The emulator of HNS itself reads and writes its documents, independently of `net`.
    let emulator = "crates/lab/src/network/hns";
    for file in others
        .chain(&["sim", "lab"])
        .flat_map(|name| sources::of_crate(name))
    {
        if file.path.starts_with(emulator) {
            continue;
        }
        let texts: Vec<String> = file.literals.into_iter().map(|it| it.text).collect();
        for field in fields_in(&texts, &file.names) {
            let allowed =
                |(path, name, _): &&(&str, &str, &str)| *path == file.path && *name == field;
            match ALLOWED.iter().find(allowed) {
                Some(entry) => used.push(*entry),
                None => found.push(format!("{}: `{field}`", file.path)),
            }
        }
    }
    assert!(
        found.is_empty(),
        "use the documents of `casement_net::hns`:\n{}",
        found.join("\n")
    );
    let unused: Vec<_> = ALLOWED
        .iter()
        .filter(|entry| !used.contains(entry))
        .collect();
    assert!(unused.is_empty(), "not needed: {unused:?}");
}

/// As a literal, as a key in a JSON text, or as a field of a serialized struct.
fn fields_in(literals: &[String], names: &[String]) -> Vec<&'static str> {
    let is_built = |field: &str| {
        let key = format!("\"{field}\"");
        let in_text = |text: &String| text == field || text.contains(&key);
        literals.iter().any(in_text) || names.contains(&snake_case(field))
    };
    FIELDS.into_iter().filter(|field| is_built(field)).collect()
}

fn snake_case(field: &str) -> String {
    let mut name = String::new();
    for letter in field.chars() {
        if letter.is_ascii_uppercase() && !name.is_empty() {
            name.push('_');
        }
        name.push(letter.to_ascii_lowercase());
    }
    name
}

#[test]
fn a_document_is_found_however_it_is_built() {
    let found = |literal: &str, name: &str| fields_in(&[literal.to_owned()], &[name.to_owned()]);
    assert_eq!(found("SystemType", ""), ["SystemType"]);
    assert_eq!(found(r#"{"SystemType":"Host"}"#, ""), ["SystemType"]);
    assert_eq!(found("", "ip_configurations"), ["IpConfigurations"]);
    assert_eq!(found("the SystemType of a host", "system"), [""; 0]);
}
