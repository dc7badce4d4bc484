//! The codes of what importers find; stable for ever.

use casement_diag::Code;

/// A line of an inventory that is no section, host or variable.
pub(crate) const LINE: Code = Code::new("CAS-IMPORT-001");
/// A group that is used and never declared.
pub(crate) const UNDEFINED_GROUP: Code = Code::new("CAS-IMPORT-002");
/// A group that contains itself.
pub(crate) const GROUP_LOOP: Code = Code::new("CAS-IMPORT-003");
/// A host pattern that names no hosts.
pub(crate) const HOST_PATTERN: Code = Code::new("CAS-IMPORT-004");
/// A YAML inventory of another shape than Ansible reads.
pub(crate) const STRUCTURE: Code = Code::new("CAS-IMPORT-005");
/// A value that Ansible reads and casement does not.
pub(crate) const VALUE: Code = Code::new("CAS-IMPORT-006");
/// A file that only a vault password opens.
pub(crate) const ENCRYPTED: Code = Code::new("CAS-IMPORT-007");
/// Text that is no YAML.
pub(crate) const SYNTAX: Code = Code::new("CAS-IMPORT-008");
/// More text, or more hosts, than is read.
pub(crate) const TOO_LARGE: Code = Code::new("CAS-IMPORT-009");
/// A file that Ansible does not read, although it looks as if it did.
pub(crate) const UNREAD: Code = Code::new("CAS-IMPORT-010");

/// A KubeInit spec of another form, or one that casement cannot make.
pub(crate) const KUBEINIT: &str = "CAS-IMPORT-020";
/// Arguments that the one-script installer does not have.
pub(crate) const SCRIPT: &str = "CAS-IMPORT-021";
