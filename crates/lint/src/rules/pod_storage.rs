//! Volumes of Windows pods.

use casement_diag::Diagnostic;
use casement_source::foreign::Value;

use crate::context::Context;
use crate::rule::{Rule, rule};

pub(crate) const RULES: &[Rule] = &[
    rule!(
        "CAS-POD-006",
        Warning,
        Files,
        "L065",
        "a path of a Windows pod is written for Linux",
        paths
    ),
    rule!(
        "CAS-POD-007",
        Warning,
        Files,
        "L066",
        "`subPath` on a share does not work on Windows",
        sub_path
    ),
    rule!(
        "CAS-POD-008",
        Warning,
        Files,
        "L067",
        "a share cannot be mounted by the Windows node",
        share
    ),
];

/// Folders of Linux that no Windows host has.
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
                .any(|folder| text == *folder || text.starts_with(&format!("{folder}/")));
            if linux {
                findings.push(
                    path.warning(format!("`{text}` of {} is a path of Linux", pod.title()))
                        .help(r"write a path of the Windows host, such as `C:\data`"),
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
                        .help(format!("write `{}`", text.replace('/', "\\"))),
                );
            } else if LINUX
                .iter()
                .any(|folder| text == *folder || text.starts_with(&format!("{folder}/")))
            {
                findings.push(
                    path.warning(format!("`{text}` of {} is a path of Linux", pod.title()))
                        .help(r"write a path of Windows, such as `C:\data`"),
                );
            }
        }
    }
    findings
}

/// Whether a volume is a share that the node mounts by SMB.
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
                    "{} mounts `{}` of a share: `subPath` fails there on Windows",
                    pod.title(),
                    sub.text().unwrap_or_default()
                ))
                .label_in(there.file(), there.path().clone(), "the share")
                .note("the kubelet cannot follow the link that stands for the share")
                .help("mount the share as a whole, and use the folder in it"),
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
                    .warning(format!("the share `{text}` ends with `/`, which Windows refuses as an incorrect parameter"))
                    .help(format!("write `{better}`"))
                    .replace(format!("write `{better}`"), format!("\"{better}\"")),
            );
        } else if host.ends_with(".svc") || host.contains(".svc.") {
            findings.push(
                source
                    .warning(format!("`{host}` is a name of the cluster, and the node that mounts the share does not know it"))
                    .note("the host mounts shares, not the pod, and asks its own DNS")
                    .help("name the server by an address, or by a name that the hosts know"),
            );
        }
    }
    findings
}
