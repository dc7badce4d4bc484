//! Kubernetes versions.

use std::fmt;
use std::str::FromStr;

use semver::Version;
use serde::Serialize;

use crate::Invalid;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct KubernetesVersion(Version);

impl KubernetesVersion {
    pub fn minor(&self) -> (u64, u64) {
        (self.0.major, self.0.minor)
    }

    pub fn as_semver(&self) -> &Version {
        &self.0
    }
}

impl FromStr for KubernetesVersion {
    type Err = Invalid;

    /// Accepts an optional leading `v`.
    fn from_str(text: &str) -> Result<Self, Invalid> {
        let number = text.strip_prefix('v').unwrap_or(text);
        if let Ok(version) = Version::parse(number) {
            return Ok(Self(version));
        }
        let full = format!("{number}.0");
        let suggestion = Version::parse(&full).is_ok().then_some(full);
        Err(Invalid::new(
            "Kubernetes version",
            text,
            "expected three numbers such as 1.36.3",
        )
        .suggest(suggestion))
    }
}

impl fmt::Display for KubernetesVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_has_three_numbers() {
        let version: KubernetesVersion = "v1.36.3".parse().unwrap();
        assert_eq!(version.to_string(), "1.36.3");
        assert_eq!(version.minor(), (1, 36));
        let wrong = "1.36".parse::<KubernetesVersion>().unwrap_err();
        assert_eq!(wrong.suggestion.as_deref(), Some("1.36.0"));
        let wrong = "latest".parse::<KubernetesVersion>().unwrap_err();
        assert_eq!(wrong.suggestion, None);
    }
}
