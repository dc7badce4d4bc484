//! What the modelled programs of a host have in common: the flags that their
//! services give them, who they are to the API server, and their logs.

pub(crate) mod client;
pub(crate) mod cni;
pub(crate) mod flanneld;
pub(crate) mod kube_proxy;
pub(crate) mod kubeadm;
pub(crate) mod kubelet;
pub(crate) mod net_conf;
pub(crate) mod node;
pub(crate) mod pace;
pub(crate) mod pods;
pub(crate) mod pull;

use casement_node::sim::{Sim, World};
use casement_resource::{ServiceDefinition, ServiceState};
use jiff::Timestamp;
use serde_json::Value;

use crate::host::disk;
use client::Identity;

pub use cni::Cni;
pub use kubelet::{Kubelet, Runtime, verdict};

/// The program of a service that runs.
pub(crate) struct Running<'a> {
    definition: &'a ServiceDefinition,
}

/// The program of a service, if that runs and casement defined it.
pub(crate) fn running<'a>(world: &'a World, name: &str) -> Option<Running<'a>> {
    let service = world.services.get(name)?;
    let definition = service.definition.as_ref()?;
    (service.state == ServiceState::Running).then_some(Running { definition })
}

impl Running<'_> {
    /// The file that it is.
    pub(crate) fn program(&self) -> &str {
        self.definition.program.first().map_or("", String::as_str)
    }

    /// The value of `--name=value`; of `--name` alone it is empty.
    pub(crate) fn flag(&self, name: &str) -> Option<&str> {
        let mut words = self.definition.program.iter().skip(1).rev();
        words.find_map(|word| {
            let rest = word.strip_prefix("--")?.strip_prefix(name)?;
            match rest.strip_prefix('=') {
                Some(value) => Some(value),
                None => rest.is_empty().then_some(""),
            }
        })
    }

    /// A variable of its environment.
    pub(crate) fn variable(&self, name: &str) -> Option<&str> {
        self.definition.environment.get(name).map(String::as_str)
    }

    /// All that it was started with.
    pub(crate) fn words(&self) -> String {
        self.definition.program.join(" ")
    }
}

/// Who a program is by its kubeconfig, which points at the kubelet's certificate.
pub(crate) fn identity(world: &World, kubeconfig: &str) -> Result<Identity, String> {
    let text = disk::text(world, kubeconfig).ok_or_else(|| not_found(kubeconfig))?;
    let unusable = |what: &str| format!("invalid configuration: {what} in {kubeconfig}");
    let document: Value =
        serde_json::from_str(&text).map_err(|error| unusable(&error.to_string()))?;
    let cluster = &document["clusters"][0]["cluster"];
    let server = cluster["server"].as_str().unwrap_or_default();
    let ca = cluster["certificate-authority-data"].as_str();
    let ca = ca.and_then(disk::decoded);
    let certificate = document["users"][0]["user"]["client-certificate"].as_str();
    let certificate = certificate.ok_or_else(|| unusable("no client-certificate"))?;
    let pem = disk::text(world, certificate);
    Ok(Identity {
        server: server.trim_start_matches("https://").to_owned(),
        ca: ca.ok_or_else(|| unusable("no certificate-authority-data"))?,
        pem: pem.ok_or_else(|| not_found(certificate))?,
    })
}

/// What Go says of a file that is not there on Windows.
pub(crate) fn not_found(path: &str) -> String {
    format!("open {path}: The system cannot find the file specified.")
}

/// How bad a line of a log is.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Severity {
    Info,
    Error,
}

/// Writes a line into a service's log, as Kubernetes' programs write it. What was
/// said last is not said again: a real program repeats itself every second.
pub(crate) fn say(sim: &Sim, service: &str, severity: Severity, from: &str, text: &str) {
    let letter = match severity {
        Severity::Info => 'I',
        Severity::Error => 'E',
    };
    let stamp = Timestamp::now().strftime("%m%d %H:%M:%S%.6f").to_string();
    sim.meddle(|world| {
        let Some(running) = running(world, service) else {
            return;
        };
        let Some(path) = running.definition.log_file.clone() else {
            return;
        };
        let before = disk::text(world, path.as_str()).unwrap_or_default();
        let said = |line: &str| line.split_once("] ").is_some_and(|(_, said)| said == text);
        if before.lines().next_back().is_some_and(said) {
            return;
        }
        let line = format!("{before}{letter}{stamp}    4012 {from}] {text}\n");
        disk::put_in(world, &path, &line);
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bare_windows;
    use crate::fixture::service;

    #[test]
    fn the_last_flag_of_a_name_counts() {
        let mut world = bare_windows("win1", [127, 18, 0, 11].into());
        let words = ["d.exe", "--iface=10.0.0.1", "--ip-masq", "--iface=10.0.0.2"];
        world.services.extend([service("d", &words)]);
        let running = running(&world, "d").unwrap();
        assert_eq!(running.flag("iface"), Some("10.0.0.2"));
        assert_eq!(running.flag("ip-masq"), Some(""));
        assert_eq!(running.flag("ip"), None);
    }

    #[test]
    fn a_log_does_not_repeat_itself_and_is_silent_once_the_service_is_stopped() {
        let mut world = bare_windows("win1", [127, 18, 0, 11].into());
        world.services.extend([service("d", &["d.exe"])]);
        let sim = Sim::new(world);
        let log = || disk::text(&sim.world(), r"C:\var\log\d\d.log").unwrap_or_default();
        for text in ["one", "one", "two", "one"] {
            say(&sim, "d", Severity::Error, "d.go:1", text);
        }
        assert_eq!(log().lines().count(), 3, "{}", log());
        sim.meddle(|world| world.services.get_mut("d").unwrap().state = ServiceState::Stopped);
        say(&sim, "d", Severity::Info, "d.go:1", "late");
        assert_eq!(log().lines().count(), 3, "{}", log());
    }
}
