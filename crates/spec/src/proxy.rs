//! HTTP proxy settings.

use serde::Serialize;

use crate::text::{checked_text, line_error};
use crate::{Account, Url};

checked_text! {
    /// A host, a domain with a leading dot, or a network that is reached without
    /// proxy.
    pub struct NoProxy("proxy exception", no_proxy_error);
}

fn no_proxy_error(text: &str) -> Option<String> {
    if text.contains(',') {
        return Some("list each of them as a separate item".to_owned());
    }
    if text.contains("://") || text.contains(char::is_whitespace) {
        return Some(
            "expected a form like `.shop.example`, `10.3.0.9` or `10.3.0.0/16`".to_owned(),
        );
    }
    line_error(text, 255)
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Proxy {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub http: Option<Url>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub https: Option<Url>,
    /// Only together with `http` or `https`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub credentials: Option<Account>,
    /// In addition to the networks and hosts of the cluster.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub no: Vec<NoProxy>,
}

impl Proxy {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
