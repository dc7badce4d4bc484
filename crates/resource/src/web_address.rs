//! HTTP URLs whose passwords are used but never shown.

use std::str::FromStr;

use crate::Secret;

/// Replaces a password.
const MASK: &str = "********";

/// A parsed `http://` or `https://` URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebAddress {
    /// Whether it uses TLS.
    pub secure: bool,
    /// The account in the URL.
    pub account: Option<WebAccount>,
    /// An IPv6 address keeps its brackets.
    pub host: String,
    /// The scheme's default if omitted.
    pub port: u16,
    /// Path and query, as in a request line.
    pub path: String,
}

/// Not percent-encoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebAccount {
    pub user: String,
    /// The password; empty where none is written.
    pub password: Secret,
}

/// The text is not repeated, because it may contain a password.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a valid URL: it must start with `http://` or `https://` and contain a host")]
pub struct InvalidWebAddress;

impl FromStr for WebAddress {
    type Err = InvalidWebAddress;

    fn from_str(text: &str) -> Result<Self, InvalidWebAddress> {
        if text.contains(|it: char| it.is_control() || it.is_whitespace()) {
            return Err(InvalidWebAddress);
        }
        let (secure, rest) = match text.split_once("://") {
            Some(("https", rest)) => (true, rest),
            Some(("http", rest)) => (false, rest),
            _ => return Err(InvalidWebAddress),
        };
        let (rest, _) = rest.split_once('#').unwrap_or((rest, ""));
        let (authority, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
        let (account, place) = match authority.rsplit_once('@') {
            Some((account, place)) => (Some(WebAccount::read(account)), place),
            None => (None, authority),
        };
        let (host, port) = host_and_port(place, secure).ok_or(InvalidWebAddress)?;
        let slash = if path.starts_with('/') { "" } else { "/" };
        Ok(Self {
            secure,
            account,
            host: host.to_owned(),
            port,
            path: format!("{slash}{path}"),
        })
    }
}

impl WebAccount {
    fn read(text: &str) -> Self {
        let (user, password) = text.split_once(':').unwrap_or((text, ""));
        Self {
            user: unescaped(user),
            password: Secret::new(unescaped(password)),
        }
    }
}

fn host_and_port(place: &str, secure: bool) -> Option<(&str, u16)> {
    let default = if secure { 443 } else { 80 };
    // Colons within the brackets of an IPv6 address do not start a port.
    let from = place.find(']').map_or(0, |end| end + 1);
    let (host, port) = match place.get(from..)?.find(':') {
        Some(at) => (place.get(..from + at)?, place.get(from + at + 1..)?),
        None => (place, ""),
    };
    let port = match port {
        "" => default,
        port => port.parse().ok().filter(|port| *port > 0)?,
    };
    (!host.is_empty()).then_some((host, port))
}

/// Percent-decodes.
fn unescaped(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let digits = after.get(..2).and_then(|two| std::str::from_utf8(two).ok());
        let byte = digits.and_then(|two| u8::from_str_radix(two, 16).ok());
        match (first, byte) {
            (b'%', Some(byte)) => {
                bytes.push(byte);
                rest = after.get(2..).unwrap_or_default();
            }
            (other, _) => {
                bytes.push(*other);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Any URL with its password masked, for display.
#[must_use]
pub fn without_password(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else {
        return url.to_owned();
    };
    let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    let account = authority.rsplit_once('@');
    match account.and_then(|(account, host)| Some((account.split_once(':')?.0, host))) {
        Some((user, host)) => format!("{scheme}://{user}:{MASK}@{host}{path}"),
        None => url.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_parsed_and_its_password_hidden() {
        let text = "https://an%40na:p%3Aw%2f@mirror.example:8443/k/x.exe?v=1#top";
        let address: WebAddress = text.parse().unwrap();
        let account = address.account.as_ref().unwrap();
        assert_eq!(
            (account.user.as_str(), account.password.expose()),
            ("an@na", "p:w/")
        );
        assert_eq!(
            (address.host.as_str(), address.port),
            ("mirror.example", 8443)
        );
        assert_eq!(address.path, "/k/x.exe?v=1");
        assert!(!format!("{address:?}").contains("p:w/"));
    }

    #[test]
    fn omitted_parts_default_to_the_scheme() {
        for (text, host, port, path) in [
            ("http://mirror", "mirror", 80, "/"),
            ("https://mirror?x", "mirror", 443, "/?x"),
            ("http://[::1]:81/a", "[::1]", 81, "/a"),
            ("http://[::1]/a", "[::1]", 80, "/a"),
        ] {
            let address: WebAddress = text.parse().unwrap();
            assert_eq!(
                (address.host.as_str(), address.port, address.path.as_str()),
                (host, port, path)
            );
        }
        for bad in [
            "",
            "mirror",
            "ftp://mirror",
            "http://",
            "http://:80/",
            "http://a:0/",
            "http://a:x/",
            "http://a/ b",
            "http://a/\nproxy = x",
        ] {
            assert_eq!(bad.parse::<WebAddress>(), Err(InvalidWebAddress), "{bad}");
        }
    }

    #[test]
    fn passwords_are_masked_in_any_url() {
        for (text, shown) in [
            ("ftp://anna:geheim@mirror/x", "ftp://anna:********@mirror/x"),
            ("http://anna@mirror/x", "http://anna@mirror/x"),
            ("http://mirror/a:b@c", "http://mirror/a:b@c"),
            ("./folder", "./folder"),
        ] {
            assert_eq!(without_password(text), shown);
        }
    }
}
