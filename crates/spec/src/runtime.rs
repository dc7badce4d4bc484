//! The container runtime.

use serde::Serialize;

use crate::named::named;
use crate::text::checked_text;

named! {
    pub enum RuntimeKind {
        Containerd = "containerd",
        /// For Kubernetes before 1.24 and old Windows releases.
        Docker = "docker",
    }
}

checked_text! {
    /// Two to four numbers and an optional suffix (`2.1.4`, `18.03.1-ee-3`).
    pub struct ProgramVersion("version", version_error, suggest = suggest_version);
}

impl ProgramVersion {
    pub fn numbers(&self) -> Vec<u64> {
        numbers(self.as_str()).unwrap_or_default()
    }
}

fn numbers(text: &str) -> Option<Vec<u64>> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.');
    let (numbers, rest) = text.split_at(end.unwrap_or(text.len()));
    let suffix = |c: char| c.is_ascii_alphanumeric() || "-+.~".contains(c);
    if !(rest.is_empty() || rest.starts_with(['-', '+', '~'])) || !rest.chars().all(suffix) {
        return None;
    }
    let numbers: Result<Vec<u64>, _> = numbers.split('.').map(str::parse).collect();
    numbers
        .ok()
        .filter(|numbers| (2..=4).contains(&numbers.len()))
}

fn version_error(text: &str) -> Option<&'static str> {
    (text.len() > 60 || numbers(text).is_none()).then_some("expected numbers such as 2.1.4")
}

fn suggest_version(text: &str) -> String {
    text.trim_start_matches('v').to_owned()
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Runtime {
    pub kind: RuntimeKind,
    /// `None`: the version that matches the Kubernetes version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<ProgramVersion>,
}

impl Default for Runtime {
    fn default() -> Self {
        Self {
            kind: RuntimeKind::Containerd,
            version: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_numbers_with_a_suffix() {
        let version: ProgramVersion = "18.03.1-ee-3".parse().unwrap();
        assert_eq!(version.numbers(), [18, 3, 1]);
        for bad in ["", "2", "1.2.3.4.5", "2.x", "latest", "2.1 ", "2.1beta"] {
            assert!(bad.parse::<ProgramVersion>().is_err(), "{bad}");
        }
        let wrong = "v2.1.4".parse::<ProgramVersion>().unwrap_err();
        assert_eq!(wrong.suggestion.as_deref(), Some("2.1.4"));
    }
}
