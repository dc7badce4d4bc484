//! `render firewall`, `defender` and `env`.

use std::collections::BTreeMap;

use casement_resource::{Exclusion, FirewallRule};
use serde::Serialize;

use super::{HostFiles, Named, document, lines};
use crate::host_environment;
use crate::steps::PlanError;

#[derive(Serialize)]
struct Environment {
    /// Entries of the machine-wide PATH.
    path: Vec<String>,
    /// Variables by service.
    services: BTreeMap<String, BTreeMap<String, String>>,
}

impl HostFiles<'_> {
    pub(super) fn firewall(&self) -> Vec<Named> {
        let rules = host_environment::firewall(self.kubelet.cluster);
        let windows = self.windows();
        let command = if windows { advfirewall } else { iptables };
        let commands: Vec<String> = rules.iter().map(command).collect();
        let name = if windows {
            "firewall.cmd"
        } else {
            "firewall.sh"
        };
        vec![
            document("firewall.json", &rules),
            lines(name, &commands, windows),
        ]
    }

    pub(super) fn defender(&self) -> Vec<Named> {
        let kubelet = &self.kubelet;
        let exclusions = host_environment::defender(
            kubelet.cluster,
            kubelet.host,
            kubelet.release,
            kubelet.paths,
        );
        if exclusions.is_empty() {
            return Vec::new();
        }
        let commands: Vec<String> = exclusions
            .iter()
            .map(|one| match &one.exclusion {
                Exclusion::Path(path) => {
                    format!("Add-MpPreference -ExclusionPath {}", quoted(path))
                }
                Exclusion::Process(path) => {
                    format!("Add-MpPreference -ExclusionProcess {}", quoted(path))
                }
            })
            .collect();
        vec![
            document("defender.json", &exclusions),
            lines("defender.ps1", &commands, true),
        ]
    }

    pub(super) fn env(&self) -> Result<Vec<Named>, PlanError> {
        let definitions = self.definitions()?.into_iter();
        let services = definitions
            .filter(|definition| !definition.environment.is_empty())
            .map(|definition| (definition.name, definition.environment));
        let path = self.windows().then(|| self.kubelet.paths.programs.clone());
        let environment = Environment {
            path: path.into_iter().collect(),
            services: services.collect(),
        };
        Ok(vec![document("env.json", &environment)])
    }
}

fn advfirewall(rule: &FirewallRule) -> String {
    format!(
        "netsh advfirewall firewall add rule name=\"{}\" dir=in action=allow protocol={} localport={} profile=any",
        rule.name, rule.protocol, rule.port
    )
}

fn iptables(rule: &FirewallRule) -> String {
    format!(
        "iptables -A INPUT -p {} --dport {} -m comment --comment '{}' -j ACCEPT",
        rule.protocol, rule.port, rule.name
    )
}

/// A literal PowerShell string; quotes inside are doubled.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}
