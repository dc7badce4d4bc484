//! Runs `ip`, `bridge` and other network tools.

use std::process::{Command, Stdio};

use serde_json::Value;

use super::super::fabric::FabricError;

/// Runs programs in this or in another network namespace.
#[derive(Debug, Default)]
pub struct Commands {
    /// Prepended to every command.
    prefix: Vec<String>,
}

impl Commands {
    /// `nsenter` instead of `ip netns exec`, because namespaces created inside the latter
    /// would not be visible outside.
    pub fn in_netns(name: &str) -> Self {
        let enter = ["nsenter".to_owned(), format!("--net=/run/netns/{name}")];
        Self {
            prefix: enter.to_vec(),
        }
    }

    /// Returns stdout.
    pub fn run(&self, program: &str, arguments: &[&str]) -> Result<String, FabricError> {
        let mut line = self.prefix.iter().map(String::as_str).chain([program]);
        let mut command = Command::new(line.next().unwrap_or(program));
        command.args(line).args(arguments).stdin(Stdio::null());
        let command_line = || format!("{program} {}", arguments.join(" "));
        let output = command
            .output()
            .map_err(|error| FabricError(format!("{}: {error}", command_line())))?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let stderr = String::from_utf8_lossy(&output.stderr);
        Err(FabricError(format!(
            "{}: {}",
            command_line(),
            stderr.trim()
        )))
    }

    pub fn ip(&self, arguments: &[&str]) -> Result<(), FabricError> {
        self.run("ip", arguments).map(|_| ())
    }

    /// Runs `ip -j`.
    pub fn ip_list(&self, arguments: &[&str]) -> Result<Vec<Value>, FabricError> {
        let arguments: Vec<&str> = ["-j"].iter().chain(arguments).copied().collect();
        let text = self.run("ip", &arguments)?;
        if text.trim().is_empty() {
            return Ok(Vec::new());
        }
        serde_json::from_str(&text)
            .map_err(|error| FabricError(format!("ip {}: {error}", arguments.join(" "))))
    }

    pub fn has_device(&self, name: &str) -> bool {
        self.ip(&["link", "show", "dev", name]).is_ok()
    }

    /// Does nothing if the device does not exist.
    pub fn delete_device(&self, name: &str) -> Result<(), FabricError> {
        match self.has_device(name) {
            true => self.ip(&["link", "del", "dev", name]),
            false => Ok(()),
        }
    }
}
