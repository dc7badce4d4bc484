//! Object ids.

use std::fmt;
use std::str::FromStr;

/// The id of a network, endpoint, namespace or load balancer.
///
/// One generation of the HNS interface writes ids in upper case, the other in lower
/// case; this type compares them by value.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Guid(u128);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a valid network object id")]
pub struct InvalidGuid(String);

impl Guid {
    /// "Generate one" at creation, "not attached" as an endpoint's namespace.
    pub const NIL: Self = Self(0);

    pub const fn from_u128(number: u128) -> Self {
        Self(number)
    }

    pub const fn to_u128(self) -> u128 {
        self.0
    }
}

impl FromStr for Guid {
    type Err = InvalidGuid;

    /// Accepts 36 characters in either case, with or without braces.
    fn from_str(text: &str) -> Result<Self, InvalidGuid> {
        let invalid = || InvalidGuid(text.to_owned());
        let bare = text
            .strip_prefix('{')
            .and_then(|rest| rest.strip_suffix('}'))
            .unwrap_or(text);
        let groups: Vec<&str> = bare.split('-').collect();
        let lengths: Vec<usize> = groups.iter().map(|group| group.len()).collect();
        let digits = groups.concat();
        // `from_str_radix` would accept a sign.
        let plain = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        if lengths != [8, 4, 4, 4, 12] || !plain {
            return Err(invalid());
        }
        u128::from_str_radix(&digits, 16)
            .map(Self)
            .map_err(|_| invalid())
    }
}

impl fmt::Display for Guid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = self.0;
        write!(
            f,
            "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
            number >> 96,
            (number >> 80) & 0xFFFF,
            (number >> 64) & 0xFFFF,
            (number >> 48) & 0xFFFF,
            number & 0xFFFF_FFFF_FFFF
        )
    }
}

impl fmt::Debug for Guid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_ignore_case_and_print_in_lower_case() {
        let upper: Guid = "1F3C0A5E-00B1-4C2D-9E8F-0123456789AB".parse().unwrap();
        let lower: Guid = "{1f3c0a5e-00b1-4c2d-9e8f-0123456789ab}".parse().unwrap();
        assert_eq!(upper, lower);
        assert_eq!(upper.to_string(), "1f3c0a5e-00b1-4c2d-9e8f-0123456789ab");
    }

    #[test]
    fn invalid_ids_are_rejected() {
        for text in [
            "",
            "1f3c0a5e",
            "+f3c0a5e-00b1-4c2d-9e8f-0123456789ab",
            "1f3c0a5e-00b14-c2d-9e8f-0123456789ab",
            "1f3c0a5e-00b1-4c2d-9e8f-0123456789ag",
        ] {
            assert!(text.parse::<Guid>().is_err(), "{text}");
        }
    }
}
