//! The line printed after the findings.

use casement_diag::{Diagnostic, summary};

/// The number of findings and the next steps. `None` without findings.
pub fn summary_line(findings: &[Diagnostic]) -> Option<String> {
    let first = findings.first()?;
    let mut line = summary(findings);
    let fixable = findings.iter().filter(|d| d.fix.is_some()).count();
    if fixable > 0 {
        line += &format!(", {fixable} fixable with `casement lint --fix`");
    }
    line += ".";
    if let Some(code) = &first.code {
        line += &format!(" Run `casement explain {code}` for details.");
    }
    Some(line)
}
