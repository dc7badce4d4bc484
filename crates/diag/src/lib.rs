//! A finding as data, and the ways it is shown.
//!
//! A [`Diagnostic`] says what is wrong, where (as a [`FieldPath`], so that it
//! also makes sense where there is no text), why, and what to do. [`render`]
//! shows it to a person, [`json`] and [`sarif`] to a program. This crate knows no rule and
//! reads no file: where a path lies in a text is the business of a [`Source`].
//!
//! ```
//! use casement_diag::{Code, Diagnostic, FieldPath, Style, render};
//!
//! let path: FieldPath = "spec.hosts[2].roles".parse()?;
//! let finding = Diagnostic::error(path, "a Windows host cannot be a control-plane node")
//!     .code(Code::new("CAS-HOST-002"))
//!     .help("make it a worker");
//! let text = render(&finding, None, Style::Plain);
//! assert!(text.starts_with("error[CAS-HOST-002]: a Windows host"));
//! # Ok::<(), casement_diag::PathError>(())
//! ```

mod diagnostic;
mod json;
mod path;
mod problem;
mod render;
mod sarif;
mod source;

pub use diagnostic::{Code, Diagnostic, Edit, Fix, Label, Severity, has_errors, summary};
pub use json::{json, json_among};
pub use path::{FieldPath, Part, PathError, Segment};
pub use problem::Problem;
pub use render::{Style, render, render_all, render_among};
pub use sarif::{SarifRule, sarif};
pub use source::{Position, Source, Sources};
