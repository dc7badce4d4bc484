//! Download locations: the original URL or a mirror.
//!
//! A mirror is a directory or web server with each download below the name of its
//! host: `https://dl.k8s.io/v1.36.4/x` is at `dl.k8s.io/v1.36.4/x`. This is the
//! layout of `wget --force-directories`.

use std::fmt;
use std::str::FromStr;

use camino::{Utf8Path, Utf8PathBuf};
use casement_resource::without_password;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mirror {
    /// Without trailing slash.
    Web(String),
    Folder(Utf8PathBuf),
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{}` is not a valid mirror (expected https://HOST/…, http://HOST/…, file:///DIRECTORY or a directory)", without_password(.0))]
pub struct InvalidMirror(pub String);

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileLocation {
    Url(String),
    File(Utf8PathBuf),
}

/// Passwords in URLs are masked.
impl fmt::Display for FileLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Url(url) => f.write_str(&without_password(url)),
            Self::File(path) => f.write_str(path.as_str()),
        }
    }
}

impl FromStr for Mirror {
    type Err = InvalidMirror;

    fn from_str(text: &str) -> Result<Self, InvalidMirror> {
        let wrong = || InvalidMirror(text.to_owned());
        if let Some(path) = text.strip_prefix("file://") {
            return match path.starts_with('/') {
                true => Ok(Self::Folder(path.into())),
                false => Err(wrong()),
            };
        }
        match text.split_once("://") {
            Some(("http" | "https", host)) if !host.trim_matches('/').is_empty() => {
                Ok(Self::Web(text.trim_end_matches('/').to_owned()))
            }
            Some(_) => Err(wrong()),
            None if text.is_empty() => Err(wrong()),
            None => Ok(Self::Folder(text.into())),
        }
    }
}

impl Mirror {
    /// Resolves a relative directory.
    #[must_use]
    pub fn below(self, base: &Utf8Path) -> Self {
        match self {
            Self::Folder(path) => Self::Folder(base.join(path)),
            web @ Self::Web(_) => web,
        }
    }

    pub fn locate(&self, url: &str) -> FileLocation {
        let path = url.split_once("://").map_or(url, |(_, path)| path);
        match self {
            Self::Web(base) => FileLocation::Url(format!("{base}/{path}")),
            Self::Folder(base) => FileLocation::File(base.join(path)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn downloads_are_below_the_name_of_their_host() {
        let url = "https://dl.k8s.io/v1.36.4/bin/windows/amd64/kubelet.exe";
        let location = |mirror: &str| mirror.parse::<Mirror>().unwrap().locate(url).to_string();
        let path = "dl.k8s.io/v1.36.4/bin/windows/amd64/kubelet.exe";
        assert_eq!(
            location("http://mirror:8080/k/"),
            format!("http://mirror:8080/k/{path}")
        );
        assert_eq!(
            location("file:///srv/mirror"),
            format!("/srv/mirror/{path}")
        );
        let relative = "mirror"
            .parse::<Mirror>()
            .unwrap()
            .below("/etc/shop".into());
        assert_eq!(
            relative.locate(url).to_string(),
            format!("/etc/shop/mirror/{path}")
        );
    }

    #[test]
    fn password_is_used_but_not_shown() {
        let mirror: Mirror = "http://anna:geheim@mirror/k".parse().unwrap();
        let location = mirror.locate("https://dl.k8s.io/x");
        assert_eq!(
            location,
            FileLocation::Url("http://anna:geheim@mirror/k/dl.k8s.io/x".to_owned())
        );
        assert_eq!(
            location.to_string(),
            "http://anna:********@mirror/k/dl.k8s.io/x"
        );
        let wrong = "ftp://anna:geheim@mirror".parse::<Mirror>().unwrap_err();
        assert!(!wrong.to_string().contains("geheim"), "{wrong}");
    }

    #[test]
    fn other_schemes_are_rejected() {
        for wrong in ["", "ftp://mirror", "https://", "file://relative/x"] {
            assert_eq!(
                wrong.parse::<Mirror>(),
                Err(InvalidMirror(wrong.to_owned()))
            );
        }
    }
}
