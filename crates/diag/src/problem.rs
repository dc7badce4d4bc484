//! What a person is told when something is in the way: what, why, what to do.

use std::borrow::Cow;
use std::fmt;

/// A failure in words for a person, where nobody acts differently on different
/// failures: it is printed, and that is the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Stable for ever, for example `CAS-LAB-003`.
    pub code: Cow<'static, str>,
    /// One line: what is wrong.
    pub what: String,
    /// What was seen, as label and value; values may have several lines.
    pub seen: Vec<(String, String)>,
    /// What to do about it.
    pub remedy: String,
}

impl Problem {
    /// A problem with nothing seen yet.
    pub fn new(
        code: impl Into<Cow<'static, str>>,
        what: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self {
            code: code.into(),
            what: what.into(),
            seen: Vec::new(),
            remedy: remedy.into(),
        }
    }

    /// Adds a value that was seen.
    #[must_use]
    pub fn seen(mut self, label: impl Into<String>, value: impl fmt::Display) -> Self {
        self.seen.push((label.into(), value.to_string()));
        self
    }
}

/// The room that labels have at least: one problem below the other looks like one
/// table.
const NARROWEST: usize = 9;

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "error[{}]: {}", self.code, self.what)?;
        let seen = self
            .seen
            .iter()
            .map(|(label, value)| (label.as_str(), value.as_str()));
        let labels = self.seen.iter().map(|(label, _)| label.chars().count());
        let width = labels.max().unwrap_or(0).max(NARROWEST);
        for (label, value) in seen.chain([("remedy", self.remedy.as_str())]) {
            for (number, line) in value.lines().enumerate() {
                let label = if number == 0 { label } else { "" };
                writeln!(f, "  {label:<width$} {line}")?;
            }
        }
        Ok(())
    }
}

impl std::error::Error for Problem {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prints_what_then_values_then_the_way_on() {
        let problem = Problem::new("CAS-LAB-001", "Go is too old", "install Go 1.26")
            .seen("found", "1.19")
            .seen("needed", "1.26\nor newer");
        let expected = "error[CAS-LAB-001]: Go is too old\n  found     1.19\n  needed    1.26\n            or newer\n  remedy    install Go 1.26\n";
        assert_eq!(problem.to_string(), expected);
    }
}
