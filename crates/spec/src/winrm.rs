//! WinRM settings, for Windows hosts without SSH.

use camino::Utf8PathBuf;
use serde::Serialize;

use crate::named::named;
use crate::text::checked_text;
use crate::{DomainName, SecretRef, defaults};

named! {
    pub enum WinRmTransport {
        /// TLS; the certificate is always verified.
        Https = "https",
        /// No TLS; the authentication encrypts the messages.
        Http = "http",
    }
}

named! {
    pub enum WinRmAuth {
        /// Kerberos if there is a ticket for the host, else NTLM.
        Negotiate = "negotiate",
        Ntlm = "ntlm",
        Kerberos = "kerberos",
        /// The password in clear text; TLS only.
        Basic = "basic",
    }
}

checked_text! {
    /// The SHA-256 hash of a certificate in 64 hexadecimal digits.
    pub struct Fingerprint("SHA-256 fingerprint", fingerprint_error, suggest = suggest_fingerprint);
}

fn fingerprint_error(text: &str) -> Option<String> {
    let digits = text.chars().filter(char::is_ascii_hexdigit).count();
    if digits == 40 {
        return Some("40 digits are a SHA-1 thumbprint, SHA-256 is required".to_owned());
    }
    let plain = |letter: char| letter.is_ascii_digit() || ('a'..='f').contains(&letter);
    let valid = text.len() == 64 && text.chars().all(plain);
    (!valid).then(|| "expected 64 hexadecimal digits".to_owned())
}

fn suggest_fingerprint(text: &str) -> String {
    let digits = text.chars().filter(|letter| !": ".contains(*letter));
    digits.collect::<String>().to_ascii_lowercase()
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WinRm {
    pub user: String,
    /// The domain of the hosts, and of an account without domain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub domain: Option<DomainName>,
    pub password: SecretRef,
    pub transport: WinRmTransport,
    pub port: u16,
    pub auth: WinRmAuth,
    /// A PEM file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca: Option<Utf8PathBuf>,
    /// The only accepted certificate, regardless of its issuer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<Fingerprint>,
}

/// WinRM settings of one host; each field overrides that of the cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HostWinRm {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub domain: Option<DomainName>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub password: Option<SecretRef>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transport: Option<WinRmTransport>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auth: Option<WinRmAuth>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca: Option<Utf8PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<Fingerprint>,
}

impl WinRm {
    /// The account with its domain. With `domain` set, a local account must be
    /// written as `MACHINE\user`.
    pub fn account(&self) -> String {
        match &self.domain {
            Some(domain) if !self.user.contains(['@', '\\']) => format!("{}@{domain}", self.user),
            _ => self.user.clone(),
        }
    }
}

impl HostWinRm {
    /// Host settings override those of the cluster, which override the defaults.
    /// Without a password the user is prompted.
    pub fn merged_with(&self, all: Option<&WinRm>) -> WinRm {
        let transport = self.transport.or(all.map(|all| all.transport));
        let transport = transport.unwrap_or(WinRmTransport::Https);
        // A different transport also has a different default port.
        let port = all.filter(|all| all.transport == transport);
        let port = self.port.or(port.map(|all| all.port));
        let user = self.user.clone().or_else(|| all.map(|a| a.user.clone()));
        let password = self.password.clone();
        let password = password.or_else(|| all.map(|all| all.password.clone()));
        let domain = self.domain.clone();
        let domain = domain.or_else(|| all.and_then(|all| all.domain.clone()));
        let auth = self.auth.or(all.map(|all| all.auth));
        let fingerprint = self.fingerprint.clone();
        let fingerprint = fingerprint.or_else(|| all.and_then(|a| a.fingerprint.clone()));
        WinRm {
            user: user.unwrap_or_else(|| defaults::user(crate::OsFamily::Windows).to_owned()),
            domain,
            password: password.unwrap_or(SecretRef::Prompt),
            transport,
            port: port.unwrap_or_else(|| defaults::winrm_port(transport)),
            auth: auth.unwrap_or(WinRmAuth::Negotiate),
            ca: self.ca.clone().or_else(|| all.and_then(|a| a.ca.clone())),
            fingerprint,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn port_default_follows_the_transport() {
        let all = HostWinRm::default().merged_with(None);
        assert_eq!((all.transport, all.port), (WinRmTransport::Https, 5986));
        let host = HostWinRm {
            transport: Some(WinRmTransport::Http),
            ..HostWinRm::default()
        };
        assert_eq!(host.merged_with(Some(&all)).port, 5985);
        assert_eq!(HostWinRm::default().merged_with(Some(&all)), all);
    }

    #[test]
    fn domain_is_added_to_accounts_without_one() {
        let account = |user: &str, domain: Option<&str>| {
            let winrm = HostWinRm {
                user: Some(user.to_owned()),
                domain: domain.map(|domain| domain.parse().unwrap()),
                ..HostWinRm::default()
            };
            winrm.merged_with(None).account()
        };
        assert_eq!(account("anna", Some("shop.example")), "anna@shop.example");
        assert_eq!(account("anna", None), "anna");
        for whole in [r"WIN1\anna", "anna@depot.example"] {
            assert_eq!(account(whole, Some("shop.example")), whole);
        }
    }

    #[test]
    fn sha_1_thumbprint_is_rejected() {
        let right = "0123456789abcdef".repeat(4);
        assert_eq!(right.parse::<Fingerprint>().unwrap().as_str(), right);
        let mut pairs: Vec<&str> = Vec::new();
        pairs.extend((0..32).map(|at| &right[2 * at..2 * at + 2]));
        let written = pairs.join(":").to_uppercase();
        let invalid = written.parse::<Fingerprint>().unwrap_err();
        assert_eq!(invalid.suggestion, Some(right.clone()));
        let thumbprint = right[..40].parse::<Fingerprint>().unwrap_err();
        assert!(thumbprint.reason.contains("SHA-1"), "{thumbprint}");
        assert!(right[..63].parse::<Fingerprint>().is_err());
    }
}
