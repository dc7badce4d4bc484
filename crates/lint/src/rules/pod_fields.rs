//! Fields of Windows pods, except volumes.

use casement_diag::{Diagnostic, Part, Severity};
use casement_source::foreign::Value;

use crate::context::Context;
use crate::pod::Pod;
use crate::rule::{Rule, rule};

pub(crate) const RULES: &[Rule] = &[
    rule!("CAS-POD-004", Error, Files, "L063", host_process),
    rule!("CAS-POD-005", Error, Files, "L064", linux_only),
    rule!("CAS-POD-009", Warning, Files, "L068", memory),
    rule!("CAS-POD-010", Note, Files, "L069", ndots),
    rule!("CAS-POD-011", Warning, Files, "L070", probes),
];

const USER: &str = "securityContext.windowsOptions.runAsUserName";

fn windows<'c, 'a>(context: &'c Context<'a>) -> impl Iterator<Item = &'c Pod<'a>> {
    context.pods.iter().filter(|pod| pod.is_windows())
}

fn host_process(context: &Context<'_>) -> Vec<Diagnostic> {
    let mut findings = Vec::new();
    for pod in context.pods.iter().filter(|pod| pod.has_host_process()) {
        let title = pod.title();
        let containers = pod.containers();
        let (host_process, normal): (Vec<_>, Vec<_>) =
            containers.iter().partition(|c| pod.is_host_process(c));
        let Some(first) = host_process
            .first()
            .and_then(|container| container.get("name"))
        else {
            continue;
        };
        let network = pod.spec.get("hostNetwork");
        if network.as_ref().and_then(Value::boolean) != Some(true) {
            let location = network.as_ref().unwrap_or(&first);
            findings.push(
                location
                    .error(format!(
                        "{title} is a HostProcess pod without `hostNetwork: true`"
                    ))
                    .note("the API server rejects it")
                    .help("add `hostNetwork: true` to the pod's `spec`"),
            );
        }
        if let Some(other) = normal.first().and_then(|container| container.get("name")) {
            findings.push(
                other
                    .error(format!(
                        "{title} mixes HostProcess containers with normal ones"
                    ))
                    .here("a normal container")
                    .label(first.path().clone(), "a HostProcess container")
                    .note("either all containers of a pod are HostProcess containers, or none")
                    .help("set `hostProcess: true` for the whole pod"),
            );
        }
        for container in &host_process {
            if [*container, &pod.spec]
                .into_iter()
                .any(|value| value.at(USER).is_some())
            {
                continue;
            }
            let Some(name) = container.get("name") else {
                continue;
            };
            findings.push(
                name.error(format!(
                    "{title} is a HostProcess pod without `runAsUserName`"
                ))
                .note(
                    "a HostProcess container runs under an account of the host, which must be set",
                )
                .help(
                    "add `runAsUserName: \"NT AUTHORITY\\\\SYSTEM\"` next to `hostProcess: true`",
                ),
            );
        }
    }
    findings
}

