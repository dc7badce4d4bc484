//! The codes of what this crate finds; stable for ever.

use casement_diag::Code;

/// The text is no YAML.
pub(crate) const SYNTAX: Code = Code::new("CAS-SPEC-001");
/// The file is no UTF-8 text.
pub(crate) const ENCODING: Code = Code::new("CAS-SPEC-002");
/// The file is too large or nested too deep.
pub(crate) const TOO_LARGE: Code = Code::new("CAS-SPEC-003");
/// The file holds no document, or several.
pub(crate) const DOCUMENTS: Code = Code::new("CAS-SPEC-004");
/// An alias, a tag, or a key that is no plain name.
pub(crate) const YAML_FEATURE: Code = Code::new("CAS-SPEC-005");
/// A field that is not known.
pub(crate) const UNKNOWN_FIELD: Code = Code::new("CAS-SPEC-010");
/// A field that has to be there.
pub(crate) const MISSING_FIELD: Code = Code::new("CAS-SPEC-011");
/// A list where a text should be, and the like.
pub(crate) const WRONG_TYPE: Code = Code::new("CAS-SPEC-012");
/// A value that its field does not admit.
pub(crate) const BAD_VALUE: Code = Code::new("CAS-SPEC-013");
/// The same field twice.
pub(crate) const DUPLICATE_FIELD: Code = Code::new("CAS-SPEC-014");
/// A secret written into the file.
pub(crate) const SECRET_VALUE: Code = Code::new("CAS-SPEC-015");
/// A field that makes no sense without another.
pub(crate) const LONELY_FIELD: Code = Code::new("CAS-SPEC-016");
/// Fields that exclude each other.
pub(crate) const EXCLUSIVE: Code = Code::new("CAS-SPEC-017");
/// Nobody runs the control plane.
pub(crate) const NO_CONTROL_PLANE: Code = Code::new("CAS-SPEC-018");
/// A version of Kubernetes that casement does not know.
pub(crate) const VERSION: Code = Code::new("CAS-SPEC-104");

/// A Windows host in a role that Windows cannot have.
pub(crate) const WINDOWS_ROLE: Code = Code::new("CAS-HOST-002");
/// Two hosts with one name.
pub(crate) const SAME_NAME: Code = Code::new("CAS-HOST-003");
/// Two hosts with one address.
pub(crate) const SAME_ADDRESS: Code = Code::new("CAS-HOST-004");
/// A name that Windows cuts.
pub(crate) const LONG_NAME: Code = Code::new("CAS-HOST-005");
/// Two names that are one after Windows cut them.
pub(crate) const SAME_NETBIOS: Code = Code::new("CAS-HOST-006");
/// No host runs Windows.
pub(crate) const NO_WINDOWS: Code = Code::new("CAS-HOST-007");

/// Pod and service networks overlap.
pub(crate) const OVERLAP: Code = Code::new("CAS-NET-003");
/// A host's address lies in the pod or service network.
pub(crate) const HOST_INSIDE: Code = Code::new("CAS-NET-004");
/// An address that no host can have.
pub(crate) const ADDRESS: Code = Code::new("CAS-NET-005");
