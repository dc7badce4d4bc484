//! How nodes join.

use casement_diag::Diagnostic;
use casement_source::foreign::Value;

use crate::context::Context;
use crate::rule::{Rule, rule};

pub(crate) const RULES: &[Rule] = &[rule!(
    "CAS-JOIN-010",
    Warning,
    Files,
    "L080",
    "a join token lies in a file",
    token
)];

/// What `casement render` shows in the place of a token.
const NONE: &str = "000000.0000000000000000";

/// The tokens themselves are never shown, nor what is left of their time known:
/// one that was written down is either stale or still good for somebody else.
fn token(context: &Context<'_>) -> Vec<Diagnostic> {
    let mut findings = Vec::new();
    for document in context.kubeadm_kind("JoinConfiguration") {
        for place in [
            "discovery.bootstrapToken.token",
            "discovery.tlsBootstrapToken",
        ] {
            let given = |value: &Value<'_>| value.text().is_some_and(|text| text != NONE);
            let Some(value) = document.at(place).filter(given) else {
                continue;
            };
            findings.push(
                value
                    .warning(format!("`{place}` is a token, good for any machine while it lives, and for none after"))
                    .help("make a token when a node joins, and delete it after; `casement apply` does both"),
            );
        }
    }
    for document in context.kubeadm_kind("InitConfiguration") {
        let tokens = document.get("bootstrapTokens");
        for token in tokens.map(|list| list.items()).unwrap_or_default() {
            let forever = token.get("ttl").filter(|ttl| {
                let text = ttl.text().unwrap_or_default();
                text.starts_with('0') && text.trim_matches(['0', 'h', 'm', 's']).is_empty()
            });
            if let Some(ttl) = forever {
                let text = ttl.text().unwrap_or_default();
                findings.push(
                    ttl.warning(format!(
                        "`ttl: {text}` means for ever; kubeadm's own is `24h0m0s`"
                    ))
                    .help("leave `bootstrapTokens` out, and make a token when a node joins"),
                );
            } else if let Some(value) = token.get("token").filter(|value| value.text().is_some()) {
                findings.push(
                    value
                        .warning("the token is fixed here; one that kubeadm makes is known to nobody beforehand")
                        .help("leave `bootstrapTokens` out, and make a token when a node joins"),
                );
            }
        }
    }
    findings
}
