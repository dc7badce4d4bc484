//! Whom to speak to over WinRM, and how.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use casement_resource::{Secret, Sha256};

use super::kerberos::Ticket;

/// What protects the conversation. There is no way without.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Protection {
    /// TLS; the certificate is checked as this says.
    Tls(Trust),
    /// No TLS: every message is sealed with the keys of the login.
    Sealed,
}

/// Which certificate of a host is the right one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trust {
    /// One that somebody signed whom this machine trusts.
    System,
    /// One that was signed by a certificate in this PEM file.
    Signed(PathBuf),
    /// This one, whoever signed it and whatever name is on it.
    Pinned(Sha256),
}

/// How the login is proved.
#[derive(Debug, Clone)]
pub enum Login {
    /// NTLM version 2, with this password.
    Ntlm(Secret),
    /// The password itself, inside TLS.
    Basic(Secret),
    /// A ticket.
    Kerberos(Ticket),
}

/// One host, and how to log in there over WinRM.
#[derive(Clone)]
pub struct WinRmTarget {
    /// The host's name in the user's file; used in messages only.
    pub name: String,
    /// An IP address or a DNS name; also what its certificate is for.
    pub address: String,
    /// The port: 5986 with TLS, 5985 without.
    pub port: u16,
    /// The account: `Administrator`, `SHOP\anna` or `anna@shop.example`.
    pub user: String,
    /// What protects the conversation.
    pub protection: Protection,
    /// How the login is proved.
    pub login: Login,
    /// How long connecting and logging in may take.
    pub connect_timeout: Duration,
}

impl WinRmTarget {
    /// A target with TLS on port 5986, strict about its certificate, and a time-out
    /// of 10 s.
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

    /// Where requests go.
    pub(crate) fn endpoint(&self) -> String {
        let scheme = match self.protection {
            Protection::Tls(_) => "https",
            Protection::Sealed => "http",
        };
        format!("{scheme}://{}/wsman", self.authority())
    }

    /// Address and port as HTTP writes them.
    pub(crate) fn authority(&self) -> String {
        match self.address.contains(':') {
            true => format!("[{}]:{}", self.address, self.port),
            false => format!("{}:{}", self.address, self.port),
        }
    }
}

/// The password is left out: a target ends up in logs.
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
    fn debug_hides_the_password_and_shows_where_it_goes() {
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
