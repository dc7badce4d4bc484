//! `firewallRule`.

use casement_resource::{Diff, FirewallRule, Prior, Resource};

use super::{Kind, Place, wrong_prior};
use crate::platform::Result;

impl Kind for FirewallRule {
    fn look(&self, at: &Place<'_>) -> Result<Diff> {
        Ok(self.diff(&at.platform.firewall_rules(&self.name)?))
    }

    fn prior(&self, at: &Place<'_>) -> Result<Prior> {
        let saved = at.platform.save_firewall_rules(&self.name)?;
        Ok(Prior::FirewallRule(saved))
    }

    fn change(&self, at: &Place<'_>, _prior: &Prior, _earlier: Option<&Resource>) -> Result<()> {
        at.platform.set_firewall_rule(self)
    }

    fn undo(&self, at: &Place<'_>, prior: &Prior) -> Result<()> {
        let Prior::FirewallRule(saved) = prior else {
            return Err(wrong_prior("a firewall rule", prior));
        };
        at.platform.restore_firewall_rules(&self.name, saved)
    }
}
