//! Diagnostics and their output formats.
//!
//! A [`Diagnostic`] describes what is wrong, where (as a [`FieldPath`], which also
//! works without source text), why, and how to fix it. [`render`] formats it for the
//! terminal, [`json`] and [`sarif`] for other programs. A [`Problem`] is an error without a
//! place. [`codes`] has a page for every code. This crate has no rules and reads no files: a
//! [`Source`] maps paths to positions in a text.
//!
//! ```
//! use casement_diag::{Code, Diagnostic, FieldPath, Style, render};
//!
//! let path: FieldPath = "spec.hosts[2].roles".parse()?;
//! let diagnostic = Diagnostic::error(path, "a Windows host cannot be a control-plane node")
//!     .code(Code::new("CAS-HOST-002"))
//!     .help("make it a worker");
//! let text = render(&diagnostic, None, Style::Plain);
//! assert!(text.starts_with("error[CAS-HOST-002]: a Windows host"));
//! # Ok::<(), casement_diag::PathError>(())
//! ```

// This crate is pure; see clippy.toml.
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

pub mod codes;
mod diagnostic;
mod json;
mod path;
mod problem;
mod render;
mod sarif;
mod source;

pub use diagnostic::{Code, Diagnostic, Edit, Fix, Label, Severity, has_errors, summary};
pub use json::{json, json_with_sources};
pub use path::{FieldPath, Part, PathError, Segment};
pub use problem::Problem;
pub use render::{Style, render, render_all, render_with_sources};
pub use sarif::{SarifRule, sarif};
pub use source::{Position, Source, Sources};
