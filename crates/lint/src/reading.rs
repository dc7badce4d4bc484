//! The codes of what is found while a cluster file is read.
//!
//! The `source` crate finds it, because it can say it of files that are not
//! whole; what it means is explained here, with the rules.

/// A code of the reader.
#[derive(Debug, Clone, Copy)]
pub struct Reading {
    /// The code.
    pub code: &'static str,
    /// What its findings mean, in one line.
    pub title: &'static str,
    /// The entries of the list of known failures that it answers.
    pub answers: &'static str,
    /// The long form.
    pub page: &'static str,
}

macro_rules! reading {
    ($code:literal, $answers:literal, $title:literal) => {
        Reading {
            code: $code,
            title: $title,
            answers: $answers,
            page: include_str!(concat!("../../../docs/lints/", $code, ".md")),
        }
    };
}

/// Every code of the reader.
pub const READING: &[Reading] = &[
    reading!("CAS-SPEC-001", "-", "the file is no YAML"),
    reading!("CAS-SPEC-002", "-", "the file is no UTF-8 text"),
    reading!("CAS-SPEC-003", "-", "the file is too large or too deep"),
    reading!(
        "CAS-SPEC-004",
        "-",
        "the file holds no document, or several"
    ),
    reading!("CAS-SPEC-005", "-", "YAML that casement does not read"),
    reading!("CAS-SPEC-010", "-", "a field that is not known"),
    reading!("CAS-SPEC-011", "-", "a field that has to be there"),
    reading!("CAS-SPEC-012", "-", "a value of another type"),
    reading!(
        "CAS-SPEC-013",
        "L004, L042",
        "a value that its field does not admit"
    ),
    reading!("CAS-SPEC-014", "-", "the same field twice"),
    reading!("CAS-SPEC-015", "L085", "a secret in the file"),
    reading!(
        "CAS-SPEC-016",
        "-",
        "a field that makes no sense without another"
    ),
    reading!("CAS-SPEC-017", "-", "fields that exclude each other"),
    reading!("CAS-SPEC-018", "-", "nobody runs the control plane"),
    reading!(
        "CAS-SPEC-101",
        "-",
        "a field that `apply` does not act on yet"
    ),
    reading!(
        "CAS-SPEC-102",
        "-",
        "a value that `apply` does not act on yet"
    ),
    reading!(
        "CAS-SPEC-103",
        "-",
        "a control plane that `apply` does not make yet"
    ),
    reading!(
        "CAS-SPEC-104",
        "L036",
        "a version of Kubernetes that casement does not know"
    ),
    reading!(
        "CAS-HOST-002",
        "L045",
        "a Windows host in a role that Windows cannot have"
    ),
    reading!("CAS-HOST-003", "L044", "two hosts with one name"),
    reading!("CAS-HOST-004", "L044", "two hosts with one address"),
    reading!("CAS-HOST-005", "L042, I16", "a name that Windows cuts"),
    reading!(
        "CAS-HOST-006",
        "L042, I16",
        "two names that are one after Windows cut them"
    ),
    reading!("CAS-HOST-007", "-", "no host runs Windows"),
    reading!(
        "CAS-NET-003",
        "L001",
        "the pod and service networks overlap"
    ),
    reading!(
        "CAS-NET-004",
        "L001, L002",
        "a host's address lies in the pod or service network"
    ),
    reading!("CAS-NET-005", "-", "an address that no host can have"),
];
