//! Diagnostic codes of this crate. Codes never change.

use casement_diag::Code;

pub(crate) const SYNTAX: Code = Code::new("CAS-SPEC-001");
pub(crate) const ENCODING: Code = Code::new("CAS-SPEC-002");
/// Too large or nested too deeply.
pub(crate) const TOO_LARGE: Code = Code::new("CAS-SPEC-003");
/// No document, or more than one.
pub(crate) const DOCUMENTS: Code = Code::new("CAS-SPEC-004");
/// An alias, a tag, or a key that is not a string.
pub(crate) const YAML_FEATURE: Code = Code::new("CAS-SPEC-005");
pub(crate) const UNKNOWN_FIELD: Code = Code::new("CAS-SPEC-010");
pub(crate) const MISSING_FIELD: Code = Code::new("CAS-SPEC-011");
pub(crate) const WRONG_TYPE: Code = Code::new("CAS-SPEC-012");
pub(crate) const BAD_VALUE: Code = Code::new("CAS-SPEC-013");
pub(crate) const DUPLICATE_FIELD: Code = Code::new("CAS-SPEC-014");
/// A secret in plain text.
pub(crate) const SECRET_VALUE: Code = Code::new("CAS-SPEC-015");
/// A field that requires another field or value.
pub(crate) const FIELD_DEPENDENCY: Code = Code::new("CAS-SPEC-016");
/// Mutually exclusive fields.
pub(crate) const EXCLUSIVE: Code = Code::new("CAS-SPEC-017");
pub(crate) const NO_CONTROL_PLANE: Code = Code::new("CAS-SPEC-018");
/// An unsupported Kubernetes version.
pub(crate) const VERSION: Code = Code::new("CAS-SPEC-104");

/// A role that Windows hosts do not support.
pub(crate) const WINDOWS_ROLE: Code = Code::new("CAS-HOST-002");
pub(crate) const SAME_NAME: Code = Code::new("CAS-HOST-003");
pub(crate) const SAME_ADDRESS: Code = Code::new("CAS-HOST-004");
/// A name longer than NetBIOS allows.
pub(crate) const LONG_NAME: Code = Code::new("CAS-HOST-005");
/// Two names with the same NetBIOS name.
pub(crate) const SAME_NETBIOS: Code = Code::new("CAS-HOST-006");
pub(crate) const NO_WINDOWS: Code = Code::new("CAS-HOST-007");

pub(crate) const OVERLAP: Code = Code::new("CAS-NET-003");
/// A host address in the pod or service network.
pub(crate) const HOST_INSIDE: Code = Code::new("CAS-NET-004");
/// An address that is not usable for a host.
pub(crate) const ADDRESS: Code = Code::new("CAS-NET-005");
