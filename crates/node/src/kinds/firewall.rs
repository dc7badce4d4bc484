//! `firewallRule`.

use casement_resource::{Diff, FirewallRule, Prior, Resource};

use super::{Kind, KindContext, wrong_prior};
use crate::platform::Result;

impl Kind for FirewallRule {
    fn observe(&self, context: &KindContext<'_>) -> Result<Diff> {
        Ok(self.diff(&context.platform.firewall_rules(&self.name)?))
    }

    fn prior(&self, context: &KindContext<'_>) -> Result<Prior> {
        let saved = context.platform.save_firewall_rules(&self.name)?;
        Ok(Prior::FirewallRule(saved))
    }

    fn apply(
        &self,
        context: &KindContext<'_>,
        _prior: &Prior,
        _previous: Option<&Resource>,
    ) -> Result<()> {
        context.platform.set_firewall_rule(self)
    }

    fn undo(&self, context: &KindContext<'_>, prior: &Prior) -> Result<()> {
        let Prior::FirewallRule(saved) = prior else {
            return Err(wrong_prior("a firewall rule", prior));
        };
        context.platform.restore_firewall_rules(&self.name, saved)
    }
}
