//! Login over WinRM, for Windows hosts where SSH is not open.

use camino::Utf8PathBuf;
use serde::Serialize;

use crate::named::named;
use crate::text::checked_text;
use crate::{DomainName, SecretRef, defaults};

named! {
    /// What WinRM runs on.
    pub enum WinRmTransport {
        /// TLS, whose certificate is always checked.
        Https = "https",
        /// No TLS; messages are encrypted by the authentication itself.
        Http = "http",
    }
}

named! {
    /// How WinRM proves who logs in.
    pub enum WinRmAuth {
        /// Kerberos where the account has a ticket for the host, else NTLM.
        Negotiate = "negotiate",
        /// NTLM, with encrypted messages.
        Ntlm = "ntlm",
        /// Kerberos, with encrypted messages.
        Kerberos = "kerberos",
        /// The password as it is; for TLS only.
        Basic = "basic",
    }
}

checked_text! {
    /// The SHA-256 hash of a certificate, as 64 hexadecimal digits.
    pub struct Fingerprint("SHA-256 fingerprint", fingerprint_fault, mend = fingerprint_mended);
}

fn fingerprint_fault(text: &str) -> Option<String> {
    let digits = text.chars().filter(char::is_ascii_hexdigit).count();
    if digits == 40 {
        return Some("40 digits are a SHA-1 thumbprint, which is not enough".to_owned());
    }
    let plain = |letter: char| letter.is_ascii_digit() || ('a'..='f').contains(&letter);
    let right = text.len() == 64 && text.chars().all(plain);
    (!right).then(|| "it has not 64 digits from 0 to f".to_owned())
}

fn fingerprint_mended(text: &str) -> String {
    let digits = text.chars().filter(|letter| !": ".contains(*letter));
    digits.collect::<String>().to_ascii_lowercase()
}

/// Login over WinRM, for all Windows hosts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WinRm {
    /// The account.
    pub user: String,
    /// The domain that the hosts are in, and an account that names none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub domain: Option<DomainName>,
    /// Its password.
    pub password: SecretRef,
    /// What it runs on.
    pub transport: WinRmTransport,
    /// The port.
    pub port: u16,
    /// How the login is proved.
    pub auth: WinRmAuth,
    /// Who signed the hosts' certificates, as a PEM file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca: Option<Utf8PathBuf>,
    /// The one certificate that is taken, whoever signed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<Fingerprint>,
}

/// Login over WinRM to one host: each field stands before the cluster's.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HostWinRm {
    /// The account.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// The domain that the host is in, and an account that names none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub domain: Option<DomainName>,
    /// Its password.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub password: Option<SecretRef>,
    /// What it runs on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transport: Option<WinRmTransport>,
    /// The port.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
    /// How the login is proved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auth: Option<WinRmAuth>,
    /// Who signed the host's certificate, as a PEM file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca: Option<Utf8PathBuf>,
    /// The one certificate that is taken, whoever signed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<Fingerprint>,
}

impl WinRm {
    /// The account with its domain: one that names none is of the hosts'. A host's
    /// own accounts are `MACHINE\user` there.
    pub fn account(&self) -> String {
        match &self.domain {
            Some(domain) if !self.user.contains(['@', '\\']) => format!("{}@{domain}", self.user),
            _ => self.user.clone(),
        }
    }
}

impl HostWinRm {
    /// Everything decided: the host's word, then the cluster's, then the
    /// default. A password that nobody named is asked for.
    pub fn over(&self, all: Option<&WinRm>) -> WinRm {
        let transport = self.transport.or(all.map(|all| all.transport));
        let transport = transport.unwrap_or(WinRmTransport::Https);
        // Another transport than the cluster's has another port, too.
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
    fn a_host_on_another_transport_gets_that_ones_port() {
        let all = HostWinRm::default().over(None);
        assert_eq!((all.transport, all.port), (WinRmTransport::Https, 5986));
        let host = HostWinRm {
            transport: Some(WinRmTransport::Http),
            ..HostWinRm::default()
        };
        assert_eq!(host.over(Some(&all)).port, 5985);
        assert_eq!(HostWinRm::default().over(Some(&all)), all);
    }

    #[test]
    fn a_domain_names_the_accounts_that_name_none() {
        let account = |user: &str, domain: Option<&str>| {
            let winrm = HostWinRm {
                user: Some(user.to_owned()),
                domain: domain.map(|domain| domain.parse().unwrap()),
                ..HostWinRm::default()
            };
            winrm.over(None).account()
        };
        assert_eq!(account("anna", Some("shop.example")), "anna@shop.example");
        assert_eq!(account("anna", None), "anna");
        for whole in [r"WIN1\anna", "anna@depot.example"] {
            assert_eq!(account(whole, Some("shop.example")), whole);
        }
    }

    #[test]
    fn a_fingerprint_is_sha_256_and_a_thumbprint_is_none() {
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
