//! Container images.

use std::collections::BTreeMap;

use camino::Utf8PathBuf;
use serde::Serialize;

use crate::named::named;
use crate::text::checked_text;
use crate::{Account, Registry};

checked_text! {
    /// An image reference such as `registry.k8s.io/pause:3.10`, optionally with a
    /// digest.
    pub struct ImageRef("image", image_error);
}

impl ImageRef {
    pub fn name(&self) -> &str {
        split(self.as_str()).0
    }

    pub fn tag(&self) -> Option<&str> {
        split(self.as_str()).1
    }

    pub fn digest(&self) -> Option<&str> {
        split(self.as_str()).2
    }
}

fn split(text: &str) -> (&str, Option<&str>, Option<&str>) {
    let (rest, digest) = match text.split_once('@') {
        Some((rest, digest)) => (rest, Some(digest)),
        None => (text, None),
    };
    // A colon before the last slash belongs to the registry port.
    match rest.rsplit_once(':') {
        Some((name, tag)) if !tag.contains('/') => (name, Some(tag), digest),
        _ => (rest, None, digest),
    }
}

fn image_error(text: &str) -> Option<&'static str> {
    if text.contains("://") {
        return Some("it must not have a scheme");
    }
    let (name, tag, digest) = split(text);
    let word = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let plain = |part: &str| !part.is_empty() && part.chars().all(word);
    let (first, rest) = name.split_once('/').map_or(("", name), |(a, b)| (a, b));
    let host = first.is_empty() || first.parse::<Registry>().is_ok();
    let lower = |part: &str| plain(part) && part == part.to_ascii_lowercase();
    if !host || !rest.split('/').all(lower) {
        return Some(
            "only lower-case letters, digits, `-`, `_`, `.` and `/` are allowed in the name",
        );
    }
    if tag.is_some_and(|tag| tag.len() > 128 || !plain(tag)) {
        return Some("only letters, digits, `-`, `_` and `.` are allowed in the tag, up to 128");
    }
    let hex = |text: &str| text.len() == 64 && text.chars().all(|c| c.is_ascii_hexdigit());
    let good = |digest: &str| digest.strip_prefix("sha256:").is_some_and(hex);
    let wrong = digest.is_some_and(|digest| !good(digest));
    wrong.then_some("the digest must be `sha256:` and 64 hexadecimal digits")
}

named! {
    pub enum ImageVerify {
        /// The image must match the Windows build of the host.
        Build = "build",
        None = "none",
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Images {
    /// `None`: the registry of each image.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub registry: Option<Registry>,
    /// Only together with `registry`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub credentials: Option<Account>,
    /// A PEM file; only together with `registry`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca: Option<Utf8PathBuf>,
    /// `None`: the image that matches the Kubernetes version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pause: Option<ImageRef>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub prepull: Vec<ImageRef>,
    pub verify: ImageVerify,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub overrides: BTreeMap<ImageRef, ImageRef>,
}

impl Default for Images {
    fn default() -> Self {
        Self {
            registry: None,
            credentials: None,
            ca: None,
            pause: None,
            prepull: Vec::new(),
            verify: ImageVerify::Build,
            overrides: BTreeMap::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn image_has_a_name_tag_and_digest() {
        let digest = format!("sha256:{}", "a".repeat(64));
        let text = format!("r.example:5000/a/pause:3.10@{digest}");
        let image: ImageRef = text.parse().unwrap();
        assert_eq!(image.name(), "r.example:5000/a/pause");
        assert_eq!(image.tag(), Some("3.10"));
        assert_eq!(image.digest(), Some(digest.as_str()));
        let image: ImageRef = "r.example:5000/pause".parse().unwrap();
        assert_eq!((image.tag(), image.digest()), (None, None));
        for bad in [
            "",
            "https://r/a",
            "a:",
            "A/B",
            "r/a@sha256:1",
            "a b",
            "r//a",
        ] {
            assert!(bad.parse::<ImageRef>().is_err(), "{bad}");
        }
    }
}
