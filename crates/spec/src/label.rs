//! Labels and taints of Nodes, as Kubernetes admits them.

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};

use crate::name::label_fault;
use crate::named::named;
use crate::{Invalid, Named};

const NAME_LENGTH: usize = 63;
const PREFIX_LENGTH: usize = 253;

/// The key of a label or taint: a name, or `prefix/name`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct LabelKey(String);

/// The value of a label or taint; may be empty.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct LabelValue(String);

impl LabelKey {
    /// As written.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl LabelValue {
    /// As written.
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
                let label = |part: &str| label_fault(part).is_none();
                if prefix.len() > PREFIX_LENGTH || !prefix.split('.').all(label) {
                    return Err(wrong("what stands before `/` is no DNS name"));
                }
                name
            }
            None => text,
        };
        if !is_name(name) {
            return Err(wrong(
                "a name has up to 63 letters, digits, `-`, `_` and `.`, the first and last a letter or digit",
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
            "it has up to 63 letters, digits, `-`, `_` and `.`, the first and last a letter or digit",
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
    /// What a taint does to pods that do not tolerate it.
    pub enum TaintEffect {
        /// They are not placed there.
        NoSchedule = "NoSchedule",
        /// They are placed there last.
        PreferNoSchedule = "PreferNoSchedule",
        /// They are not placed there, and those that run are ended.
        NoExecute = "NoExecute",
    }
}

/// A taint as kubectl writes it: `key=value:Effect` or `key:Effect`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Taint {
    /// What it is about.
    pub key: LabelKey,
    /// Empty where there is none.
    pub value: LabelValue,
    /// What it does.
    pub effect: TaintEffect,
}

impl FromStr for Taint {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let wrong = |reason: String| Invalid::new("taint", text, reason);
        let Some((pair, effect)) = text.rsplit_once(':') else {
            return Err(wrong(
                "it is not written as `os=windows:NoSchedule`".to_owned(),
            ));
        };
        let Some(effect) = TaintEffect::from_name(effect) else {
            let all = TaintEffect::ALL.iter().map(|effect| format!("`{effect}`"));
            let all = all.collect::<Vec<_>>().join(", ");
            return Err(wrong(format!("its effect `{effect}` is none of {all}")));
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
    fn taints_read_as_kubectl_writes_them() {
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
    fn label_keys_have_a_prefix_at_most() {
        for good in ["a", "kubernetes.io/os", "A_b.c-1"] {
            assert!(good.parse::<LabelKey>().is_ok(), "{good}");
        }
        for bad in ["", "/a", "a/", "a/b/c", "A.b/c", "-a", &"a".repeat(64)] {
            assert!(bad.parse::<LabelKey>().is_err(), "{bad}");
        }
    }
}
