//! An account as Windows writes it, and as Kerberos does.

/// Whose ticket is wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Account<'a> {
    name: &'a str,
    domain: Option<&'a str>,
}

impl<'a> Account<'a> {
    /// `anna@shop.example`, `SHOP\anna` or `anna`.
    pub(super) fn read(written: &'a str) -> Self {
        let (name, domain) = match (written.split_once('\\'), written.rsplit_once('@')) {
            (Some((domain, name)), _) | (None, Some((name, domain))) => (name, Some(domain)),
            (None, None) => (written, None),
        };
        Self { name, domain }
    }

    /// As Kerberos names it. Without a realm, the library takes its default one:
    /// a short domain (`SHOP`) is no realm, and says nothing about which is its.
    pub(super) fn principal(&self) -> String {
        match self.domain.filter(|domain| domain.contains('.')) {
            Some(domain) => format!("{}@{}", self.name, domain.to_uppercase()),
            None => self.name.to_owned(),
        }
    }

    /// Whether a ticket of `principal` is this account's. Windows does not look at
    /// the case of names. A short domain is taken for the first label of the realm,
    /// which it is unless somebody took pains.
    pub(super) fn is(&self, principal: &str) -> bool {
        let (name, realm) = principal.rsplit_once('@').unwrap_or((principal, ""));
        let same = |a: &str, b: &str| a.to_lowercase() == b.to_lowercase();
        let first = realm.split('.').next().unwrap_or_default();
        same(self.name, name)
            && self
                .domain
                .is_none_or(|domain| same(domain, realm) || same(domain, first))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_is_the_principal_of_its_domain() {
        for written in ["anna@shop.example", r"shop.example\anna"] {
            assert_eq!(Account::read(written).principal(), "anna@SHOP.EXAMPLE");
        }
        for short in [r"SHOP\anna", "anna"] {
            assert_eq!(Account::read(short).principal(), "anna", "{short}");
        }
    }

    #[test]
    fn a_ticket_of_somebody_else_is_not_taken() {
        let ticket = "anna@SHOP.EXAMPLE";
        for own in ["anna", "Anna", r"SHOP\anna", "anna@shop.example"] {
            assert!(Account::read(own).is(ticket), "{own}");
        }
        let others = [
            "Administrator",
            r"WIN1\anna",
            "anna@depot.example",
            "anna@example",
            "ann",
        ];
        for other in others {
            assert!(!Account::read(other).is(ticket), "{other}");
        }
    }
}
