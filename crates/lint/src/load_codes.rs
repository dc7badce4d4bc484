//! The codes of problems found while a cluster file is loaded.
//!
//! The `source` crate reports them, because it can do so for incomplete files;
//! they are explained here, together with the rules.

#[derive(Debug, Clone, Copy)]
pub struct LoadCode {
    pub code: &'static str,
    pub title: &'static str,
    /// Entries of the list of known failures.
    pub covers: &'static str,
    /// The explanation, as Markdown.
    pub page: &'static str,
}

macro_rules! load_code {
    ($code:literal, $covers:literal, $title:literal) => {
        LoadCode {
            code: $code,
            title: $title,
            covers: $covers,
            page: include_str!(concat!("../../../docs/codes/", $code, ".md")),
        }
    };
}

pub const LOAD_CODES: &[LoadCode] = &[
    load_code!("CAS-SPEC-001", "-", "the file is not valid YAML"),
    load_code!("CAS-SPEC-002", "-", "the file is not UTF-8"),
    load_code!(
        "CAS-SPEC-003",
        "-",
        "the file is too large or too deeply nested"
    ),
    load_code!(
        "CAS-SPEC-004",
        "-",
        "the file contains no document, or several"
    ),
    load_code!(
        "CAS-SPEC-005",
        "-",
        "the file uses unsupported YAML features"
    ),
    load_code!("CAS-SPEC-010", "-", "unknown field"),
    load_code!("CAS-SPEC-011", "-", "a required field is missing"),
    load_code!("CAS-SPEC-012", "-", "a value has the wrong type"),
    load_code!(
        "CAS-SPEC-013",
        "L004, L042",
        "a value is not valid for its field"
    ),
    load_code!("CAS-SPEC-014", "-", "a field occurs twice"),
    load_code!("CAS-SPEC-015", "L085", "the file contains a secret"),
    load_code!("CAS-SPEC-016", "-", "a field depends on another one"),
    load_code!("CAS-SPEC-017", "-", "two fields exclude each other"),
    load_code!("CAS-SPEC-018", "-", "there is no control plane"),
    load_code!("CAS-SPEC-101", "-", "`apply` does not support this field"),
    load_code!("CAS-SPEC-102", "-", "`apply` does not support this value"),
    load_code!(
        "CAS-SPEC-103",
        "-",
        "`apply` does not create control planes"
    ),
    load_code!(
        "CAS-SPEC-104",
        "L036",
        "casement does not support this Kubernetes version"
    ),
    load_code!(
        "CAS-HOST-002",
        "L045",
        "a Windows host has a role that Windows does not support"
    ),
    load_code!("CAS-HOST-003", "L044", "two hosts have the same name"),
    load_code!("CAS-HOST-004", "L044", "two hosts have the same address"),
    load_code!("CAS-HOST-005", "L042, I16", "Windows truncates a host name"),
    load_code!(
        "CAS-HOST-006",
        "L042, I16",
        "two host names are identical after truncation"
    ),
    load_code!("CAS-HOST-007", "-", "no host runs Windows"),
    load_code!(
        "CAS-NET-003",
        "L001",
        "the pod and service networks overlap"
    ),
    load_code!(
        "CAS-NET-004",
        "L001, L002",
        "a host address is in the pod or service network"
    ),
    load_code!("CAS-NET-005", "-", "an address cannot belong to a host"),
];
