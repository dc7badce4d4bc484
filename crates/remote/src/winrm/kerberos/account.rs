//! Account names of Windows and Kerberos.

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Account<'a> {
    name: &'a str,
    domain: Option<&'a str>,
}

impl<'a> Account<'a> {
    /// `anna@shop.example`, `SHOP\anna` or `anna`.
    pub(super) fn parse(text: &'a str) -> Self {
        let (name, domain) = match (text.split_once('\\'), text.rsplit_once('@')) {
            (Some((domain, name)), _) | (None, Some((name, domain))) => (name, Some(domain)),
            (None, None) => (text, None),
        };
        Self { name, domain }
    }

    /// The Kerberos principal. Without a realm, the library uses its default: a short
    /// domain (`SHOP`) is not a realm.
    pub(super) fn principal(&self) -> String {
        match self.domain.filter(|domain| domain.contains('.')) {
            Some(domain) => format!("{}@{}", self.name, domain.to_uppercase()),
            None => self.name.to_owned(),
        }
    }

    /// Whether `principal` is this account. Windows ignores the case of names. A short
    /// domain is compared with the first label of the realm, which is the default in
    /// Windows.
    pub(super) fn matches(&self, principal: &str) -> bool {
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
    fn account_maps_to_the_principal_of_its_domain() {
        for text in ["anna@shop.example", r"shop.example\anna"] {
            assert_eq!(Account::parse(text).principal(), "anna@SHOP.EXAMPLE");
        }
        for short in [r"SHOP\anna", "anna"] {
            assert_eq!(Account::parse(short).principal(), "anna", "{short}");
        }
    }

    #[test]
    fn ticket_of_another_account_does_not_match() {
        let ticket = "anna@SHOP.EXAMPLE";
        for own in ["anna", "Anna", r"SHOP\anna", "anna@shop.example"] {
            assert!(Account::parse(own).matches(ticket), "{own}");
        }
        let others = [
            "Administrator",
            r"WIN1\anna",
            "anna@depot.example",
            "anna@example",
            "ann",
        ];
        for other in others {
            assert!(!Account::parse(other).matches(ticket), "{other}");
        }
    }
}
