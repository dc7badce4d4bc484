//! What stands below the findings.

use casement_diag::{Diagnostic, summary};

/// How many there are, and the two ways on. `None` when there are none.
pub fn last_line(findings: &[Diagnostic]) -> Option<String> {
    let first = findings.first()?;
    let mut line = format!("{}.", summary(findings));
    let fixable = findings.iter().filter(|d| d.fix.is_some()).count();
    line += &match fixable {
        0 => String::new(),
        _ if findings.len() == 1 => " `casement lint --fix` can mend it.".to_owned(),
        all if all == findings.len() => " `casement lint --fix` can mend all of them.".to_owned(),
        some => format!(" `casement lint --fix` can mend {some} of them."),
    };
    if let Some(code) = &first.code {
        line += &format!(" `casement explain {code}` says more.");
    }
    Some(line)
}
