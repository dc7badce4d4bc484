//! Where images come from.

use std::collections::BTreeMap;

use camino::Utf8PathBuf;
use serde::Serialize;

use crate::named::named;
use crate::text::checked_text;
use crate::{Account, Registry};

checked_text! {
    /// An image: `registry.k8s.io/pause:3.10`, perhaps with a digest.
    pub struct ImageRef("image", image_fault);
}

impl ImageRef {
    /// Without tag and digest.
    pub fn name(&self) -> &str {
        split(self.as_str()).0
    }

    /// The tag, if one is written.
    pub fn tag(&self) -> Option<&str> {
        split(self.as_str()).1
    }

    /// The digest, if one is written.
    pub fn digest(&self) -> Option<&str> {
        split(self.as_str()).2
    }
}

fn split(text: &str) -> (&str, Option<&str>, Option<&str>) {
    let (rest, digest) = match text.split_once('@') {
        Some((rest, digest)) => (rest, Some(digest)),
        None => (text, None),
    };
    // A colon before the last slash is that of the registry's port.
    match rest.rsplit_once(':') {
        Some((name, tag)) if !tag.contains('/') => (name, Some(tag), digest),
        _ => (rest, None, digest),
    }
}

fn image_fault(text: &str) -> Option<&'static str> {
    if text.contains("://") {
        return Some("it is written without a scheme");
    }
    let (name, tag, digest) = split(text);
    let word = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let plain = |part: &str| !part.is_empty() && part.chars().all(word);
    let (first, rest) = name.split_once('/').map_or(("", name), |(a, b)| (a, b));
    let host = first.is_empty() || first.parse::<Registry>().is_ok();
    let lower = |part: &str| plain(part) && part == part.to_ascii_lowercase();
    if !host || !rest.split('/').all(lower) {
        return Some("its name is not in lower-case letters, digits, `-`, `_`, `.` and `/`");
    }
    if tag.is_some_and(|tag| tag.len() > 128 || !plain(tag)) {
        return Some("its tag is not in letters, digits, `-`, `_` and `.`");
    }
    let hex = |text: &str| text.len() == 64 && text.chars().all(|c| c.is_ascii_hexdigit());
    let good = |digest: &str| digest.strip_prefix("sha256:").is_some_and(hex);
    let wrong = digest.is_some_and(|digest| !good(digest));
    wrong.then_some("its digest is not `sha256:` and 64 hexadecimal digits")
}

named! {
    /// What is checked before an image is pulled to a Windows host.
    pub enum ImageVerify {
        /// That it is made for the host's build.
        Build = "build",
        /// Nothing.
        None = "none",
    }
}

/// Where images come from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Images {
    /// The registry to pull from; without one, each image's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub registry: Option<Registry>,
    /// The account there; only together with `registry`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub credentials: Option<Account>,
    /// Who signed its certificate, as a PEM file; only together with
    /// `registry`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca: Option<Utf8PathBuf>,
    /// The image that holds a pod's network; `None` for the one that fits the
    /// version of Kubernetes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pause: Option<ImageRef>,
    /// Images that are pulled before pods ask for them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub prepull: Vec<ImageRef>,
    /// What is checked before a pull.
    pub verify: ImageVerify,
    /// Images that are used in the place of others.
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
    fn an_image_has_a_name_a_tag_and_a_digest() {
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
