//! The codes of problems found while a cluster file is loaded.
//!
//! The `source` crate reports them, because it can do so for incomplete files;
//! they are listed here, together with the rules.

use casement_diag::codes::{self, Entry};

#[derive(Debug, Clone, Copy)]
pub struct LoadCode {
    pub entry: &'static Entry,
    /// Entries of the list of known failures.
    pub covers: &'static str,
}

const fn load_code(code: &str, covers: &'static str) -> LoadCode {
    LoadCode {
        entry: codes::constant(code),
        covers,
    }
}

pub const LOAD_CODES: &[LoadCode] = &[
    load_code("CAS-SPEC-001", "-"),
    load_code("CAS-SPEC-002", "-"),
    load_code("CAS-SPEC-003", "-"),
    load_code("CAS-SPEC-004", "-"),
    load_code("CAS-SPEC-005", "-"),
    load_code("CAS-SPEC-010", "-"),
    load_code("CAS-SPEC-011", "-"),
    load_code("CAS-SPEC-012", "-"),
    load_code("CAS-SPEC-013", "L004, L042"),
    load_code("CAS-SPEC-014", "-"),
    load_code("CAS-SPEC-015", "L085"),
    load_code("CAS-SPEC-016", "-"),
    load_code("CAS-SPEC-017", "-"),
    load_code("CAS-SPEC-018", "-"),
    load_code("CAS-SPEC-101", "-"),
    load_code("CAS-SPEC-102", "-"),
    load_code("CAS-SPEC-103", "-"),
    load_code("CAS-SPEC-104", "L036"),
    load_code("CAS-HOST-002", "L045"),
    load_code("CAS-HOST-003", "L044"),
    load_code("CAS-HOST-004", "L044"),
    load_code("CAS-HOST-005", "L042, I16"),
    load_code("CAS-HOST-006", "L042, I16"),
    load_code("CAS-HOST-007", "-"),
    load_code("CAS-NET-003", "L001"),
    load_code("CAS-NET-004", "L001, L002"),
    load_code("CAS-NET-005", "-"),
];
