//! The flags of kubelet and kube-proxy, by release.

use std::sync::LazyLock;

use crate::artifact::System;
use crate::known::{Known, Lifetime, Line, Program, lines, parse};
use crate::minor::Minor;

/// One flag of one program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flag {
    /// The program.
    pub program: Program,
    /// Without the dashes before it.
    pub name: &'static str,
    /// The only system whose program has it, if only one has.
    pub system: Option<System>,
    lifetime: Lifetime,
    /// Where it says so.
    pub source: &'static str,
}

impl Flag {
    /// The first release with it; none where the oldest covered release has it.
    pub fn added_in(&self) -> Option<Minor> {
        self.lifetime.added
    }

    /// The first release without it.
    pub fn removed_in(&self) -> Option<Minor> {
        self.lifetime.removed
    }

    /// Whether the program of a release knows it on a system.
    pub fn known(&self, minor: Minor, system: System) -> Known {
        self.lifetime.known(minor, system, self.system)
    }

    /// What to do instead, where that is known.
    pub fn instead(&self) -> Option<&'static str> {
        let row = INSTEAD.iter().find(|(names, _)| names.contains(&self.name));
        row.map(|(_, instead)| *instead)
    }
}

/// What took the place of flags that people still write.
const INSTEAD: &[(&[&str], &str)] = &[
    (
        &[
            "network-plugin",
            "cni-bin-dir",
            "cni-conf-dir",
            "cni-cache-dir",
            "network-plugin-mtu",
        ],
        "leave it out: containerd reads the CNI folders of its own configuration",
    ),
    (
        &["image-pull-progress-deadline"],
        "image_pull_progress_timeout in containerd's configuration",
    ),
    (
        &["docker-endpoint", "container-runtime"],
        "containerRuntimeEndpoint in the kubelet's configuration",
    ),
    (
        &["pod-infra-container-image"],
        "the sandbox image in containerd's configuration",
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
        "leave it out: the service that hosts the program writes and rotates its log",
    ),
    (&["allow-privileged"], "leave it out: it is always allowed"),
    (
        &["register-schedulable"],
        "registerWithTaints in the kubelet's configuration",
    ),
];

const SOURCES: &str =
    "kubernetes/kubernetes:cmd/kubelet/app/options, cmd/kube-proxy/app of v1.21.0 to v1.36.4";

/// What old instructions still say, and no covered release knows.
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

/// All flags, the kubelet's first.
pub fn flags() -> &'static [Flag] {
    &FLAGS
}

/// A flag by its name, with or without dashes before it.
pub fn flag(program: Program, name: &str) -> Option<&'static Flag> {
    let name = name.trim_start_matches('-');
    let mut flags = FLAGS.iter();
    flags.find(|flag| flag.program == program && flag.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_table_is_read() {
        let count = lines(include_str!("../data/flags.txt")).count();
        assert_eq!(flags().len(), count + BEFORE.len());
        assert!(count > 250);
        for flag in flags() {
            let Lifetime { added, removed } = flag.lifetime;
            assert!(removed > added || removed.is_none(), "{flag:?}");
        }
    }

    #[test]
    fn flags_that_bite_leave_when_they_left() {
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
    fn a_flag_is_known_in_its_time_and_on_its_system() {
        let known = |program, name, minor, system| {
            flag(program, name).map(|flag| flag.known(Minor::new(minor), system))
        };
        let (kubelet, proxy) = (Program::Kubelet, Program::KubeProxy);
        let (windows, linux) = (System::Windows, System::Linux);
        let since = Some(Known::NotYet(Minor::new(28)));
        assert_eq!(known(kubelet, "config-dir", 27, linux), since);
        assert_eq!(known(kubelet, "config-dir", 28, linux), Some(Known::Yes));
        let gone = Some(Known::NoLonger(Minor::new(35)));
        assert_eq!(
            known(kubelet, "pod-infra-container-image", 36, windows),
            gone
        );
        let yes = Some(Known::Yes);
        assert_eq!(
            known(kubelet, "pod-infra-container-image", 34, windows),
            yes
        );
        let there = Some(Known::ElsewhereOnly(System::Windows));
        assert_eq!(known(proxy, "source-vip", 36, linux), there);
        assert_eq!(known(proxy, "source-vip", 36, windows), yes);
    }

    #[test]
    fn each_replacement_is_for_a_flag_that_is_known() {
        for name in INSTEAD.iter().flat_map(|(names, _)| *names) {
            assert!(flag(Program::Kubelet, name).is_some(), "{name}");
        }
    }
}
