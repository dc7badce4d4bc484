//! What a person is told when something is in the way: what, why, what to do.

use std::fmt;

/// A failure in words for a person.
///
/// The lab's callers never act differently on different failures (they print
/// and stop), so there is one type with a stable code instead of an enum per
/// module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Stable for ever, for example `CAS-LAB-003`.
    pub code: &'static str,
    /// One line: what is wrong.
    pub what: String,
    /// What was seen, as label and value; values may have several lines.
    pub seen: Vec<(&'static str, String)>,
    /// What to do about it.
    pub remedy: String,
}

/// The result of everything in the lab.
pub type Result<T, E = Problem> = std::result::Result<T, E>;

impl Problem {
    /// A problem with nothing seen yet.
    pub fn new(code: &'static str, what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self {
            code,
            what: what.into(),
            seen: Vec::new(),
            remedy: remedy.into(),
        }
    }

    /// Adds a value that was seen.
    #[must_use]
    pub fn seen(mut self, label: &'static str, value: impl fmt::Display) -> Self {
        self.seen.push((label, value.to_string()));
        self
    }

    /// A file operation that did not work; a full disk gets its own words.
    pub fn file(verb: &str, path: &std::path::Path, error: &std::io::Error) -> Self {
        if error.kind() == std::io::ErrorKind::StorageFull {
            return Self::new(
                "CAS-LAB-011",
                format!("the disk is full: could not {verb} `{}`", path.display()),
                "free some space (the first build needs about 10 GB) and run the command again; \
                 what was finished is kept",
            )
            .seen("it says", error);
        }
        Self::new(
            "CAS-LAB-010",
            format!("could not {verb} `{}`", path.display()),
            "see whether the folder exists and may be written",
        )
        .seen("it says", error)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "error[{}]: {}", self.code, self.what)?;
        let rows = self
            .seen
            .iter()
            .map(|(label, value)| (*label, value.as_str()))
            .chain([("remedy", self.remedy.as_str())]);
        for (label, value) in rows {
            for (number, line) in value.lines().enumerate() {
                let label = if number == 0 { label } else { "" };
                writeln!(f, "  {label:<9} {line}")?;
            }
        }
        Ok(())
    }
}

impl std::error::Error for Problem {}

/// Gives file operations the path that they were about.
pub trait AtPath<T> {
    /// Turns an I/O error into a [`Problem`] that names the path.
    fn at(self, verb: &str, path: &std::path::Path) -> Result<T>;
}

impl<T> AtPath<T> for std::io::Result<T> {
    fn at(self, verb: &str, path: &std::path::Path) -> Result<T> {
        self.map_err(|error| Problem::file(verb, path, &error))
    }
}

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
