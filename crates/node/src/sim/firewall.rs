//! The firewall of a simulated host: a name may belong to several rules.

use casement_resource::{FirewallRule, FirewallRuleFacts};

use super::{Sim, refused};
use crate::platform::{Firewall, Result};

impl Firewall for Sim {
    fn firewall_rules(&self, name: &str) -> Result<Vec<FirewallRuleFacts>> {
        self.read("firewall_rules")?;
        let world = self.lock();
        let rules = world.firewall.get(&name.to_lowercase());
        Ok(rules.cloned().unwrap_or_default())
    }

    fn save_firewall_rules(&self, name: &str) -> Result<Vec<serde_json::Value>> {
        let rules = self.firewall_rules(name)?;
        let saved: std::result::Result<_, serde_json::Error> =
            rules.iter().map(serde_json::to_value).collect();
        saved.map_err(|error| refused("save_firewall_rules", &error.to_string()))
    }

    fn set_firewall_rule(&self, rule: &FirewallRule) -> Result<()> {
        self.replace(
            &rule.name,
            vec![FirewallRuleFacts {
                protocol: rule.protocol.number(),
                ports: rule.port.to_string(),
                inbound: true,
                allows: true,
                enabled: true,
                every_profile: true,
                limits: Vec::new(),
            }],
        )
    }

    fn restore_firewall_rules(&self, name: &str, saved: &[serde_json::Value]) -> Result<()> {
        let rules = saved.iter().cloned().map(serde_json::from_value);
        let rules: std::result::Result<_, serde_json::Error> = rules.collect();
        let rules = rules.map_err(|error| refused("restore_firewall_rules", &error.to_string()))?;
        self.replace(name, rules)
    }
}

impl Sim {
    /// In two changes, as on Windows: the process may be killed between them.
    fn replace(&self, name: &str, rules: Vec<FirewallRuleFacts>) -> Result<()> {
        let key = name.to_lowercase();
        self.change(&format!("remove_firewall_rules {key}"), |world| {
            world.firewall.remove(&key);
            Ok(())
        })?;
        if rules.is_empty() {
            return Ok(());
        }
        self.change(&format!("add_firewall_rules {key}"), |world| {
            world.firewall.insert(key.clone(), rules);
            Ok(())
        })
    }
}
