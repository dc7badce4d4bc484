//! `dynamicPorts`: the range of ephemeral ports.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Change, Diff, Protocol};

/// Without direct server return, each Service's load balancer reserves 64 ports of the
/// range.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DynamicPorts {
    /// TCP or UDP.
    pub protocol: Protocol,
    pub first: u16,
    pub count: u16,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DynamicPortsFacts {
    pub first: u16,
    pub count: u16,
}

impl fmt::Display for DynamicPortsFacts {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let last = u32::from(self.first) + u32::from(self.count).saturating_sub(1);
        write!(formatter, "{}–{last}", self.first)
    }
}

impl DynamicPorts {
    #[must_use]
    pub fn diff(&self, facts: DynamicPortsFacts) -> Diff {
        let wanted = DynamicPortsFacts {
            first: self.first,
            count: self.count,
        };
        if facts == wanted {
            return Diff::unchanged(format!("already {facts}"));
        }
        Diff::Changes(vec![Change::field("range", facts, wanted)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_count() {
        let wanted = DynamicPorts {
            protocol: Protocol::Tcp,
            first: 34000,
            count: 31536,
        };
        let right = |first, count| wanted.diff(DynamicPortsFacts { first, count }).in_sync();
        assert!(right(34000, 31536));
        assert!(!right(34000, 1000) && !right(49152, 31536));
        let range = DynamicPortsFacts {
            first: 34000,
            count: 31536,
        };
        assert_eq!(range.to_string(), "34000–65535");
    }
}
