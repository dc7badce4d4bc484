//! The configuration fields of kubelet and kube-proxy by release.

use std::sync::LazyLock;

use crate::artifact::System;
use crate::known::{Known, Lifetime, Line, Program, lines, parse};
use crate::minor::Minor;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigField {
    pub program: Program,
    /// As in the file; nested fields as `winkernel.sourceVip`.
    pub name: &'static str,
    lifetime: Lifetime,
    pub source: &'static str,
}

impl ConfigField {
    /// `None` if the oldest covered release has the field.
    pub fn added_in(&self) -> Option<Minor> {
        self.lifetime.added
    }

    pub fn removed_in(&self) -> Option<Minor> {
        self.lifetime.removed
    }

    pub fn known(&self, minor: Minor) -> Known {
        // The types are the same on every system.
        self.lifetime.known(minor, System::Windows, None)
    }
}

impl From<Line> for ConfigField {
    fn from(line: Line) -> Self {
        Self {
            program: line.program,
            name: line.name,
            lifetime: line.lifetime,
            source: "kubernetes/kubelet:config/v1beta1/types.go, kubernetes/kube-proxy:config/v1alpha1/types.go of v0.21.0 to v0.36.4",
        }
    }
}

static FIELDS: LazyLock<Vec<ConfigField>> = LazyLock::new(|| {
    let lines = lines(include_str!("../data/fields.txt"));
    lines.filter_map(parse).map(ConfigField::from).collect()
});

pub fn config_fields() -> &'static [ConfigField] {
    &FIELDS
}

/// Shared types are not expanded: their fields are not listed.
pub fn config_field(program: Program, name: &str) -> Option<&'static ConfigField> {
    let mut fields = FIELDS.iter();
    fields.find(|field| field.program == program && field.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_parsed() {
        let count = lines(include_str!("../data/fields.txt")).count();
        assert_eq!(config_fields().len(), count);
        assert!(count > 180);
    }

    #[test]
    fn fields_are_known_from_their_release_on() {
        let since = |name| config_field(Program::Kubelet, name).and_then(ConfigField::added_in);
        for (name, minor) in [
            ("containerRuntimeEndpoint", 27),
            ("registerWithTaints", 23),
            ("failCgroupV1", 31),
            ("enableSystemLogQuery", 27),
        ] {
            assert_eq!(since(name), Some(Minor::new(minor)), "{name}");
        }
        let proxy = |name| config_field(Program::KubeProxy, name).unwrap();
        assert_eq!(proxy("winkernel.sourceVip").added_in(), None);
        let since = Known::NotYet(Minor::new(31));
        assert_eq!(proxy("windowsRunAsService").known(Minor::new(30)), since);
        assert_eq!(proxy("udpIdleTimeout").removed_in(), Some(Minor::new(26)));
        assert_eq!(config_field(Program::Kubelet, "networkPlugin"), None);
    }
}
