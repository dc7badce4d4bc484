//! `firewallRule`: planned for a host, and left to a person
//! until this agent has the calls for it.
//!
//! The controller does not send it; a document that holds one all the same is
//! answered with what is missing, never with a step that did nothing.

use casement_resource::{Code, Diff, Failure, FirewallRule, Prior, Resource};

use super::{Kind, Place};
use crate::platform::Result;

fn not_yet<T>(what: String) -> Result<T> {
    Err(Failure::new(
        Code::Unsupported,
        format!("this agent cannot make the {what}"),
        "`casement render firewall` prints the commands",
    ))
}

impl Kind for FirewallRule {
    fn look(&self, _at: &Place<'_>) -> Result<Diff> {
        not_yet(format!("firewall rule `{}`", self.name))
    }

    fn prior(&self, _at: &Place<'_>) -> Result<Prior> {
        not_yet(format!("firewall rule `{}`", self.name))
    }

    fn change(&self, _at: &Place<'_>, _prior: &Prior, _earlier: Option<&Resource>) -> Result<()> {
        not_yet(format!("firewall rule `{}`", self.name))
    }

    fn undo(&self, _at: &Place<'_>, _prior: &Prior) -> Result<()> {
        Ok(())
    }
}
