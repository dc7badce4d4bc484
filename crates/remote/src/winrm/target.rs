//! WinRM targets.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use casement_resource::{Secret, Sha256};

use super::kerberos::Ticket;

/// How messages are encrypted; there is no unencrypted mode.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Protection {
    Tls(Trust),
    /// No TLS: every message is sealed with the session key of the login.
    Sealed,
}

/// Which certificates are trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trust {
    /// Signed by a CA that this system trusts.
    System,
    /// Signed by a certificate in this PEM file.
    Signed(PathBuf),
    /// Exactly this one, regardless of issuer and name.
    Pinned(Sha256),
}

#[derive(Debug, Clone)]
pub enum Login {
    /// NTLM version 2 with this password.
    Ntlm(Secret),
    Basic(Secret),
    Kerberos(Ticket),
}

/// A host and how to log in there over WinRM.
#[derive(Clone)]
pub struct WinRmTarget {
    /// The host's name in the cluster file; for messages only.
    pub name: String,
    /// An IP address or a DNS name; also the name that the certificate must have.
    pub address: String,
    /// 5986 with TLS, 5985 without.
    pub port: u16,
    /// `Administrator`, `SHOP\anna` or `anna@shop.example`.
    pub user: String,
    pub protection: Protection,
    pub login: Login,
    /// For each of connecting and authenticating.
    pub connect_timeout: Duration,
}

impl WinRmTarget {
    /// TLS on port 5986 with a trusted certificate, timeout of 10 s.
    pub fn new(
        name: impl Into<String>,
        address: impl Into<String>,
        user: impl Into<String>,
        login: Login,
    ) -> Self {
        Self {
            name: name.into(),
            address: address.into(),
            port: 5986,
            user: user.into(),
            protection: Protection::Tls(Trust::System),
            login,
            connect_timeout: Duration::from_secs(10),
        }
    }

    pub(crate) fn endpoint(&self) -> String {
        let scheme = match self.protection {
            Protection::Tls(_) => "https",
            Protection::Sealed => "http",
        };
        format!("{scheme}://{}/wsman", self.authority())
    }

    /// Address and port in URL notation.
    pub(crate) fn authority(&self) -> String {
        match self.address.contains(':') {
            true => format!("[{}]:{}", self.address, self.port),
            false => format!("{}:{}", self.address, self.port),
        }
    }
}

/// Without the password: targets are logged.
impl fmt::Debug for WinRmTarget {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("WinRmTarget")
            .field("name", &self.name)
            .field("endpoint", &self.endpoint())
            .field("user", &self.user)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_hides_the_password_and_shows_the_endpoint() {
        let password = Secret::new("hunter2".to_owned());
        let login = Login::Ntlm(password);
        let mut target = WinRmTarget::new("win1", "fd00::4", "Administrator", login);
        let shown = format!("{target:?}");
        assert!(!shown.contains("hunter2"), "{shown}");
        assert!(shown.contains("https://[fd00::4]:5986/wsman"), "{shown}");
        target.protection = Protection::Sealed;
        target.address = "10.3.0.4".to_owned();
        target.port = 5985;
        assert_eq!(target.endpoint(), "http://10.3.0.4:5985/wsman");
    }
}
