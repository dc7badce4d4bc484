//! Linux hosts that casement only looks at: settings that pods on Windows need, each
//! with the command that mends it. Nothing is changed there, and no agent is brought.

use std::fmt;

use casement_diag::Problem;
use casement_plan::linux::settings;
use casement_remote::{Session, Way};
use casement_spec::{Cluster, Host};
use serde::Serialize;

use crate::controller::{Controller, say_new_keys};
use crate::told;

/// What was seen of one host.
#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ReadOnly {
    /// The host.
    pub host: String,
    /// Settings that are not as they should be.
    pub wrong: Vec<Setting>,
    /// Why it could not be looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unseen: Option<String>,
}

/// One setting of a kernel.
#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Setting {
    /// `net.ipv4.ip_forward`.
    pub name: &'static str,
    /// What it is; none if the kernel has none of that name.
    pub found: Option<String>,
    /// What it should be.
    pub wanted: &'static str,
    /// What to type there.
    pub commands: Vec<String>,
}

/// Looks at every host of the file that is not casement's to change.
pub async fn look_at(controller: &mut Controller) -> Vec<ReadOnly> {
    let (cluster, ways) = (&controller.cluster, &mut controller.ways);
    let hosts = cluster.spec.hosts.iter();
    let hosts = hosts.filter(|host| !host.managed && !host.os.is_windows());
    let ways: Vec<_> = hosts.map(|host| (host, ways.to(cluster, host))).collect();
    let looks = ways.into_iter();
    let looks = looks.map(|(host, way)| look(cluster, host, way));
    let looked = controller.at_once.all(looks).await;
    say_new_keys(&controller.ways.new_keys());
    looked
}

async fn look(cluster: &Cluster, host: &Host, way: Result<Way, Problem>) -> ReadOnly {
    let (wrong, unseen) = match read(cluster, way).await {
        Ok(wrong) => (wrong, None),
        Err(why) => (Vec::new(), Some(why)),
    };
    ReadOnly {
        host: host.name.to_string(),
        wrong,
        unseen,
    }
}

async fn read(cluster: &Cluster, way: Result<Way, Problem>) -> Result<Vec<Setting>, String> {
    let Way::Ssh(target) = way.map_err(|problem| problem.what)? else {
        return Err("it is not reached over SSH".to_owned());
    };
    let said = |error| told::problem(&casement_run::RunError::Remote(error)).what;
    let session = Session::connect(&target).await.map_err(said)?;
    let mut wrong = Vec::new();
    for (name, wanted) in settings(cluster) {
        let path = format!("/proc/sys/{}", name.replace('.', "/"));
        let output = session.run(&format!("cat {path}")).await.map_err(said)?;
        let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        let found = Some(text).filter(|text| !text.is_empty());
        if found.as_deref() != Some(wanted) {
            wrong.push(Setting {
                name,
                commands: commands(name, wanted, found.is_some()),
                found,
                wanted,
            });
        }
    }
    session.close().await;
    Ok(wrong)
}

/// What mends it, now and after a reboot.
fn commands(name: &str, wanted: &str, there: bool) -> Vec<String> {
    let mut commands = Vec::new();
    if !there && name.starts_with("net.bridge.") {
        let module = "br_netfilter";
        commands.push(format!("modprobe {module}"));
        commands.push(format!("echo {module} > /etc/modules-load.d/{module}.conf"));
    }
    commands.push(format!("sysctl -w {name}={wanted}"));
    commands.push(format!(
        "echo '{name} = {wanted}' >> /etc/sysctl.d/99-kubernetes.conf"
    ));
    commands
}

impl fmt::Display for ReadOnly {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let host = &self.host;
        if let Some(why) = &self.unseen {
            return writeln!(f, "{host}  read only, and could not be looked at: {why}");
        }
        if self.wrong.is_empty() {
            return writeln!(f, "{host}  read only: nothing to do");
        }
        writeln!(f, "{host}  read only; type there as root:")?;
        for setting in &self.wrong {
            let found = setting.found.as_deref().unwrap_or("(nothing)");
            let (name, wanted) = (setting.name, setting.wanted);
            writeln!(f, "  ! {name} is `{found}`, and has to be `{wanted}`")?;
            for command in &setting.commands {
                writeln!(f, "      {command}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_is_told_with_both_values_and_the_way_on() {
        let host = ReadOnly {
            host: "lin1".to_owned(),
            wrong: vec![Setting {
                name: "net.bridge.bridge-nf-call-iptables",
                found: None,
                wanted: "1",
                commands: commands("net.bridge.bridge-nf-call-iptables", "1", false),
            }],
            unseen: None,
        };
        let text = host.to_string();
        for part in [
            "`(nothing)`",
            "`1`",
            "modprobe br_netfilter",
            "sysctl -w net.bridge",
        ] {
            assert!(text.contains(part), "{part} in {text}");
        }
        assert_eq!(commands("net.ipv4.ip_forward", "1", true).len(), 2);
    }
}
