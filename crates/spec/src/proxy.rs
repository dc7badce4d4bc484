//! The way out, where there is no direct one.

use serde::Serialize;

use crate::text::{checked_text, line_fault};
use crate::{Account, Url};

checked_text! {
    /// Where no proxy is used: a host, a domain with its dot, or a network.
    pub struct NoProxy("host, domain or network without proxy", no_proxy_fault);
}

fn no_proxy_fault(text: &str) -> Option<String> {
    if text.contains(',') {
        return Some("each stands as an item of its own in the list".to_owned());
    }
    if text.contains("://") || text.contains(char::is_whitespace) {
        return Some("it is written as `.shop.example`, `10.3.0.9` or `10.3.0.0/16`".to_owned());
    }
    line_fault(text, 255)
}

/// The proxy that hosts use.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Proxy {
    /// For `http://`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub http: Option<Url>,
    /// For `https://`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub https: Option<Url>,
    /// The account there; only together with `http` or `https`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub credentials: Option<Account>,
    /// Where none is used, beside the cluster's own networks and hosts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub no: Vec<NoProxy>,
}

impl Proxy {
    /// Whether nothing is said.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
