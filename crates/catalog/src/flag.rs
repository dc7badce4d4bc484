//! The flags of kubelet and kube-proxy by release.

use std::sync::LazyLock;

use crate::artifact::System;
use crate::known::{Known, Lifetime, Line, Program, lines, parse};
use crate::minor::Minor;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flag {
    pub program: Program,
    /// Without leading dashes.
    pub name: &'static str,
    /// Set if only one operating system has the flag.
    pub system: Option<System>,
    lifetime: Lifetime,
    pub source: &'static str,
}

impl Flag {
    /// `None` if the oldest covered release has the flag.
    pub fn added_in(&self) -> Option<Minor> {
        self.lifetime.added
    }

    pub fn removed_in(&self) -> Option<Minor> {
        self.lifetime.removed
    }

    pub fn known(&self, minor: Minor, system: System) -> Known {
        self.lifetime.known(minor, system, self.system)
    }

    pub fn instead(&self) -> Option<&'static str> {
        let row = INSTEAD.iter().find(|(names, _)| names.contains(&self.name));
        row.map(|(_, instead)| *instead)
    }
}

/// Replacements for removed flags that are still common.
const INSTEAD: &[(&[&str], &str)] = &[
    (
        &[
            "network-plugin",
            "cni-bin-dir",
            "cni-conf-dir",
            "cni-cache-dir",
            "network-plugin-mtu",
        ],
        "remove it: containerd reads the CNI directories from its own configuration",
    ),
    (
        &["image-pull-progress-deadline"],
        "use image_pull_progress_timeout in the containerd configuration",
    ),
    (
        &["docker-endpoint", "container-runtime"],
        "use containerRuntimeEndpoint in the kubelet configuration",
    ),
    (
        &["pod-infra-container-image"],
        "set the sandbox image in the containerd configuration",
    ),
    (
        &[
            "log-dir",
            "log-file",
            "log-file-max-size",
            "logtostderr",
            "alsologtostderr",
            "stderrthreshold",
        ],
        "remove it: the service wrapper writes and rotates the log",
    ),
    (&["allow-privileged"], "remove it: it is always allowed"),
    (
        &["register-schedulable"],
        "use registerWithTaints in the kubelet configuration",
    ),
];

const SOURCES: &str =
    "kubernetes/kubernetes:cmd/kubelet/app/options, cmd/kube-proxy/app of v1.21.0 to v1.36.4";

/// Flags from old guides that no covered release has.
const BEFORE: &[Flag] = &[
    older(Program::Kubelet, "allow-privileged", 15),
    older(Program::Kubelet, "require-kubeconfig", 10),
    older(Program::Kubelet, "api-servers", 8),
    older(Program::Kubelet, "cadvisor-port", 12),
];

const fn older(program: Program, name: &'static str, removed: u16) -> Flag {
    Flag {
        program,
        name,
        system: None,
        lifetime: Lifetime {
            added: None,
            removed: Some(Minor::new(removed)),
        },
        source: "kubernetes/kubernetes:CHANGELOG",
    }
}

static FLAGS: LazyLock<Vec<Flag>> = LazyLock::new(|| {
    let lines = lines(include_str!("../data/flags.txt"));
    let mut flags: Vec<Flag> = lines.filter_map(parse).map(Flag::from).collect();
    flags.extend_from_slice(BEFORE);
    flags
});

impl From<Line> for Flag {
    fn from(line: Line) -> Self {
        Self {
            program: line.program,
            name: line.name,
            system: line.system,
            lifetime: line.lifetime,
            source: SOURCES,
        }
    }
}

pub fn flags() -> &'static [Flag] {
    &FLAGS
}

/// Accepts leading dashes.
pub fn flag(program: Program, name: &str) -> Option<&'static Flag> {
    let name = name.trim_start_matches('-');
    let mut flags = FLAGS.iter();
    flags.find(|flag| flag.program == program && flag.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_parsed() {
        let count = lines(include_str!("../data/flags.txt")).count();
        assert_eq!(flags().len(), count + BEFORE.len());
        assert!(count > 250);
        for flag in flags() {
            let Lifetime { added, removed } = flag.lifetime;
            assert!(removed > added || removed.is_none(), "{flag:?}");
        }
    }

    #[test]
    fn removed_flags_have_their_release() {
        let removed = |name| flag(Program::Kubelet, name).and_then(Flag::removed_in);
        for (name, minor) in [
            ("network-plugin", 24),
            ("--cni-conf-dir", 24),
            ("image-pull-progress-deadline", 24),
            ("log-dir", 26),
            ("logtostderr", 26),
            ("container-runtime", 27),
            ("pod-infra-container-image", 35),
            ("allow-privileged", 15),
        ] {
            assert_eq!(removed(name), Some(Minor::new(minor)), "{name}");
        }
        for name in ["cgroups-per-qos", "node-ip", "hostname-override", "config"] {
            assert_eq!(removed(name), None, "{name}");
        }
        assert_eq!(flag(Program::Kubelet, "no-such-flag"), None);
    }

    #[test]
    fn flag_is_known_in_its_releases_and_on_its_system() {
        let known = |program, name, minor, system| {
            flag(program, name).map(|flag| flag.known(Minor::new(minor), system))
        };
        let (kubelet, proxy) = (Program::Kubelet, Program::KubeProxy);
        let (windows, linux) = (System::Windows, System::Linux);
        let since = Some(Known::NotYet(Minor::new(28)));
        assert_eq!(known(kubelet, "config-dir", 27, linux), since);
        assert_eq!(known(kubelet, "config-dir", 28, linux), Some(Known::Yes));
        let removed = Some(Known::NoLonger(Minor::new(35)));
        assert_eq!(
            known(kubelet, "pod-infra-container-image", 36, windows),
            removed
        );
        let yes = Some(Known::Yes);
        assert_eq!(
            known(kubelet, "pod-infra-container-image", 34, windows),
            yes
        );
        let windows_only = Some(Known::OnlyOn(System::Windows));
        assert_eq!(known(proxy, "source-vip", 36, linux), windows_only);
        assert_eq!(known(proxy, "source-vip", 36, windows), yes);
    }

    #[test]
    fn each_replacement_is_for_a_listed_flag() {
        for name in INSTEAD.iter().flat_map(|(names, _)| *names) {
            assert!(flag(Program::Kubelet, name).is_some(), "{name}");
        }
    }
}