fn linux_only(context: &Context<'_>) -> Vec<Diagnostic> {
    const POD_FIELDS: [&str; 9] = [
        "hostPID",
        "hostIPC",
        "shareProcessNamespace",
        "securityContext.runAsUser",
        "securityContext.runAsGroup",
        "securityContext.fsGroup",
        "securityContext.seLinuxOptions",
        "securityContext.sysctls",
        "securityContext.supplementalGroups",
    ];
    const CONTAINER_FIELDS: [&str; 8] = [
        "securityContext.privileged",
        "securityContext.runAsUser",
        "securityContext.runAsGroup",
        "securityContext.seLinuxOptions",
        "securityContext.capabilities",
        "securityContext.readOnlyRootFilesystem",
        "securityContext.allowPrivilegeEscalation",
        "securityContext.procMount",
    ];
    let mut findings = Vec::new();
    for pod in windows(context) {
        let mut unsupported: Vec<(&str, Value<'_>)> = Vec::new();
        unsupported.extend(
            POD_FIELDS
                .into_iter()
                .filter_map(|path| Some((path, pod.spec.at(path)?))),
        );
        if !pod.has_host_process() {
            unsupported.extend(
                pod.spec
                    .get("hostNetwork")
                    .map(|value| ("hostNetwork", value)),
            );
        }
        for container in pod.containers() {
            unsupported.extend(
                CONTAINER_FIELDS
                    .into_iter()
                    .filter_map(|path| Some((path, container.at(path)?))),
            );
        }
        for (path, value) in unsupported
            .into_iter()
            .filter(|(_, value)| value.boolean() != Some(false))
        {
            let name = path.rsplit('.').next().unwrap_or(path);
            let finding = value
                .error(format!(
                    "{} is for Windows, where `{name}` does not exist",
                    pod.title()
                ))
                .at(Part::Key);
            findings.push(match name {
                "privileged" => finding.help(
                    "remove it; the closest equivalent is `windowsOptions.hostProcess: true`",
                ),
                "runAsUser" => {
                    finding.help("remove it; use `windowsOptions.runAsUserName` instead")
                }
                "hostNetwork" => {
                    finding.help("remove it; only HostProcess pods can use the host network")
                }
                _ => finding.help("remove it"),
            });
        }
    }
    findings
}

fn memory(context: &Context<'_>) -> Vec<Diagnostic> {
    let mut findings = Vec::new();
    for pod in windows(context).filter(|pod| !pod.has_host_process()) {
        let list = pod
            .spec
            .get("containers")
            .map(|list| list.items())
            .unwrap_or_default();
        for container in list
            .iter()
            .filter(|container| container.at("resources.limits.memory").is_none())
        {
            let Some(name) = container.get("name") else {
                continue;
            };
            findings.push(
                name.warning(format!(
                    "the container `{}` of {} has no memory limit",
                    name.text().unwrap_or_default(),
                    pod.title()
                ))
                .note("Windows has no OOM killer: one pod can take down the node")
                .help("add `resources: {limits: {memory: 512Mi}}`"),
            );
        }
    }
    findings
}

fn ndots(context: &Context<'_>) -> Vec<Diagnostic> {
    let mut findings = Vec::new();
    for pod in windows(context) {
        let options = pod
            .spec
            .at("dnsConfig.options")
            .map(|list| list.items())
            .unwrap_or_default();
        for name in options.iter().filter_map(|option| option.get("name")) {
            if name.text() == Some("ndots") {
                findings.push(
                    name.finding(Severity::Note, format!("{} sets `ndots`, which Windows does not support", pod.title()))
                        .note("Windows treats a name that contains a dot as fully qualified: `svc.namespace` is not found")
                        .help("use fully qualified names, such as `web.shop.svc.cluster.local`"),
                );
            }
        }
    }
    findings
}

fn probes(context: &Context<'_>) -> Vec<Diagnostic> {
    const UNIX: [&str; 10] = [
        "sh",
        "bash",
        "/bin/sh",
        "/bin/bash",
        "cat",
        "test",
        "stat",
        "wget",
        "grep",
        "true",
    ];
    let mut findings = Vec::new();
    for pod in windows(context) {
        for container in pod.containers() {
            for probe in ["livenessProbe", "readinessProbe", "startupProbe"] {
                let command = container.at(&format!("{probe}.exec.command"));
                let Some(first) = command.and_then(|command| command.items().into_iter().next())
                else {
                    continue;
                };
                let Some(text) = first.text().filter(|text| UNIX.contains(text)) else {
                    continue;
                };
                findings.push(
                    first
                        .warning(format!(
                            "the {probe} of {} runs `{text}`, which Windows images do not have",
                            pod.title()
                        ))
                        .note("the probe always fails, and the container is restarted repeatedly")
                        .help("use `httpGet` or `tcpSocket`, or `cmd /c …`"),
                );
            }
        }
    }
    findings
}
