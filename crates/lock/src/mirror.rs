//! Where downloads are fetched: at their own address, or at a mirror.
//!
//! A mirror is a folder or a web server that holds each download below the name of
//! the host it comes from: `https://dl.k8s.io/v1.36.4/x` is `dl.k8s.io/v1.36.4/x`
//! there, which is what `wget --force-directories` makes.

use std::fmt;
use std::str::FromStr;

use camino::{Utf8Path, Utf8PathBuf};
use casement_resource::without_password;

/// A place that holds copies of downloads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mirror {
    /// A web server's folder, without a slash at its end.
    Web(String),
    /// A folder here.
    Folder(Utf8PathBuf),
}

/// The text names no mirror.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{}` is no mirror: it takes https://HOST/…, http://HOST/…, file:///FOLDER or a folder", without_password(.0))]
pub struct NoMirror(pub String);

/// Where one file is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// On the web.
    Url(String),
    /// Here.
    File(Utf8PathBuf),
}

/// As it may be shown: a password in an address is left out.
impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Url(url) => f.write_str(&without_password(url)),
            Self::File(path) => f.write_str(path.as_str()),
        }
    }
}

impl FromStr for Mirror {
    type Err = NoMirror;

    fn from_str(text: &str) -> Result<Self, NoMirror> {
        let wrong = || NoMirror(text.to_owned());
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
    /// A folder that was given as a relative path begins in `base`.
    #[must_use]
    pub fn below(self, base: &Utf8Path) -> Self {
        match self {
            Self::Folder(path) => Self::Folder(base.join(path)),
            web @ Self::Web(_) => web,
        }
    }

    /// Where it holds what has this address.
    pub fn place(&self, url: &str) -> Place {
        let path = url.split_once("://").map_or(url, |(_, path)| path);
        match self {
            Self::Web(base) => Place::Url(format!("{base}/{path}")),
            Self::Folder(base) => Place::File(base.join(path)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn downloads_lie_below_the_name_of_their_host() {
        let url = "https://dl.k8s.io/v1.36.4/bin/windows/amd64/kubelet.exe";
        let place = |mirror: &str| mirror.parse::<Mirror>().unwrap().place(url).to_string();
        let path = "dl.k8s.io/v1.36.4/bin/windows/amd64/kubelet.exe";
        assert_eq!(
            place("http://mirror:8080/k/"),
            format!("http://mirror:8080/k/{path}")
        );
        assert_eq!(place("file:///srv/mirror"), format!("/srv/mirror/{path}"));
        let relative = "mirror"
            .parse::<Mirror>()
            .unwrap()
            .below("/etc/shop".into());
        assert_eq!(
            relative.place(url).to_string(),
            format!("/etc/shop/mirror/{path}")
        );
    }

    #[test]
    fn an_account_is_used_and_its_password_not_shown() {
        let mirror: Mirror = "http://anna:geheim@mirror/k".parse().unwrap();
        let place = mirror.place("https://dl.k8s.io/x");
        assert_eq!(
            place,
            Place::Url("http://anna:geheim@mirror/k/dl.k8s.io/x".to_owned())
        );
        assert_eq!(
            place.to_string(),
            "http://anna:********@mirror/k/dl.k8s.io/x"
        );
        let wrong = "ftp://anna:geheim@mirror".parse::<Mirror>().unwrap_err();
        assert!(!wrong.to_string().contains("geheim"), "{wrong}");
    }

    #[test]
    fn other_schemes_are_no_mirror() {
        for wrong in ["", "ftp://mirror", "https://", "file://relative/x"] {
            assert_eq!(wrong.parse::<Mirror>(), Err(NoMirror(wrong.to_owned())));
        }
    }
}
