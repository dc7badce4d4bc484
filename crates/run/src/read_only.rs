//! Linux hosts that casement may only look at: settings that pods on Windows need, each
//! with the commands that set it. No agent is brought there.

use casement_diag::Problem;
use casement_plan::linux::settings;
use casement_remote::{HostEndpoint, Session};
use casement_spec::{Cluster, Host};
use serde::Serialize;

use crate::concurrency::Concurrency;

/// Printed by `-o json`, see `docs/reference/json-output.md`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ReadOnlyHost {
    pub host: String,
    #[serde(rename = "settings")]
    pub drifted: Vec<Setting>,
    /// Why the host could not be inspected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<Problem>,
}

/// A kernel setting that differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Setting {
    /// `net.ipv4.ip_forward`.
    pub name: &'static str,
    /// None if the kernel has no such setting.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub found: Option<String>,
    pub expected: &'static str,
    /// What to run on the host, as root.
    pub commands: Vec<String>,
}

/// The hosts of the file that casement must not change.
pub fn read_only_hosts(cluster: &Cluster) -> impl Iterator<Item = &Host> {
    let hosts = cluster.spec.hosts.iter();
    hosts.filter(|host| !host.managed && !host.os.is_windows())
}

/// Inspects hosts, each with its endpoint or the reason that there is none.
pub async fn inspect(
    cluster: &Cluster,
    hosts: Vec<(String, Result<HostEndpoint, Problem>)>,
    concurrency: Concurrency,
) -> Vec<ReadOnlyHost> {
    let inspections = hosts.into_iter();
    let inspections = inspections.map(|(host, endpoint)| inspect_host(cluster, host, endpoint));
    concurrency.all(inspections).await
}

async fn inspect_host(
    cluster: &Cluster,
    host: String,
    endpoint: Result<HostEndpoint, Problem>,
) -> ReadOnlyHost {
    let (drifted, error) = match read_settings(cluster, endpoint).await {
        Ok(drifted) => (drifted, None),
        Err(error) => (Vec::new(), Some(error)),
    };
    ReadOnlyHost {
        host,
        drifted,
        error,
    }
}

async fn read_settings(
    cluster: &Cluster,
    endpoint: Result<HostEndpoint, Problem>,
) -> Result<Vec<Setting>, Problem> {
    let HostEndpoint::Ssh(target) = endpoint? else {
        let what = "only hosts with SSH access can be inspected";
        let help = "set `access.ssh` of the host in the cluster file";
        return Err(Problem::new("CAS-RUN-001", what, help));
    };
    let session = Session::connect(&target).await;
    let session = session.map_err(|error| error.problem())?;
    let mut drifted = Vec::new();
    for (name, expected) in settings(cluster) {
        let path = format!("/proc/sys/{}", name.replace('.', "/"));
        let output = session.run(&format!("cat {path}")).await;
        let output = output.map_err(|error| error.problem())?;
        let value = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        let found = Some(value).filter(|value| !value.is_empty());
        if found.as_deref() != Some(expected) {
            drifted.push(Setting {
                name,
                commands: commands(name, expected, found.is_some()),
                found,
                expected,
            });
        }
    }
    session.close().await;
    Ok(drifted)
}

/// Sets a value now and for the next boot.
#[must_use]
pub fn commands(name: &str, expected: &str, exists: bool) -> Vec<String> {
    let mut commands = Vec::new();
    if !exists && name.starts_with("net.bridge.") {
        let module = "br_netfilter";
        commands.push(format!("modprobe {module}"));
        commands.push(format!("echo {module} > /etc/modules-load.d/{module}.conf"));
    }
    commands.push(format!("sysctl -w {name}={expected}"));
    commands.push(format!(
        "echo '{name} = {expected}' >> /etc/sysctl.d/99-kubernetes.conf"
    ));
    commands
}
