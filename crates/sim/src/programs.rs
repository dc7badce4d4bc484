//! Shared parts of the modeled programs of a host: the flags of their services, their
//! identity at the API server, and their logs.

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
pub use kubelet::{KubeletState, Runtime, evaluate};

pub(crate) struct RunningService<'a> {
    definition: &'a ServiceDefinition,
}

/// The service, if it is running and defined by casement.
pub(crate) fn running<'a>(world: &'a World, name: &str) -> Option<RunningService<'a>> {
    let service = world.services.get(name)?;
    let definition = service.definition.as_ref()?;
    (service.state == ServiceState::Running).then_some(RunningService { definition })
}

impl RunningService<'_> {
    pub(crate) fn program(&self) -> &str {
        self.definition.program.first().map_or("", String::as_str)
    }

    /// The value of `--name=value`, or an empty string for a bare `--name`. The last one counts.
    pub(crate) fn flag(&self, name: &str) -> Option<&str> {
        let mut arguments = self.definition.program.iter().skip(1).rev();
        arguments.find_map(|argument| {
            let rest = argument.strip_prefix("--")?.strip_prefix(name)?;
            match rest.strip_prefix('=') {
                Some(value) => Some(value),
                None => rest.is_empty().then_some(""),
            }
        })
    }

    pub(crate) fn variable(&self, name: &str) -> Option<&str> {
        self.definition.environment.get(name).map(String::as_str)
    }

    pub(crate) fn command_line(&self) -> String {
        self.definition.program.join(" ")
    }
}

/// The identity in a program's kubeconfig, which refers to the kubelet's certificate.
pub(crate) fn identity(world: &World, kubeconfig: &str) -> Result<Identity, String> {
    let text = disk::text(world, kubeconfig).ok_or_else(|| not_found(kubeconfig))?;
    let invalid = |problem: &str| format!("invalid configuration: {problem} in {kubeconfig}");
    let document: Value =
        serde_json::from_str(&text).map_err(|error| invalid(&error.to_string()))?;
    let cluster = &document["clusters"][0]["cluster"];
    let server = cluster["server"].as_str().unwrap_or_default();
    let ca = cluster["certificate-authority-data"].as_str();
    let ca = ca.and_then(disk::decode_base64);
    let certificate = document["users"][0]["user"]["client-certificate"].as_str();
    let certificate = certificate.ok_or_else(|| invalid("no client-certificate"))?;
    let pem = disk::text(world, certificate);
    Ok(Identity {
        server: server.trim_start_matches("https://").to_owned(),
        ca: ca.ok_or_else(|| invalid("no certificate-authority-data"))?,
        pem: pem.ok_or_else(|| not_found(certificate))?,
    })
}

/// Go's error message for a missing file on Windows.
pub(crate) fn not_found(path: &str) -> String {
    format!("open {path}: The system cannot find the file specified.")
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Severity {
    Info,
    Error,
}

/// Appends a line to a service's log in klog format. Unlike a real program, which repeats
/// itself every second, it skips a message equal to the last one.
pub(crate) fn log(sim: &Sim, service: &str, severity: Severity, source: &str, text: &str) {
    let letter = match severity {
        Severity::Info => 'I',
        Severity::Error => 'E',
    };
    let stamp = Timestamp::now().strftime("%m%d %H:%M:%S%.6f").to_string();
    sim.modify_world(|world| {
        let Some(running) = running(world, service) else {
            return;
        };
        let Some(path) = running.definition.log_file.clone() else {
            return;
        };
        let before = disk::text(world, path.as_str()).unwrap_or_default();
        let is_same = |line: &str| {
            line.split_once("] ")
                .is_some_and(|(_, message)| message == text)
        };
        if before.lines().next_back().is_some_and(is_same) {
            return;
        }
        let line = format!("{before}{letter}{stamp}    4012 {source}] {text}\n");
        disk::write_to(world, &path, &line);
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bare_windows;
    use crate::fixture::service;

    #[test]
    fn last_flag_of_a_name_wins() {
        let mut world = bare_windows("win1", [127, 18, 0, 11].into());
        let command = ["d.exe", "--iface=10.0.0.1", "--ip-masq", "--iface=10.0.0.2"];
        world.services.extend([service("d", &command)]);
        let running = running(&world, "d").unwrap();
        assert_eq!(running.flag("iface"), Some("10.0.0.2"));
        assert_eq!(running.flag("ip-masq"), Some(""));
        assert_eq!(running.flag("ip"), None);
    }

    #[test]
    fn log_skips_repeated_messages_and_stops_with_the_service() {
        let mut world = bare_windows("win1", [127, 18, 0, 11].into());
        world.services.extend([service("d", &["d.exe"])]);
        let sim = Sim::new(world);
        let read_log = || disk::text(&sim.world(), r"C:\var\log\d\d.log").unwrap_or_default();
        for text in ["one", "one", "two", "one"] {
            log(&sim, "d", Severity::Error, "d.go:1", text);
        }
        assert_eq!(read_log().lines().count(), 3, "{}", read_log());
        sim.modify_world(|world| {
            world.services.get_mut("d").unwrap().state = ServiceState::Stopped
        });
        log(&sim, "d", Severity::Info, "d.go:1", "late");
        assert_eq!(read_log().lines().count(), 3, "{}", read_log());
    }
}
