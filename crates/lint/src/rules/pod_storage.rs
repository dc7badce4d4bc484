//! Volumes of Windows pods.

use casement_diag::Diagnostic;
use casement_source::foreign::Value;

use crate::context::Context;
use crate::rule::{Rule, rule};

pub(crate) const RULES: &[Rule] = &[
    rule!("CAS-POD-006", Warning, Files, "L065", paths),
    rule!("CAS-POD-007", Warning, Files, "L066", sub_path),
    rule!("CAS-POD-008", Warning, Files, "L067", share),
];

/// Linux directories that do not exist on Windows hosts.
const LINUX: [&str; 9] = [
    "/usr",
    "/lib",
    "/proc",
    "/sys",
    "/dev",
    "/home",
    "/root",
    "/tmp",
    "/var/run/docker.sock",
];

fn paths(context: &Context<'_>) -> Vec<Diagnostic> {
    let mut findings = Vec::new();
    for pod in context.pods.iter().filter(|pod| pod.is_windows()) {
        let volumes = pod
            .spec
            .get("volumes")
            .map(|list| list.items())
            .unwrap_or_default();
        let hosts = volumes
            .iter()
            .filter_map(|volume| volume.at("hostPath.path"));
        for path in hosts {
            let text = path.text().unwrap_or_default();
            let linux = LINUX
                .iter()
                .any(|directory| text == *directory || text.starts_with(&format!("{directory}/")));
            if linux {
                findings.push(
                    path.warning(format!("`{text}` of {} is a Linux path", pod.title()))
                        .help(r"use a path of the Windows host, such as `C:\data`"),
                );
            }
        }
        for mount in pod
            .containers()
            .iter()
            .flat_map(|c| c.get("volumeMounts").map(|m| m.items()).unwrap_or_default())
        {
            let Some(path) = mount.get("mountPath") else {
                continue;
            };
            let text = path.text().unwrap_or_default();
            let drive = text.get(1..2) == Some(":");
            if drive && text.contains('/') && text.contains('\\') {
                findings.push(
                    path.warning(format!("`{text}` of {} mixes `/` and `\\`", pod.title()))
                        .help(format!("use `{}`", text.replace('/', "\\"))),
                );
            } else if LINUX
                .iter()
                .any(|directory| text == *directory || text.starts_with(&format!("{directory}/")))
            {
                findings.push(
                    path.warning(format!("`{text}` of {} is a Linux path", pod.title()))
                        .help(r"use a Windows path, such as `C:\data`"),
                );
            }
        }
    }
    findings
}

/// Whether the node mounts the volume over SMB.
fn is_share(volume: &Value<'_>) -> bool {
    let driver = volume.at("csi.driver").and_then(|driver| driver.text());
    volume.get("azureFile").is_some()
        || matches!(driver, Some("smb.csi.k8s.io" | "file.csi.azure.com"))
}

fn sub_path(context: &Context<'_>) -> Vec<Diagnostic> {
    let mut findings = Vec::new();
    for pod in context.pods.iter().filter(|pod| pod.is_windows()) {
        let volumes = pod
            .spec
            .get("volumes")
            .map(|list| list.items())
            .unwrap_or_default();
        for mount in pod
            .containers()
            .iter()
            .flat_map(|c| c.get("volumeMounts").map(|m| m.items()).unwrap_or_default())
        {
            let (Some(name), Some(sub)) = (mount.get("name"), mount.get("subPath")) else {
                continue;
            };
            let same =
                |volume: &&Value<'_>| volume.get("name").and_then(|n| n.text()) == name.text();
            let Some(volume) = volumes.iter().find(same).filter(|volume| is_share(volume)) else {
                continue;
            };
            let Some(there) = volume.get("name") else {
                continue;
            };
            findings.push(
                sub.warning(format!(
                    "{} mounts `{}` of a share, but `subPath` does not work on shares on Windows",
                    pod.title(),
                    sub.text().unwrap_or_default()
                ))
                .label_in(there.file(), there.path().clone(), "the share")
                .note("the share is mounted as a link, which the kubelet cannot resolve")
                .help("mount the whole share, and use the directory inside it"),
            );
        }
    }
    findings
}

fn share(context: &Context<'_>) -> Vec<Diagnostic> {
    let mut findings = Vec::new();
    for volume in context.of_kind("PersistentVolume") {
        let Some(csi) = volume.at("spec.csi").filter(|_| context.has_windows()) else {
            continue;
        };
        if csi.get("driver").and_then(|driver| driver.text()) != Some("smb.csi.k8s.io") {
            continue;
        }
        let Some(source) = csi.at("volumeAttributes.source") else {
            continue;
        };
        let text = source.text().unwrap_or_default();
        let host = text
            .trim_start_matches('/')
            .split('/')
            .next()
            .unwrap_or_default();
        if text.ends_with('/') {
            let better = text.trim_end_matches('/');
            findings.push(
                source
                    .warning(format!("the share `{text}` ends with `/`, which Windows rejects as an incorrect parameter"))
                    .help(format!("use `{better}`"))
                    .replace(format!("use `{better}`"), format!("\"{better}\"")),
            );
        } else if host.ends_with(".svc") || host.contains(".svc.") {
            findings.push(
                source
                    .warning(format!("`{host}` is a cluster name, which the node that mounts the share cannot resolve"))
                    .note("the host mounts shares, not the pod, and uses its own DNS")
                    .help("specify the server by address, or by a name that the hosts can resolve"),
            );
        }
    }
    findings
}
