//! Diagnostic codes of the importers. Codes never change.

use casement_diag::Code;

/// An invalid line of an INI inventory.
pub(crate) const LINE: Code = Code::new("CAS-IMPORT-001");
/// A group that is used but not declared.
pub(crate) const UNDEFINED_GROUP: Code = Code::new("CAS-IMPORT-002");
pub(crate) const GROUP_LOOP: Code = Code::new("CAS-IMPORT-003");
/// An invalid host pattern.
pub(crate) const HOST_PATTERN: Code = Code::new("CAS-IMPORT-004");
/// A YAML inventory with an invalid structure.
pub(crate) const STRUCTURE: Code = Code::new("CAS-IMPORT-005");
/// A value that Ansible supports and casement does not.
pub(crate) const VALUE: Code = Code::new("CAS-IMPORT-006");
/// A file encrypted with a vault password.
pub(crate) const ENCRYPTED: Code = Code::new("CAS-IMPORT-007");
/// Invalid YAML.
pub(crate) const SYNTAX: Code = Code::new("CAS-IMPORT-008");
/// A size limit is exceeded.
pub(crate) const TOO_LARGE: Code = Code::new("CAS-IMPORT-009");
/// A file or section that Ansible ignores.
pub(crate) const UNREAD: Code = Code::new("CAS-IMPORT-010");

/// An invalid or unsupported KubeInit spec.
pub(crate) const KUBEINIT: &str = "CAS-IMPORT-020";
/// Invalid arguments of the setup script.
pub(crate) const SCRIPT: &str = "CAS-IMPORT-021";
