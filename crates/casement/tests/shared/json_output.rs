//! Compares real documents of `-o json` with the documented ones.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;

/// Below these, keys are not casement's: values of Kubernetes objects, cluster files and
/// node documents, columns of tables, places in files.
const FOREIGN: [&str; 9] = [
    ".cluster[].before",
    ".cluster[].after",
    ".hosts[].documents",
    ".cluster.",
    ".restored[].expected",
    ".restored[].found",
    ".rows[]",
    ".findings[].fix",
    ".findings[].labels",
];

/// Asserts the envelope, and that every field is in an example of the documentation.
pub fn assert_documented(document: &Value, kind: &str) {
    assert_eq!(
        document["apiVersion"], "casement.dev/output/v1",
        "{document:#}"
    );
    assert_eq!(document["kind"], kind, "{document:#}");
    let mut known = BTreeSet::new();
    for example in examples() {
        if example["kind"] == kind {
            collect(&example, "", &mut known);
        }
    }
    assert!(!known.is_empty(), "no example of {kind}");
    let mut found = BTreeSet::new();
    collect(document, "", &mut found);
    let unknown: Vec<&String> = found.difference(&known).collect();
    assert!(
        unknown.is_empty(),
        "{kind} has undocumented fields: {unknown:?}"
    );
}

fn examples() -> Vec<Value> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/json-output.md");
    let text = std::fs::read_to_string(page).unwrap();
    let blocks = text.split("```json\n").skip(1);
    let blocks = blocks.map(|block| block.split("```").next().unwrap());
    blocks.map(|it| serde_json::from_str(it).unwrap()).collect()
}

/// The paths of all fields; `[]` stands for every item of a list.
fn collect(value: &Value, path: &str, paths: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                let path = format!("{path}.{name}");
                if FOREIGN.iter().any(|foreign| path.starts_with(foreign)) {
                    continue;
                }
                paths.insert(path.clone());
                collect(value, &path, paths);
            }
        }
        Value::Array(items) => {
            for item in items {
                collect(item, &format!("{path}[]"), paths);
            }
        }
        _ => {}
    }
}
