//! Running `ip` and its kin.

use std::process::{Command, Stdio};

use serde_json::Value;

use super::super::fabric::FabricError;

/// Runs programs here or in another network namespace.
#[derive(Debug, Default)]
pub struct Commands {
    /// Program and arguments that go before every command.
    before: Vec<String>,
}

impl Commands {
    /// `nsenter` and not `ip netns exec`, which would hide namespaces that are
    /// made inside from everybody else.
    pub fn in_netns(name: &str) -> Self {
        let enter = ["nsenter".to_owned(), format!("--net=/run/netns/{name}")];
        Self {
            before: enter.to_vec(),
        }
    }

    /// Runs a program, and answers what it wrote.
    pub fn run(&self, program: &str, arguments: &[&str]) -> Result<String, FabricError> {
        let mut line = self.before.iter().map(String::as_str).chain([program]);
        let mut command = Command::new(line.next().unwrap_or(program));
        command.args(line).args(arguments).stdin(Stdio::null());
        let told = || format!("{program} {}", arguments.join(" "));
        let output = command
            .output()
            .map_err(|error| FabricError(format!("{}: {error}", told())))?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let complaint = String::from_utf8_lossy(&output.stderr);
        Err(FabricError(format!("{}: {}", told(), complaint.trim())))
    }

    /// `ip`, of which only success counts.
    pub fn ip(&self, arguments: &[&str]) -> Result<(), FabricError> {
        self.run("ip", arguments).map(|_| ())
    }

    /// `ip -j`, whose answer is a list.
    pub fn ip_list(&self, arguments: &[&str]) -> Result<Vec<Value>, FabricError> {
        let arguments: Vec<&str> = ["-j"].iter().chain(arguments).copied().collect();
        let text = self.run("ip", &arguments)?;
        if text.trim().is_empty() {
            return Ok(Vec::new());
        }
        serde_json::from_str(&text)
            .map_err(|error| FabricError(format!("ip {}: {error}", arguments.join(" "))))
    }

    /// Whether a device is there.
    pub fn has_device(&self, name: &str) -> bool {
        self.ip(&["link", "show", "dev", name]).is_ok()
    }

    /// Deletes a device that may be gone already.
    pub fn delete_device(&self, name: &str) -> Result<(), FabricError> {
        match self.has_device(name) {
            true => self.ip(&["link", "del", "dev", name]),
            false => Ok(()),
        }
    }
}
