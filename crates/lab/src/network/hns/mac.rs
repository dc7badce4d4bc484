//! MAC addresses and address pools.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Displayed with hyphens, as on Windows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Mac([u8; 6]);

#[derive(Debug, thiserror::Error)]
#[error("`{0}` is not a valid MAC address")]
pub struct InvalidMac(String);

impl Mac {
    /// An address in the Hyper-V range.
    pub fn of_hyper_v(low: [u8; 3]) -> Self {
        Self([0x00, 0x15, 0x5D, low[0], low[1], low[2]])
    }

    /// The Linux format.
    pub fn with_colons(self) -> String {
        self.to_string().replace('-', ":").to_ascii_lowercase()
    }

    fn to_number(self) -> u64 {
        self.0
            .iter()
            .fold(0, |sum, byte| sum << 8 | u64::from(*byte))
    }

    fn from_number(number: u64) -> Self {
        let bytes = number.to_be_bytes();
        Self([bytes[2], bytes[3], bytes[4], bytes[5], bytes[6], bytes[7]])
    }
}

impl FromStr for Mac {
    type Err = InvalidMac;

    fn from_str(text: &str) -> Result<Self, InvalidMac> {
        let invalid = || InvalidMac(text.to_owned());
        let mut bytes = [0; 6];
        let mut parts = text.split(['-', ':']);
        for byte in &mut bytes {
            let part = parts.next().filter(|part| part.len() == 2);
            *byte = part
                .and_then(|part| u8::from_str_radix(part, 16).ok())
                .ok_or_else(invalid)?;
        }
        match parts.next() {
            None => Ok(Self(bytes)),
            Some(_) => Err(invalid()),
        }
    }
}

impl fmt::Display for Mac {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, f] = self.0;
        write!(to, "{a:02X}-{b:02X}-{c:02X}-{d:02X}-{e:02X}-{f:02X}")
    }
}

impl TryFrom<String> for Mac {
    type Error = InvalidMac;

    fn try_from(text: String) -> Result<Self, InvalidMac> {
        text.parse()
    }
}

impl From<Mac> for String {
    fn from(mac: Mac) -> Self {
        mac.to_string()
    }
}

/// Inclusive on both ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct MacRange {
    pub start_mac_address: Mac,
    pub end_mac_address: Mac,
}

impl MacRange {
    /// 4096 addresses in the Hyper-V range, like the pools of HNS.
    pub fn of_hyper_v(middle: [u8; 2]) -> Self {
        let high = middle[1] & 0xF0;
        Self {
            start_mac_address: Mac::of_hyper_v([middle[0], high, 0x00]),
            end_mac_address: Mac::of_hyper_v([middle[0], high | 0x0F, 0xFF]),
        }
    }

    pub fn first_free(&self, taken: impl Fn(Mac) -> bool) -> Option<Mac> {
        (self.start_mac_address.to_number()..=self.end_mac_address.to_number())
            .map(Mac::from_number)
            .find(|mac| !taken(*mac))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_separators_parse_and_hyphens_are_printed() {
        let mac: Mac = "0e:2A:0a:f4:03:05".parse().unwrap();
        assert_eq!(mac.to_string(), "0E-2A-0A-F4-03-05");
        assert_eq!(mac.with_colons(), "0e:2a:0a:f4:03:05");
        assert!("0e:2a:0a:f4:03".parse::<Mac>().is_err());
        assert!("0e:2a:0a:f4:03:05:06".parse::<Mac>().is_err());
    }

    #[test]
    fn first_free_skips_taken_addresses() {
        let pool = MacRange::of_hyper_v([0x52, 0xC3]);
        assert_eq!(pool.start_mac_address.to_string(), "00-15-5D-52-C0-00");
        assert_eq!(pool.end_mac_address.to_string(), "00-15-5D-52-CF-FF");
        let first = pool.start_mac_address;
        let next = pool.first_free(|mac| mac == first).unwrap();
        assert_eq!(next.to_string(), "00-15-5D-52-C0-01");
    }
}
