//! The flags of kubelet and kube-proxy, by release.

use std::fmt;
use std::sync::LazyLock;

use crate::artifact::System;
use crate::minor::Minor;

/// A program whose flags are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Program {
    /// kubelet
    Kubelet,
    /// kube-proxy
    KubeProxy,
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Kubelet => "kubelet",
            Self::KubeProxy => "kube-proxy",
        })
    }
}

/// One flag of one program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flag {
    /// The program.
    pub program: Program,
    /// Without the dashes before it.
    pub name: &'static str,
    /// The only system whose program has it, if only one has.
    pub system: Option<System>,
    /// The first release with it; none where the oldest covered release has it.
    added: Option<Minor>,
    /// The first release without it.
    removed: Option<Minor>,
    /// Where it says so.
    pub source: &'static str,
}

/// Whether a program knows a flag. A program that does not know a flag that it is
/// given stops at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Known {
    /// It does.
    Yes,
    /// This release is the first that does.
    NotYet(Minor),
    /// This release was the first that did not any more.
    NoLonger(Minor),
    /// Only on the other system.
    ElsewhereOnly(System),
}

impl Flag {
    /// The first release with it; none where the oldest covered release has it.
    pub fn added_in(&self) -> Option<Minor> {
        self.added
    }

    /// The first release without it.
    pub fn removed_in(&self) -> Option<Minor> {
        self.removed
    }

    /// Whether the program of a release knows it on a system.
    pub fn known(&self, minor: Minor, system: System) -> Known {
        match (self.added, self.removed, self.system) {
            (Some(added), ..) if minor < added => Known::NotYet(added),
            (_, Some(removed), _) if minor >= removed => Known::NoLonger(removed),
            (.., Some(only)) if only != system => Known::ElsewhereOnly(only),
            _ => Known::Yes,
        }
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
        added: None,
        removed: Some(Minor::new(removed)),
        source: "kubernetes/kubernetes:CHANGELOG",
    }
}

static FLAGS: LazyLock<Vec<Flag>> = LazyLock::new(|| {
    let lines = lines(include_str!("../data/flags.txt"));
    let mut flags: Vec<Flag> = lines.filter_map(parse).collect();
    flags.extend_from_slice(BEFORE);
    flags
});

/// The lines of a table that are no comment.
pub(crate) fn lines(text: &'static str) -> impl Iterator<Item = &'static str> {
    text.lines().filter(|line| !line.starts_with('#'))
}

/// `kubelet  network-plugin  any  -, 1.24 removed`
fn parse(line: &'static str) -> Option<Flag> {
    let (words, history) = split(line, 3)?;
    let [program, name, system] = words.as_slice() else {
        return None;
    };
    let mut changes = history.split(", ");
    let added = match changes.next()? {
        "-" => None,
        minor => Some(minor.parse().ok()?),
    };
    let removed = match changes.next() {
        Some(change) => Some(change.strip_suffix(" removed")?.parse().ok()?),
        None => None,
    };
    Some(Flag {
        program: match *program {
            "kubelet" => Program::Kubelet,
            "kube-proxy" => Program::KubeProxy,
            _ => return None,
        },
        name,
        system: match *system {
            "any" => None,
            "windows" => Some(System::Windows),
            "linux" => Some(System::Linux),
            _ => return None,
        },
        added,
        removed,
        source: SOURCES,
    })
}

/// The first words of a line, and the rest.
pub(crate) fn split(line: &'static str, count: usize) -> Option<(Vec<&'static str>, &'static str)> {
    let (mut words, mut rest) = (Vec::new(), line);
    for _ in 0..count {
        let (word, after) = rest.split_once(' ')?;
        words.push(word);
        rest = after.trim_start();
    }
    Some((words, rest))
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
            assert!(
                flag.removed > flag.added || flag.removed.is_none(),
                "{flag:?}"
            );
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
