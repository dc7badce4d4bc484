//! MAC addresses and the pools that they come from.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// An Ethernet address; Windows writes it with hyphens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Mac([u8; 6]);

/// The text is no MAC address.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` is no MAC address")]
pub struct NotAMac(String);

impl Mac {
    /// An address of Microsoft's range for virtual machines.
    pub fn of_hyper_v(low: [u8; 3]) -> Self {
        Self([0x00, 0x15, 0x5D, low[0], low[1], low[2]])
    }

    /// As Linux writes it.
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
    type Err = NotAMac;

    fn from_str(text: &str) -> Result<Self, NotAMac> {
        let wrong = || NotAMac(text.to_owned());
        let mut bytes = [0; 6];
        let mut parts = text.split(['-', ':']);
        for byte in &mut bytes {
            let part = parts.next().filter(|part| part.len() == 2);
            *byte = part
                .and_then(|part| u8::from_str_radix(part, 16).ok())
                .ok_or_else(wrong)?;
        }
        match parts.next() {
            None => Ok(Self(bytes)),
            Some(_) => Err(wrong()),
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
    type Error = NotAMac;

    fn try_from(text: String) -> Result<Self, NotAMac> {
        text.parse()
    }
}

impl From<Mac> for String {
    fn from(mac: Mac) -> Self {
        mac.to_string()
    }
}

/// A part of a network's pool, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
#[allow(missing_docs)]
pub struct MacRange {
    pub start_mac_address: Mac,
    pub end_mac_address: Mac,
}

impl MacRange {
    /// 4096 addresses of Microsoft's range, as HNS picks them.
    pub fn of_hyper_v(middle: [u8; 2]) -> Self {
        let high = middle[1] & 0xF0;
        Self {
            start_mac_address: Mac::of_hyper_v([middle[0], high, 0x00]),
            end_mac_address: Mac::of_hyper_v([middle[0], high | 0x0F, 0xFF]),
        }
    }

    /// The first address for which `taken` is false.
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
    fn both_spellings_are_read_and_hyphens_are_written() {
        let mac: Mac = "0e:2A:0a:f4:03:05".parse().unwrap();
        assert_eq!(mac.to_string(), "0E-2A-0A-F4-03-05");
        assert_eq!(mac.with_colons(), "0e:2a:0a:f4:03:05");
        assert!("0e:2a:0a:f4:03".parse::<Mac>().is_err());
        assert!("0e:2a:0a:f4:03:05:06".parse::<Mac>().is_err());
    }

    #[test]
    fn a_pool_gives_the_first_free_address() {
        let pool = MacRange::of_hyper_v([0x52, 0xC3]);
        assert_eq!(pool.start_mac_address.to_string(), "00-15-5D-52-C0-00");
        assert_eq!(pool.end_mac_address.to_string(), "00-15-5D-52-CF-FF");
        let first = pool.start_mac_address;
        let next = pool.first_free(|mac| mac == first).unwrap();
        assert_eq!(next.to_string(), "00-15-5D-52-C0-01");
    }
}
