//! Node labels and taints, with the rules of Kubernetes.

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};

use crate::name::label_error;
use crate::named::named;
use crate::{Invalid, Named};

const NAME_LENGTH: usize = 63;
const PREFIX_LENGTH: usize = 253;

/// The key of a label or taint: a name, or `prefix/name`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct LabelKey(String);

/// May be empty.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct LabelValue(String);

impl LabelKey {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl LabelValue {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for LabelKey {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let wrong = |reason: &str| Invalid::new("label key", text, reason);
        let name = match text.split_once('/') {
            Some((prefix, name)) => {
                let label = |part: &str| label_error(part).is_none();
                if prefix.len() > PREFIX_LENGTH || !prefix.split('.').all(label) {
                    return Err(wrong("the part before `/` is not a valid DNS name"));
                }
                name
            }
            None => text,
        };
        if !is_name(name) {
            return Err(wrong(
                "up to 63 letters, digits, `-`, `_`, `.`; a letter or digit at both ends",
            ));
        }
        Ok(Self(text.to_owned()))
    }
}

impl FromStr for LabelValue {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        if text.is_empty() || is_name(text) {
            return Ok(Self(text.to_owned()));
        }
        Err(Invalid::new(
            "label value",
            text,
            "up to 63 letters, digits, `-`, `_`, `.`; a letter or digit at both ends",
        ))
    }
}

fn is_name(text: &str) -> bool {
    let inner = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let border = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    text.len() <= NAME_LENGTH
        && text.chars().all(inner)
        && border(text.chars().next())
        && border(text.chars().next_back())
}

named! {
    pub enum TaintEffect {
        NoSchedule = "NoSchedule",
        PreferNoSchedule = "PreferNoSchedule",
        NoExecute = "NoExecute",
    }
}

/// A taint in kubectl syntax: `key=value:Effect` or `key:Effect`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Taint {
    pub key: LabelKey,
    pub value: LabelValue,
    pub effect: TaintEffect,
}

impl FromStr for Taint {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let wrong = |reason: String| Invalid::new("taint", text, reason);
        let Some((pair, effect)) = text.rsplit_once(':') else {
            return Err(wrong(
                "expected a form like `os=windows:NoSchedule`".to_owned(),
            ));
        };
        let Some(effect) = TaintEffect::from_name(effect) else {
            let all = TaintEffect::ALL.iter().map(|effect| format!("`{effect}`"));
            let all = all.collect::<Vec<_>>().join(", ");
            return Err(wrong(format!("the effect `{effect}` is not one of {all}")));
        };
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        let part = |invalid: Invalid| wrong(invalid.to_string());
        Ok(Self {
            key: key.parse().map_err(part)?,
            value: value.parse().map_err(part)?,
            effect,
        })
    }
}

impl fmt::Display for LabelKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for LabelValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for Taint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let equals = if self.value.0.is_empty() { "" } else { "=" };
        write!(f, "{}{equals}{}:{}", self.key, self.value, self.effect)
    }
}

impl Serialize for Taint {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn taints_use_kubectl_syntax() {
        for text in ["os=windows:NoSchedule", "a.b/c:NoExecute", "x=:NoSchedule"] {
            let taint: Taint = text.parse().unwrap();
            assert_eq!(taint.to_string(), text.replace("=:", ":"));
        }
        for bad in [
            "os=windows",
            "os=windows:Never",
            ":NoSchedule",
            "a b:NoSchedule",
            "",
        ] {
            assert!(bad.parse::<Taint>().is_err(), "{bad}");
        }
    }

    #[test]
    fn label_keys_have_at_most_one_prefix() {
        for good in ["a", "kubernetes.io/os", "A_b.c-1"] {
            assert!(good.parse::<LabelKey>().is_ok(), "{good}");
        }
        for bad in ["", "/a", "a/", "a/b/c", "A.b/c", "-a", &"a".repeat(64)] {
            assert!(bad.parse::<LabelKey>().is_err(), "{bad}");
        }
    }
}
