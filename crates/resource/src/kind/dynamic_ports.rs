//! `dynamicPorts`: the ports that the system gives to those who ask for none.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Change, Diff, Protocol};

/// The range that should be given out. Without direct server return, each load
/// balancer of a Service keeps 64 ports of it to itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DynamicPorts {
    /// TCP or UDP.
    pub protocol: Protocol,
    /// The first port.
    pub first: u16,
    /// How many.
    pub count: u16,
}

/// The range as found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DynamicPortsFacts {
    /// The first port.
    pub first: u16,
    /// How many.
    pub count: u16,
}

impl fmt::Display for DynamicPortsFacts {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let last = u32::from(self.first) + u32::from(self.count).saturating_sub(1);
        write!(formatter, "{}–{last}", self.first)
    }
}

impl DynamicPorts {
    /// What is to change.
    #[must_use]
    pub fn diff(&self, facts: DynamicPortsFacts) -> Diff {
        let wanted = DynamicPortsFacts {
            first: self.first,
            count: self.count,
        };
        if facts == wanted {
            return Diff::right(format!("already {facts}"));
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
        let right = |first, count| wanted.diff(DynamicPortsFacts { first, count }).is_right();
        assert!(right(34000, 31536));
        assert!(!right(34000, 1000) && !right(49152, 31536));
        let range = DynamicPortsFacts {
            first: 34000,
            count: 31536,
        };
        assert_eq!(range.to_string(), "34000–65535");
    }
}
